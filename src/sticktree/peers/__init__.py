"""Other methods under one interface, to stand beside the library's own.

All are estimators in the sense of scikit-learn: keyword parameters, ``fit(X)``, and then
``score_samples(X)``, the natural log density of every row, or ``tree_``, or both.

Densities (entries that are NaN are integrated out; for fitting they are put at the columns' means):

- :class:`FixedGaussianMixture`: a mixture of a given number of normals;
- :class:`GaussianMixtureByBIC`: a mixture of normals, their number and form chosen by BIC;
- :class:`GaussianMixtureHeldOut`: the same, chosen by a fifth of the rows held out;
- :class:`VariationalMixture`: scikit-learn's variational mixture of normals;
- :class:`TunedVariationalMixture`: the same, its settings chosen by a fifth held out;
- :class:`KernelDensityCV`: Gaussian kernels, their bandwidth cross-validated.

Trees (of rows without gaps):

- :class:`LinkageTree`: agglomerative clustering with any linkage of scipy;
- :class:`HDBSCANTree`: the hierarchy that HDBSCAN takes its clusters from;
- :class:`BayesianHierarchicalClustering`: that of Heller and Ghahramani, also a density.

The Dirichlet process mixture and the diffusion trees are part of the library itself:
``sticktree.DPMixture``, ``sticktree.DirichletDiffusionTree``, ``sticktree.PitmanYorDiffusionTree``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sticktree.peers.bhc import BayesianHierarchicalClustering
    from sticktree.peers.kernels import KernelDensityCV
    from sticktree.peers.mixtures import (
        FixedGaussianMixture,
        GaussianMixtureByBIC,
        GaussianMixtureHeldOut,
        TunedVariationalMixture,
        VariationalMixture,
    )
    from sticktree.peers.trees import HDBSCANTree, LinkageTree

__all__ = [
    "BayesianHierarchicalClustering",
    "FixedGaussianMixture",
    "GaussianMixtureByBIC",
    "GaussianMixtureHeldOut",
    "HDBSCANTree",
    "KernelDensityCV",
    "LinkageTree",
    "TunedVariationalMixture",
    "VariationalMixture",
]

_FILES = {
    "BayesianHierarchicalClustering": "bhc",
    "FixedGaussianMixture": "mixtures",
    "GaussianMixtureByBIC": "mixtures",
    "GaussianMixtureHeldOut": "mixtures",
    "HDBSCANTree": "trees",
    "KernelDensityCV": "kernels",
    "LinkageTree": "trees",
    "TunedVariationalMixture": "mixtures",
    "VariationalMixture": "mixtures",
}


def __getattr__(name: str) -> Any:
    """Load a method, and what it needs, when it is first asked for."""
    if name in _FILES:
        return getattr(import_module(f"sticktree.peers.{_FILES[name]}"), name)
    raise AttributeError(f"module 'sticktree.peers' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name the methods, loaded or not."""
    return sorted({*globals(), *__all__})
