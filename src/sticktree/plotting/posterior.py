"""What draws have in common: who is with whom, and how many branches each level has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, as_numbers, check_integer
from sticktree.errors import ParameterError
from sticktree.palette import CLUSTERS
from sticktree.plotting.base import (
    INK,
    Display,
    WhichTree,
    check_fitted,
    check_tree,
    draw_dots,
    new_axes,
    open_frame,
    rows_of,
    tree_of,
)
from sticktree.plotting.groups import Groups, labels_of, read_groups
from sticktree.plotting.outline import Rows
from sticktree.posterior.draws import Posterior
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 2000
"""Rows of a matrix that is shown as it is: larger ones are averaged in blocks."""
SAMPLED_ROWS = 1000
"""Rows of a fit with more than that many, spread evenly over the tree's order."""


def plot_coclustering(
    matrix: Any,
    tree: Tree | None = None,
    *,
    labels: Any = None,
    level: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how probable it is that two rows are in the same cluster, rows in a tree's order.

    Parameters
    ----------
    matrix : float array, shape (N, N), or fitted DFPMixture
        Probabilities; of a mixture those of its posterior, in the order of its tree. Of more than
        2,000 rows a matrix is averaged in blocks, and of a mixture 1,000 rows are taken, spread
        evenly over the tree's order.
    tree : Tree, optional
        The order of the rows; by default they stay as they are.
    labels : sequence, optional
        A flat cluster for each row: those beside each other are framed.
    level : int, optional
        Of a mixture: the level of the clusters; by default its own.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sticktree.plotting import plot_coclustering
    >>> matrix = [[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]]
    >>> ax = plot_coclustering(matrix, labels=[0, 0, 1])
    """
    if hasattr(matrix, "fit"):
        if tree is not None:
            raise ValueError("tree must not be given with a mixture, which has its own")
        found = CoclusteringDisplay.from_estimator(matrix, labels=labels, level=level, ax=ax)
        return found.ax_
    if level is not None:
        raise ValueError("level must not be given with a matrix, which is of one level")
    return CoclusteringDisplay(matrix, tree, labels=labels).plot(ax=ax).ax_


class CoclusteringDisplay(Display):
    """The matrix of co-clustering; see :func:`plot_coclustering`.

    Parameters
    ----------
    matrix : float array, shape (N, N)
        Probabilities that two rows are in the same cluster.
    tree : Tree, optional
        The order of the rows.
    labels : sequence, optional
        A flat cluster for each row.
    """

    def __init__(self, matrix: Any, tree: Tree | None = None, *, labels: Any = None) -> None:
        values = as_numbers("matrix", matrix)
        if values.ndim != 2 or values.shape[0] != values.shape[1] or values.size == 0:
            shown = f"shape {values.shape}"
            raise ParameterError("matrix", matrix, "square and not empty", shown=shown)
        if not ((values >= -1e-9) & (values <= 1 + 1e-9)).all():
            shown = "entries outside 0 to 1"
            raise ParameterError("matrix", matrix, "probabilities", verb="have", shown=shown)
        self.matrix = values
        self.tree = None if tree is None else check_tree(tree)
        if self.tree is not None and self.tree.n_data != len(values):
            expected = f"{self.tree.n_data} rows, one for each datum of the tree"
            raise ParameterError("matrix", len(values), expected, verb="have")
        self.labels = labels
        self._rows_of_fit: int | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        tree: WhichTree = "consensus",
        labels: Any = None,
        level: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the posterior of a fitted mixture, in the order of a tree of it.

        ``tree`` is "consensus" for ``tree_`` or "clusters" for ``cluster_tree_``.
        """
        ordering = tree_of(estimator, tree)
        if level is not None:
            check_integer("level", level, minimum=0)
        if labels is None:
            labels = labels_of(estimator)
        order = Rows.of(ordering).order
        if ordering.n_data > MOST_ROWS:
            order = order[np.linspace(0, order.size - 1, SAMPLED_ROWS).astype(int)]
        matrix = estimator.coclustering(rows=rows_of(estimator)[order], level=level)
        groups = read_groups("labels", labels, ordering.n_data)
        display = cls(matrix, labels=None if groups is None else groups.code[order])
        display._rows_of_fit = ordering.n_data
        return display.plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; the argument is that of :func:`plot_coclustering`."""
        n_rows = len(self.matrix)
        groups = read_groups("labels", self.labels, n_rows)
        order: IntArray | slice = slice(None) if self.tree is None else Rows.of(self.tree).order
        matrix = self.matrix[order][:, order]
        ax = new_axes(ax, (4.8, 4.2))
        image = ax.imshow(
            _blocks(matrix, -(-n_rows // MOST_ROWS)),
            cmap="Blues",
            vmin=0.0,
            vmax=1.0,
            extent=(0, n_rows, n_rows, 0),
            interpolation="nearest",
        )
        if groups is not None:
            _frame_clusters(ax, groups, groups.code[order])
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, aspect=25, pad=0.02)
        bar.set_label("probability of the same cluster", fontsize=8)
        bar.ax.tick_params(labelsize=7)
        bar.outline.set_visible(False)
        self._label(ax, n_rows)
        return self._drawn(ax)

    def _label(self, ax: Axes, n_rows: int) -> None:
        ordered = self.tree is not None or self._rows_of_fit is not None
        words = f"{n_rows:,} rows" if n_rows > 1 else "1 row"
        if self._rows_of_fit not in (None, n_rows):
            words = f"{n_rows:,} of {self._rows_of_fit:,} rows"
        ax.set_xlabel(words + (" in the tree's order" if ordered else ""), fontsize=8)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_color(INK)
        ax.spines[:].set_linewidth(0.5)


def _blocks(matrix: FloatArray, step: int) -> FloatArray:
    """Return means of blocks of ``step`` by ``step`` entries."""
    if step <= 1:
        return matrix
    starts = np.arange(0, len(matrix), step)
    sizes = np.diff(np.append(starts, len(matrix)))
    total = np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1)
    return np.asarray(total / np.outer(sizes, sizes))


def _frame_clusters(ax: Axes, groups: Groups, code: IntArray) -> None:
    """Frame the rows of one cluster that lie beside each other, in the cluster's colour."""
    from matplotlib.collections import PolyCollection

    starts = np.append(0, np.flatnonzero(np.diff(code)) + 1)
    stops = np.append(starts[1:], code.size)
    # A frame of a few rows would hide what it frames.
    least = max(2, 0.01 * code.size)
    kept = [
        (a, b, code[a])
        for a, b in zip(starts, stops, strict=True)
        if b - a >= least and code[a] >= 0
    ]
    ax.add_collection(
        PolyCollection(
            [[(a, a), (b, a), (b, b), (a, b)] for a, b, _ in kept],
            facecolors="none",
            edgecolors=[tuple(groups.colour[k]) for *_, k in kept],
            linewidths=1.2,
            clip_on=False,
        )
    )


WIDEST = 0.8  # of the distance between levels
MOST_BARS = 40  # of a level
LOG_FROM = 12.0  # ratio of the largest to the smallest number that needs a log scale


def plot_leaves_per_level(posterior: Posterior, *, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the number of branches at every level, over all draws.

    The wider a bar, the more draws have that number. Dots are medians; beside them, in brackets,
    stand the numbers between which 90 % of the draws lie.

    Parameters
    ----------
    posterior : Posterior
        The draws.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    return LeavesPerLevelDisplay(posterior).plot(ax=ax).ax_


class LeavesPerLevelDisplay(Display):
    """Numbers of branches at each level; see :func:`plot_leaves_per_level`.

    Parameters
    ----------
    posterior : Posterior
        The draws.
    """

    def __init__(self, posterior: Posterior) -> None:
        if not isinstance(posterior, Posterior):
            raise TypeError(f"posterior must be a Posterior, got {type(posterior).__name__}")
        if len(posterior) == 0:
            raise ParameterError("posterior", posterior, "draws", verb="have", shown="none")
        self.posterior = posterior
        depth = max(posterior.depth, 1)
        self.counts: npt.NDArray[np.int32] = np.array(
            [np.maximum(draw.nodes_per_level(depth), 1) for draw in posterior.draws]
        )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the numbers of branches of a fitted mixture."""
        return cls(check_fitted(estimator).posterior_).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; the argument is that of :func:`plot_leaves_per_level`."""
        from matplotlib.collections import PolyCollection
        from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

        n_levels = self.counts.shape[1]
        ax = new_axes(ax, (float(np.clip(1.2 + 0.9 * n_levels, 3.0, 8.0)), 3.2))
        boxes = []
        for k in range(n_levels):
            boxes += _bars(self.counts[:, k], k + 1.0)
        ax.add_collection(
            PolyCollection(boxes, facecolors=CLUSTERS[4], edgecolors=CLUSTERS[4], linewidths=0.2)
        )
        levels = np.arange(1, n_levels + 1)
        middle = np.median(self.counts, axis=0)
        draw_dots(ax, levels, middle)
        low, high = np.quantile(self.counts, [0.05, 0.95], axis=0, method="inverted_cdf")
        smallest, largest = self.counts.min(), self.counts.max()
        if largest / smallest > LOG_FROM:
            ax.set_yscale("log", base=2)
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.yaxis.set_minor_locator(NullLocator())
            ax.set_ylim((smallest - 0.5) * 0.9, largest * 1.5)
        else:
            ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
            margin = 0.08 * (largest - smallest + 1)
            ax.set_ylim(smallest - 0.5 - margin, largest + 0.5 + 2.0 * margin)
        if n_levels <= 12:
            for k in range(n_levels):
                ax.annotate(
                    f"{middle[k]:g} ({low[k]}–{high[k]})",
                    (k + 1, self.counts[:, k].max() + 0.5),
                    xytext=(0, 2),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    fontsize=7,
                )
        ax.set_xlim(0.4, n_levels + 0.6)
        ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
        open_frame(ax, "level", "branches")
        return self._drawn(ax)


def _bars(counts: npt.NDArray[np.int32], at: float) -> list[list[tuple[float, float]]]:
    """Return a rectangle for every number, or for every few, as wide as its share of the draws."""
    low, high = int(counts.min()), int(counts.max())
    step = -(-(high - low + 1) // MOST_BARS)
    found, times = np.unique((counts - low) // step, return_counts=True)
    half = 0.5 * WIDEST * times / times.max()
    bottom = low + step * found - 0.5
    return [
        [(at - h, b), (at + h, b), (at + h, b + step), (at - h, b + step)]
        for h, b in zip(half, bottom, strict=True)
    ]
