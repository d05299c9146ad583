import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
from sticktree.processes import NestedRestaurant
print(NestedRestaurant(1.0, depth=2).sample(50, np.random.default_rng(0)).leaf.tolist())
"""


def run(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        capture_output=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.decode()


def test_a_cache_folder_that_cannot_be_written_does_no_harm(tmp_path):
    # A file where the folder should be: nobody, not even root, can write there.
    blocked = tmp_path / "blocked"
    blocked.touch()
    assert run(NUMBA_CACHE_DIR=str(blocked / "cache")) == run()


def test_without_a_locator_the_kernel_is_compiled_all_the_same(monkeypatch):
    from sticktree.jit import cache, jit

    monkeypatch.setattr(cache.Impl, "_locator_classes", [cache.Nowhere])
    kernel = jit(lambda x: x + 1)
    assert kernel(2) == 3
    assert not kernel._cache.kept


def test_the_kernel_is_right_without_compilation():
    assert run(NUMBA_DISABLE_JIT="1") == run()


def package(folder, step):
    """Write a copy of the switch, and a kernel that calls another through a third file."""
    import sticktree.jit

    place = folder / "sticktree"
    place.mkdir(exist_ok=True)
    switch = Path(sticktree.jit.__file__).parent
    shutil.copytree(switch, place / "jit", dirs_exist_ok=True, ignore=lambda *_: ["__pycache__"])
    files = {
        "__init__": "",
        "step": f"STEP = {step}\n",
        "inner": "from sticktree.jit import jit\nfrom sticktree.step import (\n    STEP,\n)\n\n"
        "@jit\ndef inner(x):\n    return x + STEP\n",
        "outer": "from sticktree import inner as callee\nfrom sticktree.jit import jit\n\n"
        "inner = callee.inner\n\n@jit\ndef outer(x):\n    return inner(x)\n",
    }
    for name, text in files.items():
        (place / f"{name}.py").write_text(text, encoding="utf-8")


def answer(folder, module="sticktree.outer", **environment):
    program = f"from {module} import outer; print(outer(0), sum(outer.stats.cache_hits.values()))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
    )
    return tuple(map(int, done.stdout.split()))


@pytest.mark.parametrize("named", [False, True])
def test_a_cached_kernel_is_forgotten_when_a_file_it_depends_on_changes(tmp_path, named):
    folder = {"NUMBA_CACHE_DIR": str(tmp_path / "cache") if named else ""}
    package(tmp_path, 1)
    assert answer(tmp_path, **folder) == (1, 0)
    assert answer(tmp_path, **folder) == (1, 1)  # from the cache
    package(tmp_path, 2)
    assert answer(tmp_path, **folder) == (2, 0)
    assert answer(tmp_path, **folder) == (2, 1)


@pytest.mark.parametrize("named", [False, True])
def test_a_kernel_outside_the_library_is_forgotten_when_the_library_changes(tmp_path, named):
    folder = {"NUMBA_CACHE_DIR": str(tmp_path / "cache") if named else ""}
    package(tmp_path, 1)
    outside = (tmp_path / "sticktree" / "outer.py").read_text(encoding="utf-8")
    (tmp_path / "outside.py").write_text(outside, encoding="utf-8")
    assert answer(tmp_path, "outside", **folder) == (1, 0)
    assert answer(tmp_path, "outside", **folder) == (1, 1)
    package(tmp_path, 2)
    assert answer(tmp_path, "outside", **folder) == (2, 0)


def test_checkouts_with_the_same_sources_share_a_cache_folder(tmp_path):
    folder = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for name, step, hits in (("one", 1, 0), ("two", 1, 1), ("three", 3, 0), ("four", 1, 1)):
        (tmp_path / name).mkdir()
        package(tmp_path / name, step)
        assert answer(tmp_path / name, **folder) == (step, hits)
