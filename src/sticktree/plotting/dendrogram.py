"""The tree with its times: what a dendrogram shows, for any number of branches and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from sticktree.checks import check_integer
from sticktree.plotting.branches import draw_branches
from sticktree.plotting.canvas import Canvas
from sticktree.plotting.frame import Orientation, check_orientation
from sticktree.plotting.supports import write_supports
from sticktree.plotting.tree_display import TreeDisplay
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DendrogramDisplay", "plot_dendrogram"]


def plot_dendrogram(
    tree: Tree,
    *,
    ax: Axes | None = None,
    classes: Any = None,
    labels: Any = None,
    names: bool | Sequence[str] = True,
    supports: Literal["auto"] | bool = "auto",
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
    display.plot(ax=ax, supports=supports, orientation=orientation, max_leaves=max_leaves)
    return display.ax_


class DendrogramDisplay(TreeDisplay):
    """The picture of a tree with its times; see :func:`plot_dendrogram`."""

    def plot(
        self,
        ax: Axes | None = None,
        *,
        supports: Literal["auto"] | bool = "auto",
        orientation: Orientation = "left",
        max_leaves: int | None = None,
    ) -> Self:
        """Draw; the arguments are those of :func:`plot_dendrogram`."""
        check_orientation(orientation)
        if supports not in ("auto", True, False):
            raise ValueError(f'supports must be "auto", True or False, got {supports!r}')
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
        )
        draw_branches(
            canvas.frame,
            canvas.outline,
            (canvas.of_branch, canvas.of_row),
            pitch=canvas.units[1],
            weighted=bool(supports),
        )
        if supports and self.tree.support is not None:
            write_supports(canvas.frame, canvas.outline, canvas.units, everywhere=supports is True)
        self.ax_, self.figure_ = canvas.frame.ax, canvas.frame.figure
        return self
