"""What the tests of the columns model share: the checks of the engine's tests."""

import importlib.util
from pathlib import Path


def load(path):
    spec = importlib.util.spec_from_file_location(f"_columns_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_processes = load(Path(__file__).parents[1] / "processes" / "conftest.py")
_engine = load(Path(__file__).parents[1] / "engine" / "conftest.py")

assert_frequencies = _processes.assert_frequencies
assert_law = _processes.assert_law
assert_mean = _processes.assert_mean
assert_same_mean = _engine.assert_same_mean
assert_independent = _engine.assert_independent
grid_law = _engine.grid_law
