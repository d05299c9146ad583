"""A tree with its times: lines from fork to fork, or areas as wide as their shares of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sticktree.checks import FloatArray, check_integer
from sticktree.errors import ParameterError
from sticktree.plotting.base import INK, LINE, PAPER, SMALLEST, paler, readable_on, rgb, widest
from sticktree.plotting.branches import MOST_DUST, draw_branches, write_supports
from sticktree.plotting.canvas import Canvas, Frame, Orientation, TreeDisplay, check_orientation
from sticktree.plotting.outline import Outline
from sticktree.tree import Tree
from sticktree.tree.structure import SupportKind, check_support_kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_dendrogram(
    tree: Tree,
    *,
    ax: Axes | None = None,
    classes: Any = None,
    labels: Any = None,
    names: bool | Sequence[str] = True,
    supports: Literal["auto"] | bool = "auto",
    support_kind: SupportKind | None = None,
    orientation: Orientation = "left",
    max_leaves: int | None = None,
) -> Axes:
    """Draw a tree with its times, the rows in the tree's order.

    A branch of nearly all rows of one cluster has its colour. Where rows lie closer than lines can,
    small branches become wedges, as high as the number of their rows; what is smaller still becomes
    an area, whose left edge is where its rows leave.

    Parameters
    ----------
    tree : Tree
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    classes : sequence, optional
        A class for each datum, of any kind, None or NaN where it is missing: a strip at the leaves.
    labels : sequence, optional
        A flat cluster for each datum, for the colours of the branches; by default the main branches
        have colours.
    names : bool or sequence of str, default=True
        Whether to write the names of the tree's data where they have room, or names to write.
    supports : {"auto", True, False}, default="auto"
        Supports make lines wide. They are written where they have room, before the node that they
        are of: along a branch that loses rows the largest. "auto" leaves out those below 0.05 and
        of branches with less than 2 % of the rows.
    support_kind : {"transfer", "support"}, optional
        Which support: the transfer support, or the share of draws that have exactly this branch.
        By default transfer, if the tree has it. The label of the axis says which it is.
    orientation : {"left", "right", "top", "bottom"}, default="left"
        Where the root is.
    max_leaves : int, optional
        How many rows or wedges to draw side by side; by default as many as have room.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.plotting import plot_dendrogram
    >>> tree = Tree([-1, 0, 0, 1, 1], [3, 4, 2], time=[0, 1.5, 3, 3, 3], names=["a", "b", "c"])
    >>> ax = plot_dendrogram(tree, classes=["x", "y", "x"])
    """
    display = DendrogramDisplay(tree, classes=classes, labels=labels, names=names)
    display.plot(
        ax=ax,
        supports=supports,
        support_kind=support_kind,
        orientation=orientation,
        max_leaves=max_leaves,
    )
    return display.ax_


class DendrogramDisplay(TreeDisplay):
    """The picture of a tree with its times; see :func:`plot_dendrogram`."""

    def plot(
        self,
        ax: Axes | None = None,
        *,
        supports: Literal["auto"] | bool = "auto",
        support_kind: SupportKind | None = None,
        orientation: Orientation = "left",
        max_leaves: int | None = None,
    ) -> Self:
        """Draw; the arguments are those of :func:`plot_dendrogram`."""
        check_orientation(orientation)
        if supports not in ("auto", True, False):
            raise ParameterError("supports", supports, '"auto", True or False')
        check_support_kind("support_kind", support_kind, None)
        if support_kind and self.tree.supports_of(support_kind) is None:
            raise ParameterError("support_kind", support_kind, "one that the tree has")
        if max_leaves is not None:
            check_integer("max_leaves", max_leaves, minimum=1)
        canvas = Canvas.lay_out(
            self.tree,
            ax,
            orientation=orientation,
            names=self.names,
            classes=self.classes,
            labels=self.labels,
            max_leaves=max_leaves,
            times=self.times,
        )
        by = (support_kind or self.tree.support_kind) if supports else None
        draw_branches(
            canvas.frame,
            canvas.outline,
            (canvas.of_branch, canvas.of_row),
            pitch=canvas.units[1],
            by=by,
        )
        write_supports(canvas.frame, canvas.outline, canvas.units, by, everywhere=supports is True)
        return self._drawn(canvas.frame.ax)


Sizes = Literal["count", "share"]
LARGEST = 8.0  # points, of the sizes
PALE = 0.6  # the share of white in rows on their own


def plot_icicle(
    tree: Tree,
    *,
    ax: Axes | None = None,
    classes: Any = None,
    labels: Any = None,
    names: bool | Sequence[str] = True,
    sizes: Sizes | None = "count",
    orientation: Orientation = "top",
    max_leaves: int | None = None,
) -> Axes:
    """Draw a tree as areas: each branch as wide as its share of the data, from fork to fork.

    At any time the branches beside each other are the clusters of :meth:`Tree.cut`. Pale areas are
    rows on their own, or that have left the branches that have room to be drawn.

    Parameters
    ----------
    tree : Tree
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    classes : sequence, optional
        A class for each datum, of any kind, None or NaN where it is missing: a strip at the leaves.
    labels : sequence, optional
        A flat cluster for each datum, for the colours of the branches; by default the main branches
        have colours.
    names : bool or sequence of str, default=True
        Whether to write the names of the tree's data where they have room, or names to write.
    sizes : {"count", "share", None}, default="count"
        What to write into the branches that have room: number or share of the data.
    orientation : {"left", "right", "top", "bottom"}, default="top"
        Where the root is.
    max_leaves : int, optional
        How many rows or branches to draw side by side; by default as many as have room.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.plotting import plot_icicle
    >>> ax = plot_icicle(Tree.from_paths([(1, 1), (1, 1), (1, 2), (2, 1)]))
    """
    display = IcicleDisplay(tree, classes=classes, labels=labels, names=names)
    display.plot(ax=ax, sizes=sizes, orientation=orientation, max_leaves=max_leaves)
    return display.ax_


class IcicleDisplay(TreeDisplay):
    """The picture of a tree as areas; see :func:`plot_icicle`."""

    def plot(
        self,
        ax: Axes | None = None,
        *,
        sizes: Sizes | None = "count",
        orientation: Orientation = "top",
        max_leaves: int | None = None,
    ) -> Self:
        """Draw; the arguments are those of :func:`plot_icicle`."""
        if sizes not in ("count", "share", None):
            raise ParameterError("sizes", sizes, '"count", "share" or None')
        canvas = Canvas.lay_out(
            self.tree,
            ax,
            orientation=orientation,
            names=self.names,
            classes=self.classes,
            labels=self.labels,
            max_leaves=max_leaves,
            times=self.times,
            sizes=False,
        )
        colour = _fills(canvas)
        _draw_areas(canvas, colour)
        if sizes is not None:
            _write_sizes(canvas, colour, sizes)
        return self._drawn(canvas.frame.ax)


def _fills(canvas: Canvas) -> FloatArray:
    """Return the colour of each branch; single rows are pale.

    Within a cluster every second sibling is a little paler, so that neighbours can be told apart.
    """
    outline = canvas.outline
    colour = canvas.of_branch.copy()
    colour[(colour == rgb(INK)).all(axis=1)] = paler(np.array(rgb(INK)), 0.45)
    order = np.lexsort((outline.first, outline.above))
    first_of = np.searchsorted(outline.above[order], outline.above[order])
    rank = np.empty(order.size, dtype=int)
    rank[order] = np.arange(order.size) - first_of
    inside = (colour == colour[outline.above]).all(axis=1) | (outline.above < 0)
    odd = (rank % 2 == 1) & inside
    colour[odd] = paler(colour[odd], 0.22)
    alone = outline.count == 1
    colour[alone] = paler(colour[alone], PALE)
    return colour


def _draw_areas(canvas: Canvas, colour: FloatArray) -> None:
    from matplotlib.collections import PolyCollection

    outline, frame, row = canvas.outline, canvas.frame, canvas.units[1]
    rows = outline.rows
    shapes, faces, edges = [], [], []
    top_first, top_last, until = _trunks(outline)
    for k in range(outline.node.size):
        a, b = int(top_first[k]), int(top_last[k])
        shapes.append(_area(frame, a, b, np.full(b - a, outline.begin[k]), until(k), rows.n_rows))
        faces.append(colour[k])
        # A hairline between branches, never wider than the branches themselves.
        edges.append(min(0.7, 0.15 * row * (b - a)))
    pale, tints = [], []
    for k in np.flatnonzero(~outline.forks & (outline.count > 1)).tolist():
        a, b = int(outline.first[k]), int(outline.last[k])
        left = np.full(b - a, outline.end[k])
        pale.append(_area(frame, a, b, left, rows.tip[a:b], rows.n_rows))
        tints.append(paler(colour[k], PALE))
    for k, a, b in outline.dust():
        pale.append(_area(frame, a, b, outline.leaves[a:b], rows.tip[a:b], rows.n_rows))
        tints.append(paler(colour[k], PALE))
    if pale:
        frame.ax.add_collection(PolyCollection(pale, facecolors=tints, linewidths=0, zorder=1))
    frame.ax.add_collection(
        PolyCollection(shapes, facecolors=faces, edgecolors=PAPER, linewidths=edges, zorder=2)
    )


def _trunks(outline: Outline) -> tuple[Any, Any, Any]:
    """Return the rows with which each branch begins, and a function: when it loses each of them."""
    rows = outline.rows
    first, last = outline.first.astype(int), outline.last.astype(int)
    for k, a, b in outline.dust():
        first[k], last[k] = min(first[k], a), max(last[k], b)

    def until(k: int) -> FloatArray:
        a, b = first[k], last[k]
        end = np.full(b - a, outline.end[k])
        mine = outline.owner[a:b] == k
        end[mine] = np.minimum(outline.leaves[a:b][mine], end[mine])
        if b - a == 1 and not outline.forks[k]:
            end[:] = rows.tip[a:b]
        return end

    return first, last, until


def _area(
    frame: Frame, a: int, b: int, left: FloatArray, right: FloatArray, n_rows: int
) -> FloatArray:
    """Return the edge of rows a to b, each from one time to another, in few steps."""
    step = -(-n_rows // MOST_DUST)
    starts = np.arange(a, b, step)
    sizes = np.diff(np.append(starts, b))
    lefts = np.add.reduceat(left, starts - a) / sizes
    rights = np.add.reduceat(right, starts - a) / sizes
    # Steps of no height would only make the file longer.
    new = np.append(True, (np.diff(lefts) != 0) | (np.diff(rights) != 0))
    starts, lefts, rights = starts[new], lefts[new], rights[new]
    edges = np.stack([starts, np.append(starts[1:], b)], axis=1).ravel()
    time = np.concatenate([np.repeat(lefts, 2), np.repeat(rights, 2)[::-1]])
    return frame.xy(time, np.concatenate([edges, edges[::-1]]))


def _write_sizes(canvas: Canvas, colour: FloatArray, sizes: Sizes) -> None:
    outline, frame = canvas.outline, canvas.frame
    time, row = canvas.units
    n_rows = outline.rows.n_rows
    end = outline.end
    for k in np.flatnonzero(outline.count > 1):
        count = int(outline.count[k])
        text = f"{count:,}" if sizes == "count" else f"{100 * count / n_rows:.0f} %"
        along, across = (end[k] - outline.begin[k]) * time - 3.0, count * row - 3.0
        width, height = (across, along) if frame.upright else (along, across)
        size = min(LARGEST, height / LINE)
        if size < SMALLEST or width < widest([text], size):
            size = SMALLEST
            if height < LINE * size or width < widest([text], size):
                continue
        x, y = frame.xy((outline.begin[k] + end[k]) / 2, outline.middle[k])
        frame.ax.text(
            x,
            y,
            text,
            fontsize=size,
            color=readable_on(colour[k]),
            ha="center",
            va="center_baseline",
            zorder=3,
        )
