import subprocess
import sys

import sticktree


def loaded_by(statement: str) -> set[str]:
    program = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.decode().split()}


def test_import_stays_light():
    assert not loaded_by("import sticktree") & {"scipy", "numba", "matplotlib"}


def test_laws_load_neither_kernels_nor_pictures():
    assert not loaded_by("import sticktree.processes") & {"numba", "matplotlib"}


def test_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    assert version("sticktree") == sticktree.__version__
