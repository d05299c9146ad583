"""Figure 3: data, a tree and the predictive density of Aggregation and R15."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sticktree.reproduce.figure_fits import agreement, density_fits
from sticktree.reproduce.figure_made import Made

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

    from sticktree.estimators.mixture import DFPMixture

__all__ = ["SETS", "figure_3", "make_figure_3"]

SETS = ("aggregation", "r15")
TITLE = "Aggregation and R15"
ROW = 3.1  # inches
WIDTH = 10.0


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
    figure = Figure(figsize=(WIDTH, ROW * len(fits)), layout="constrained")
    rows: Any = figure.subfigures(len(fits), 1, squeeze=False)[:, 0]
    purities = {}
    for row, (name, fit) in zip(rows, fits.items(), strict=True):
        purities[name] = _draw_row(row, name, fit, known.get(name), resolution, n_draws)
    return Made(TITLE, _caption(fits, purities), [("figure-3-density", figure)])


def _draw_row(
    row: SubFigure,
    name: str,
    fit: DFPMixture,
    classes: Any,
    resolution: int,
    n_draws: int | None,
) -> float | None:
    """Draw the three panels of a fit; return the purity of the tree where there are classes."""
    from sticktree.metrics import dendrogram_purity
    from sticktree.plotting import DendrogramDisplay, DensityDisplay
    from sticktree.plotting.density import rows_shown
    from sticktree.plotting.display import labels_of, rows_of
    from sticktree.plotting.groups import read_groups
    from sticktree.plotting.scatter import draw_points
    from sticktree.plotting.style import open_frame
    from sticktree.posterior.best import best_draw

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


def _caption(fits: Mapping[str, DFPMixture], purities: Mapping[str, float | None]) -> str:
    """Say what is to be seen, and how it was made."""
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
