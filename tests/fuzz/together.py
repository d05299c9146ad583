"""All areas in turn, in one process: what is among the tests."""

import importlib

from tests.fuzz import estimators
from tests.fuzz.mutations import pick

SHARES = {"archives": 9, "checkpoints": 2, "folders": 3, "tables": 9, "estimators": 10}
TURNS = [area for area, share in SHARES.items() for _ in range(share)]


def corpus():
    """Return what all areas start from."""
    return {"all": {area: _area(area).corpus() for area in SHARES}}


def _area(name):
    return importlib.import_module(f"tests.fuzz.{name}")


def try_one(rng, base, folder):
    """Try a case of one of the areas; those that take long are left out."""
    estimators.LAWS = 0.0
    area = pick(rng, TURNS)
    bases = base[area]
    end = _area(area).try_one(rng, bases[pick(rng, sorted(bases))], folder)
    return f"{area} {end}"
