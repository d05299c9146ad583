"""The figure of the scores: every set, ours beside a few peers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree_paper.clustering_programs import FILLED, GENIE
from sticktree_paper.clustering_scores import Column, Comparison
from sticktree_paper.clustering_work import FREE, GIVEN
from sticktree_paper.methods import OURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = {
    GIVEN: ((GENIE, "Genie_G0.3"), ("GMM",), ("ward linkage",)),
    FREE: ((f"HDBSCAN 10{FILLED}",), ("HDBSCAN 10",), ("GMM by BIC",)),
}
"""The peers, by question; of each the first of these names that there is."""
TITLES = {GIVEN: "k given", FREE: "k free"}
MARKERS = ("s", "^", "D")
LEGEND: dict[str, Any] = {
    "loc": "outside lower center",
    "ncols": 2,
    "frameon": False,
    "fontsize": 8,
}
WIDTH, ROOM, LINE = 9.5, 1.6, 0.2  # inches: of the figure, above and below, of a set


def figure_clusters(comparison: Comparison) -> Figure:
    """Return scores with k given and with k free, side by side, sets ordered by ours.

    A line joins ours with the best peer shown.
    """
    from sticktree.plotting.base import pyplot

    height = ROOM + LINE * len(comparison.sets)
    figure: Figure = pyplot().figure(figsize=(WIDTH, height), layout="constrained")
    halves: Any = figure.subfigures(1, 2)
    for half, question in zip(halves, TITLES, strict=True):
        ax = half.subplots()
        _panel(ax, comparison, question)
        half.legend(*ax.get_legend_handles_labels(), **LEGEND)
    return figure


def _panel(ax: Axes, comparison: Comparison, question: str) -> None:
    from sticktree.plotting.base import INK, PALETTE, REST

    columns = comparison.columns(question)
    ours = next((column for column in columns if column.name == OURS), None)
    peers = [found for names in SHOWN[question] if (found := _named(columns, names)) is not None]
    known = [one for one in comparison.sets if ours is None or one.name in ours.mean]
    known.sort(key=lambda one: 0.0 if ours is None else ours.mean[one.name])
    place = {one.name: k for k, one in enumerate(known)}
    for column, colour, marker in zip(peers, PALETTE[1:], MARKERS, strict=False):
        shared = [name for name in place if name in column.mean]
        scores = [column.mean[name] for name in shared]
        at = [place[name] for name in shared]
        ax.scatter(scores, at, s=22, c=colour, marker=marker, label=column.name, alpha=0.85)
    if ours is not None:
        scores = [ours.mean[one.name] for one in known]
        at = list(range(len(known)))
        ax.scatter(scores, at, s=44, c=PALETTE[0], label=OURS, zorder=3, edgecolors="white")
        for k, one in enumerate(known):
            rivals = [column.mean[one.name] for column in peers if one.name in column.mean]
            if rivals:
                ends = [ours.mean[one.name], float(np.max(rivals))]
                ax.plot(ends, [k, k], color=REST, linewidth=1.5, zorder=0)
    ax.set_yticks(range(len(known)), [one.title for one in known], fontsize=8, color=INK)
    ax.set_xlim(-0.12, 1.04)
    ax.set_ylim(-0.8, len(known) - 0.2)
    ax.grid(axis="x", color=REST, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("adjusted Rand index")
    ax.set_title(TITLES[question], loc="left")


def _named(columns: list[Column], names: tuple[str, ...]) -> Column | None:
    """Return the first column of these programs, with any scaling."""
    for name in names:
        for column in columns:
            if column.name == name or column.name in (f"{name} (z)", f"{name} (raw)"):
                return column
    return None
