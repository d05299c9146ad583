"""The paper's four figures made anew.

:func:`make` makes any of them by the name of its part; each function here makes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sticktree.checks import check_integer
from sticktree.reproduce.figure_density import figure_3, make_figure_3
from sticktree.reproduce.figure_made import Made
from sticktree.reproduce.figure_trees import figure_4, make_figure_4

__all__ = ["FIGURES", "Made", "figure_1", "figure_2", "figure_3", "figure_4", "make"]

CAPTION_1 = (
    "Left: a stick of length 1 breaks into infinitely many sticks, and each of those again, three "
    "times in all, with concentration 1; what is shorter than {truncation:g} is left unbroken, in "
    "grey. Right: the tree of the pieces of mass {least:g} and more, without their sizes. The "
    "index of a piece says which one to take at every level, in the order in which they were "
    "broken off."
)
CAPTION_2 = (
    "Gaussian diffusion in {depth} steps with σ = 1 and the paper's divergence function, c = 1. "
    "Left: the first {few} data, and the paths along which their locations diffused from the root, "
    "the square. Right: {many:,} data by continuing the same process, in the colours of the "
    "branches that they leave."
)


def figure_1(*, seed: int = 12, truncation: float = 0.01, least: float = 0.03) -> Made:
    """Make Figure 1: sticks that break recursively, and their tree.

    Parameters
    ----------
    seed : int
        The one by default has three large sticks at the first level, as in the paper.
    truncation : float
        Sticks of smaller mass are not broken off.
    least : float
        The mass from which a piece is shown in the tree.
    """
    from sticktree.plotting import figure_recursive_sticks
    from sticktree.processes import RecursiveSticks

    rng = np.random.default_rng(check_integer("seed", seed, minimum=0))
    sticks = RecursiveSticks(1.0, depth=3).sample(rng, truncation=truncation)
    figure = figure_recursive_sticks(sticks, tree_mass=least)
    caption = CAPTION_1.format(truncation=truncation, least=least)
    return Made("recursive stick breaking", caption, [("figure-1-sticks", figure)])


def figure_2(*, seed: int = 21, depth: int = 40, few: int = 20, many: int = 1000) -> Made:
    """Make Figure 2: two-dimensional data from the diffusion, the first ones with their tree.

    Parameters
    ----------
    seed : int
        The one by default has branches that part early and stay apart, so that they can be seen.
    depth : int
        Number of steps, the paper's L.
    few, many : int
        Numbers of data.
    """
    from sticktree.plotting import figure_diffusion
    from sticktree.processes import (
        DiffusionModel,
        GaussianTransition,
        LogDivergence,
        NestedRestaurant,
    )

    rng = np.random.default_rng(check_integer("seed", seed, minimum=0))
    model = DiffusionModel(
        NestedRestaurant(LogDivergence(), depth=depth), GaussianTransition(dimension=2, noise=0)
    )
    first = model.sample(few, rng)
    figure = figure_diffusion(first, model.extend(first, many - few, rng))
    caption = CAPTION_2.format(depth=depth, few=few, many=many)
    return Made("Gaussian diffusion", caption, [("figure-2-diffusion", figure)])


def _without_fit(figure: Callable[..., Made]) -> Callable[..., Made]:
    """Return the function as those that fit are called: it takes no time whatever is asked."""

    def make_it(*, quick: bool, n_jobs: int | None, progress: bool | None, **seed: int) -> Made:
        return figure(**seed)

    return make_it


FIGURES: dict[str, Callable[..., Made]] = {
    "fig1": _without_fit(figure_1),
    "fig2": _without_fit(figure_2),
    "fig3": make_figure_3,
    "fig4": make_figure_4,
}
"""By the name of the part, what makes it."""


def make(
    part: str,
    *,
    seed: int | None = None,
    quick: bool = False,
    n_jobs: int | None = None,
    progress: bool | None = False,
) -> Made:
    """Make one of the paper's figures; the same seed gives the same figure.

    Parameters
    ----------
    part : {"fig1", "fig2", "fig3", "fig4"}
        Which figure.
    seed : int or None
        None is the figure's own.
    quick : bool, default=False
        Short chains, only to show that all runs.
    n_jobs : int or None
        Chains at a time; None is the number of cores.
    progress : bool or None, default=False
        Show the progress of fits; None does so on a terminal.

    Returns
    -------
    Made

    Raises
    ------
    MissingDataError
        If the data of Figure 3 are not there.

    Examples
    --------
    >>> from sticktree.reproduce.figures import make
    >>> made = make("fig1")
    >>> made.title, [name for name, figure in made.figures]
    ('recursive stick breaking', ['figure-1-sticks'])
    """
    if part not in FIGURES:
        raise ValueError(f"part must be one of {', '.join(FIGURES)}, got {part!r}")
    given: dict[str, Any] = {}
    if seed is not None:
        given["seed"] = check_integer("seed", seed, minimum=0)
    return FIGURES[part](quick=quick, n_jobs=n_jobs, progress=progress, **given)
