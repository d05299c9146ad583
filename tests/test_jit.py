import os
import subprocess
import sys

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
    import numba

    from sticktree.jit import jit

    njit = numba.njit

    def refuse(function, *, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available for file '<stdin>'")
        return njit(function, **options)

    monkeypatch.setattr(numba, "njit", refuse)
    assert jit(lambda x: x + 1)(2) == 3


def test_the_kernel_is_right_without_compilation():
    assert run(NUMBA_DISABLE_JIT="1") == run()
