"""The paper's four figures made anew.

:func:`make` makes any of them by the name of its part. Figures 1 to 3 are drawn here: sticks, a
diffusion, and data with tree and density of Aggregation and R15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree.checks import check_integer
from sticktree_paper.figure_fits import Made, agreement, density_fits
from sticktree_paper.figure_trees import make_figure_4

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

    from sticktree import DFPMixture

SETS = ("aggregation", "r15")
TITLE_3 = "Aggregation and R15"
ROW_HEIGHT = 3.1  # inches
ROW_WIDTH = 10.0
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


def make_figure_3(
    *,
    seed: int = 1,
    quick: bool = False,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Made:
    """Load both sets, fit them and draw Figure 3.

    Raises
    ------
    MissingDataError
        If the files of the two sets are not there.
    """
    from sticktree.datasets import load

    sets = [load(name) for name in SETS]
    fits = density_fits(sets, seed=seed, quick=quick, n_jobs=n_jobs, progress=progress)
    classes = {one.title: one.labels for one in sets}
    return figure_3(
        fits, classes=classes, resolution=60 if quick else 120, n_draws=10 if quick else 60
    )


def figure_3(
    fits: Mapping[str, DFPMixture],
    *,
    classes: Mapping[str, Any] | None = None,
    resolution: int = 100,
    n_draws: int | None = None,
) -> Made:
    """Draw Figure 3: of each fit, in a row, the data, the tree of a draw, and the density.

    The draw is the one whose clusters, at the level of the flat ones, are nearest to those of all
    others.

    Parameters
    ----------
    fits : mapping of str to DFPMixture
        Fits of two columns by what to call them.
    classes : mapping of str to sequence, optional
        By the same names, the true class of each row, which gives the colours; by default the
        flat clusters of the fit do.
    resolution, n_draws
        As in :func:`~sticktree.plotting.plot_density`.
    """
    from matplotlib.figure import Figure

    if not fits:
        raise ValueError("fits must have one fitted mixture or more, got none")
    known = {} if classes is None else classes
    figure = Figure(figsize=(ROW_WIDTH, ROW_HEIGHT * len(fits)), layout="constrained")
    rows: Any = figure.subfigures(len(fits), 1, squeeze=False)[:, 0]
    purities = {}
    for row, (name, fit) in zip(rows, fits.items(), strict=True):
        purities[name] = _draw_row(row, name, fit, known.get(name), resolution, n_draws)
    return Made(TITLE_3, _caption_3(fits, purities), [("figure-3-density", figure)])


def _draw_row(
    row: SubFigure,
    name: str,
    fit: DFPMixture,
    classes: Any,
    resolution: int,
    n_draws: int | None,
) -> float | None:
    """Draw the three panels of a fit; return the purity of the tree if there are classes."""
    from sticktree.metrics import dendrogram_purity
    from sticktree.plotting import DendrogramDisplay, DensityDisplay
    from sticktree.plotting.base import open_frame, rows_of
    from sticktree.plotting.density import rows_shown
    from sticktree.plotting.groups import labels_of, read_groups
    from sticktree.plotting.scatter import draw_points
    from sticktree.posterior.clusterings import best_draw

    left, middle, right = row.subplots(1, 3, width_ratios=[1.0, 1.75, 1.0])
    DensityDisplay.from_estimator(fit, resolution=resolution, n_draws=n_draws, ax=right)
    _tidy(right)
    data = rows_shown(fit)
    groups = labels_of(fit) if classes is None else [classes[i] for i in rows_of(fit)]
    draw_points(left, data, read_groups("classes", groups, len(data)))
    left.set(xlim=right.get_xlim(), ylim=right.get_ylim())
    open_frame(left, right.get_xlabel(), right.get_ylabel())
    tree = best_draw(fit.posterior_.draws, fit.level_).tree.canonical()
    DendrogramDisplay(tree, labels=groups, names=False).plot(ax=middle, orientation="top")
    for ax, title in ((left, f"{name}: data"), (middle, "a sampled tree"), (right, "density")):
        ax.set_title(title, fontsize=9, loc="left")
    return None if classes is None else dendrogram_purity(tree, groups)


def _tidy(ax: Axes) -> None:
    """Leave the points of a density out, which are to be seen beside it, and make room above it."""
    from matplotlib.collections import PathCollection

    for points in ax.collections:
        if isinstance(points, PathCollection):
            points.remove()
    legend = ax.get_legend()
    if legend is not None:
        ax.legend(
            [handle for handle in legend.legend_handles if handle is not None],
            [text.get_text() for text in legend.get_texts()],
            fontsize=7,
            frameon=False,
            ncols=4,
            handlelength=0.9,
            handleheight=0.9,
            handletextpad=0.3,
            columnspacing=0.6,
            borderpad=0.0,
            borderaxespad=0.0,
            loc="lower right",
            bbox_to_anchor=(1.0, 1.03),
        )


def _caption_3(fits: Mapping[str, DFPMixture], purities: Mapping[str, float | None]) -> str:
    """Describe what the figure shows, and how it was made."""
    colour = "class" if any(one is not None for one in purities.values()) else "cluster"
    text = [
        f"Left: the data, coloured by {colour}. Middle: the tree of one draw from the posterior; a "
        f"branch of nearly all rows of one {colour} has its colour, and the wedges are leaves with "
        "their numbers of rows. Right: the predictive density, by the smallest regions that hold "
        "50, 80, 95 and 99 % of its mass."
    ]
    for name, fit in fits.items():
        purity = purities[name]
        score = "" if purity is None else f"; purity of the tree shown {purity:.3f}"
        text.append(
            f"{name}: depth {fit.depth_}, {fit.covariance_type_} covariances, {fit.leaf_noise_} "
            f"noise, {agreement(fit)}{score}."
        )
    return " ".join(text)


def _without_fit(figure: Callable[..., Made]) -> Callable[..., Made]:
    """Return a function of the parameters of figures that need a fit, which it does not use."""

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
    >>> from sticktree_paper.figures import make
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
