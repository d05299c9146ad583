"""The fits that Figures 3 and 4 show, and what making a figure gives."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sticktree import DFPMixture
    from sticktree.datasets import Dataset
    from sticktree_paper.figure_trees import Parsimony

DENSITIES: dict[bool, dict[str, Any]] = {
    False: {"n_chains": 4, "n_warmup": 400, "n_draws": 400},
    True: {"n_chains": 2, "n_warmup": 30, "n_draws": 20},
}
"""Of Figure 3, by whether it is to be quick."""
TREES: dict[bool, dict[str, Any]] = {
    False: {"n_chains": 4, "n_warmup": 1000, "n_draws": 1000},
    True: {"n_chains": 4, "n_warmup": 150, "n_draws": 50},
}
"""Of Figure 4."""
DEPTH = 4
"""The paper's."""
LEAF_NOISE = {"aggregation": "own", "r15": "shared"}
"""What the data choose if they may."""
FINE = 100
"""Steps of the diffusion tree: with as many, data hardly ever part at one time by chance."""

Mixture = TypeVar("Mixture", bound="DFPMixture")


def density_fits(
    sets: list[Dataset], *, seed: int, quick: bool, n_jobs: int | None, progress: bool | None
) -> dict[str, DFPMixture]:
    """Return a fit of each set by its title, for Figure 3."""
    from sticktree import DFPMixture

    return {
        one.title: quietly_fitted(
            DFPMixture(
                DEPTH,
                covariance_type="full",
                leaf_noise=LEAF_NOISE[one.name],
                **DENSITIES[quick],
                random_state=seed,
                n_jobs=n_jobs,
                progress=progress,
            ),
            one.data,
        )
        for one in sets
    }


def tree_fits(
    data: Any, *, seed: int, quick: bool, n_jobs: int | None, progress: bool | None
) -> dict[str, DFPMixture]:
    """Return fits of the Dirichlet diffusion tree and of the DFP mixture, for Figure 4.

    Both have one covariance for the noise of all leaves, which is learned.
    """
    from sticktree import DFPMixture, DirichletDiffusionTree

    settings: dict[str, Any] = {
        "covariance_type": "full",
        "leaf_noise": "shared",
        **TREES[quick],
        "random_state": seed,
        "n_jobs": n_jobs,
        "progress": progress,
    }
    return {
        "DDT": quietly_fitted(DirichletDiffusionTree(FINE, **settings), data),
        "DFP": quietly_fitted(DFPMixture(DEPTH, **settings), data),
    }


def quietly_fitted(mixture: Mixture, data: Any) -> Mixture:
    """Fit without a warning that chains disagree: the caption says how well they agree."""
    from sticktree.posterior.diagnostics import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(data)
    return mixture


def agreement(mixture: DFPMixture) -> str:
    """Describe how long chains were and how well they agree."""
    posterior = mixture.posterior_
    worst = max(mixture.diagnosis_.r_hat.values(), default=float("nan"))
    return f"{posterior.n_chains} chains of {posterior.n_draws} draws, largest R-hat {worst:.2f}"


@dataclass(frozen=True, eq=False)
class Made:
    """A figure of the paper made anew, and what to write below it.

    Attributes
    ----------
    title : str
        A few words for a heading.
    caption : str
        What is to be seen, and how it was made.
    figures : list of (str, matplotlib Figure)
        Pictures, each with a name for its file.
    parsimony : mapping of str to Parsimony
        Of Figure 4: by the name of the model, how its trees branch over all draws.
    """

    title: str
    caption: str
    figures: list[tuple[str, Figure]]
    parsimony: Mapping[str, Parsimony] = field(default_factory=dict)
