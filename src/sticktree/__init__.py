"""Bayesian trees by breaking sticks: the Dirichlet fragmentation process.

>>> import numpy as np
>>> from sticktree.processes import NestedRestaurant
>>> restaurant = NestedRestaurant(concentration=1.0, depth=3)
>>> restaurant.sample(100, np.random.default_rng(0)).n_data
100
"""

from typing import Any

from sticktree.tree import NULL, Tree
from sticktree.version import __version__

__all__ = [
    "NULL",
    "DFPMixture",
    "DPMixture",
    "DirichletDiffusionTree",
    "PitmanYorDiffusionTree",
    "Tree",
    "__version__",
    "load",
    "plan_table",
    "preferred_kinds",
    "save",
]


def __getattr__(name: str) -> Any:
    """Load the estimators, and scikit-learn with them, when they are first asked for."""
    if name == "DFPMixture":
        from sticktree.estimators.mixture import DFPMixture

        return DFPMixture
    if name in ("DPMixture", "DirichletDiffusionTree", "PitmanYorDiffusionTree"):
        from sticktree.estimators import presets

        return getattr(presets, name)
    if name == "plan_table":
        from sticktree.data.planning import plan_table

        return plan_table
    if name == "preferred_kinds":
        from sticktree.estimators.kinds import preferred_kinds

        return preferred_kinds
    if name in ("load", "save"):
        from sticktree.estimators import saving

        return getattr(saving, name)
    raise AttributeError(f"module 'sticktree' has no attribute {name!r}")
