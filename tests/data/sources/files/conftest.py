"""Scratch folders where a test can count them."""

import pytest


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Make scratch folders below the folder of the test."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
