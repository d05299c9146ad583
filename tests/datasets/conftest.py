import os
from pathlib import Path

import pytest

from sticktree import datasets


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Return an empty cache; no folder of this machine is looked at."""
    monkeypatch.delenv("STICKTREE_DATA", raising=False)
    monkeypatch.setenv("STICKTREE_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    datasets.set_data_folder(None)


@pytest.fixture(scope="session")
def real_data():
    """Return the folder with the paper's data sets, of which none is part of the project."""
    named = os.environ.get("STICKTREE_DATA")
    if not named or not (Path(named) / "r15.csv").is_file():
        pytest.skip("STICKTREE_DATA names no folder with the paper's data sets")
    return Path(named)
