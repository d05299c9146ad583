"""Where a tree is drawn: times along one axis, rows along the other, names, strips and legends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_integer
from sticktree.errors import ParameterError
from sticktree.plotting.base import (
    CLASSES,
    LINE,
    SMALLEST,
    SMALLEST_NAME,
    TIMES,
    Display,
    WhichTree,
    check_tree,
    new_axes,
    points,
    read_names,
    tree_of,
    widest,
)
from sticktree.plotting.groups import Groups, colours_of, labels_of, read_groups
from sticktree.plotting.outline import Outline, Rows
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Orientation = Literal["left", "right", "top", "bottom"]
"""Where the root is."""
LARGEST_NAME = 8.0  # points


def check_orientation(orientation: Any) -> None:
    """Raise if this is no orientation."""
    if orientation not in get_args(Orientation):
        known = ", ".join(map(repr, get_args(Orientation)))
        raise ParameterError("orientation", orientation, f"one of {known}")


@dataclass(frozen=True, eq=False)
class Frame:
    """Axes on which a tree grows away from its root at one side.

    Row r lies between r and r + 1; the first is at the top or at the left.
    """

    ax: Axes
    orientation: Orientation

    @property
    def figure(self) -> Figure:
        """The whole figure that the Axes are part of."""
        return self.ax.figure.figure

    @property
    def upright(self) -> bool:
        """Whether rows lie side by side and not one below the other."""
        return self.orientation in ("top", "bottom")

    @property
    def _axes(self) -> tuple[Axis, Axis]:
        """The axis of times and that of rows."""
        x, y = self.ax.xaxis, self.ax.yaxis
        return (y, x) if self.upright else (x, y)

    def xy(self, time: npt.ArrayLike, row: npt.ArrayLike) -> FloatArray:
        """Return coordinates, the last dimension of which is x and y."""
        t, r = np.broadcast_arrays(np.asarray(time, dtype=float), np.asarray(row, dtype=float))
        return np.stack([r, t] if self.upright else [t, r], axis=-1)

    def lengths(self) -> tuple[float, float]:
        """Return the lengths of the axis of times and of that of rows, in points."""
        width, height = points(self.ax)
        return (height, width) if self.upright else (width, height)

    def limit(self, first: float, last: float, n_rows: int) -> None:
        """Show times from ``first`` to ``last`` and all rows."""
        turned = self.orientation in ("right", "top")
        times = (last, first) if turned else (first, last)
        if self.upright:
            self.ax.set_xlim(0, n_rows)
            self.ax.set_ylim(*times)
        else:
            self.ax.set_xlim(*times)
            self.ax.set_ylim(n_rows, 0)

    def label_times(self, end: float, label: str) -> None:
        """Put numbers on the axis of times, and hide all other edges of the frame."""
        from matplotlib.ticker import MaxNLocator

        times, rows = self._axes
        whole = float(end).is_integer() and end >= 1
        ticks = MaxNLocator(nbins=6, integer=whole).tick_values(0.0, end)
        times.set_ticks([float(t) for t in ticks if 0 <= t <= end * (1 + 1e-9)])
        times.set_label_text(label, fontsize=8)
        times.set_tick_params(labelsize=7, length=2.5)
        rows.set_ticks([])
        self.ax.spines[:].set_visible(False)
        side = self.ax.spines["left" if self.upright else "bottom"]
        side.set_visible(True)
        side.set_bounds(0.0, end)

    def explain(self, words: str) -> None:
        """Add some words to the label of the axis of times."""
        times, _ = self._axes
        times.set_label_text(f"{times.get_label_text()} ({words})")

    def name_rows(self, at: FloatArray, names: Sequence[str], room: float) -> float:
        """Write names beside the leaves, if ``room`` points are enough; return their width."""
        _, rows = self._axes
        size = min(LARGEST_NAME, room / LINE)
        if size < SMALLEST_NAME or not len(names):
            rows.set_ticks([])
            return 0.0
        rotation = 0
        if self.upright:
            row = self.lengths()[1] / abs(self.ax.get_xlim()[1] - self.ax.get_xlim()[0])
            apart = float(np.diff(np.sort(at)).min(initial=np.inf)) * row
            rotation = 0 if widest(names, size) + 3.0 < apart else 90
        rows.set_ticks(at, list(names), parse_math=False, rotation=rotation)
        if self.orientation == "left":
            self.ax.yaxis.tick_right()
        elif self.orientation == "bottom":
            self.ax.xaxis.tick_top()
        rows.set_tick_params(labelsize=size, length=0, pad=2)
        return widest(names, size)


MOST_CELLS = 1000


def draw_strip(frame: Frame, colour: FloatArray, begin: float, end: float) -> None:
    """Draw the colours of rows, between two times.

    Neighbours of one colour become one rectangle. Where these are too many to be seen, rows are
    mixed.
    """
    from matplotlib.collections import PolyCollection

    n_rows = len(colour)
    new = np.append(True, (np.diff(colour, axis=0) != 0).any(axis=1))
    starts = np.flatnonzero(new)
    if starts.size > MOST_CELLS:
        starts = np.arange(0, n_rows, -(-n_rows // MOST_CELLS))
    stops = np.append(starts[1:], n_rows)
    mean = np.add.reduceat(colour, starts, axis=0) / (stops - starts)[:, None]
    mean = np.clip(mean, 0.0, 1.0)
    cells = [
        frame.xy([begin, end, end, begin], [a, a, b, b]) for a, b in zip(starts, stops, strict=True)
    ]
    # Edges of the same colour close the seams that some viewers show between rectangles.
    frame.ax.add_collection(
        PolyCollection(cells, facecolors=mean, edgecolors=mean, linewidths=0.1, zorder=2)
    )


ROW = 1.6
"""Points: rows that are closer are not drawn each for itself."""
WEDGE = 4.5
"""Points: the smallest branch that is drawn then."""
STRIP, GAP = 8.0, 3.0  # points


@dataclass(frozen=True, eq=False)
class Canvas:
    """All that is around a tree, drawn, and what is needed to draw the tree.

    Attributes
    ----------
    frame : Frame
        The Axes.
    outline : Outline
        The branches that have room.
    of_branch, of_row : float arrays, shapes (B, 3) and (N, 3)
        Their colours.
    units : (float, float)
        Points per unit of time, and per row.
    """

    frame: Frame
    outline: Outline
    of_branch: FloatArray
    of_row: FloatArray
    units: tuple[float, float]

    @classmethod
    def lay_out(
        cls,
        tree: Tree,
        ax: Axes | None,
        *,
        orientation: Orientation,
        names: Any,
        classes: Any,
        labels: Any,
        max_leaves: int | None,
        times: str,
        sizes: bool = True,
    ) -> Self:
        """Check everything, then draw what is around the tree, with the ``sizes`` of wedges."""
        check_orientation(orientation)
        if max_leaves is not None:
            check_integer("max_leaves", max_leaves, minimum=1)
        rows = Rows.of(tree)
        texts = read_names(names, tree)
        strip = read_groups("classes", classes, tree.n_data, CLASSES)
        groups = read_groups("labels", labels, tree.n_data)

        long = float(np.clip(0.16 * rows.n_rows, 2.0, 8.0)) + 0.5
        upright = orientation in ("top", "bottom")
        ax = new_axes(ax, (max(long, 3.0), 4.5) if upright else (6.5, long))
        frame = Frame(ax, orientation)
        frame.limit(0.0, rows.end, rows.n_rows)
        frame.label_times(rows.end, times)
        if strip is not None and frame.upright:
            _add_legend(frame, strip, 0.0)  # it takes room from the rows
        _, across = frame.lengths()
        outline = outline_for(rows, across, max_leaves)
        width = 0.0
        if sizes or outline.smallest <= 1:
            width = _write_names(frame, outline, texts, across / rows.n_rows)
        if strip is not None and not frame.upright:
            _add_legend(frame, strip, width)
        along, across = frame.lengths()
        # One point more on either side keeps the ends of lines inside.
        beyond = STRIP + GAP if strip is not None else 0.0
        unit = rows.end / max(along - beyond - 3.0, 1.0)
        frame.limit(-2 * unit, rows.end + (beyond + 1) * unit, rows.n_rows)
        if strip is not None:
            begin = rows.end + GAP * unit
            draw_strip(frame, strip.of_rows()[rows.order], begin, begin + STRIP * unit)
        of_branch, of_row = colours_of(outline, groups)
        return cls(frame, outline, of_branch, of_row, (1.0 / unit, across / rows.n_rows))


def outline_for(rows: Rows, across: float, max_leaves: int | None = None) -> Outline:
    """Return the branches that have room on an axis of this length in points."""
    if max_leaves is not None:
        return Outline.fitting(rows, max_leaves)
    if across / rows.n_rows >= ROW:
        return Outline.of(rows)
    return Outline.fitting(rows, across / WEDGE)


def _write_names(frame: Frame, outline: Outline, names: list[str] | None, pitch: float) -> float:
    """Write the names of rows, or the sizes of wedges, where they have room; return their width."""
    rows = outline.rows
    if outline.smallest <= 1:
        if names is None:
            return 0.0
        at = np.arange(0.5, rows.n_rows)
        return frame.name_rows(at, [names[i] for i in rows.order], pitch)
    room = LINE * SMALLEST
    wedges = [(outline.first[k], outline.last[k]) for k in np.flatnonzero(~outline.forks)]
    dust = [(a, b) for _, a, b in outline.dust()]
    spans = sorted((a, b) for a, b in wedges + dust if (b - a) * pitch >= room)
    at = np.array([(a + b) / 2 for a, b in spans], dtype=np.float64)
    return frame.name_rows(at, [f"{b - a:,}" for a, b in spans], room)


def _add_legend(frame: Frame, classes: Groups, width: float) -> None:
    """Put the legend beside the Axes, beyond the names."""
    from matplotlib.transforms import ScaledTranslation

    far = 10.0 + (width if frame.orientation == "left" else 0.0)
    shift = ScaledTranslation(far / 72, 0, frame.figure.dpi_scale_trans)
    classes.legend(
        frame.ax,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        bbox_transform=frame.ax.transAxes + shift,
    )


class TreeDisplay(Display):
    """A picture of a tree.

    Parameters
    ----------
    tree : Tree
        What to draw.
    classes, labels : sequence, optional
        A class and a flat cluster for each datum.
    names : bool or sequence of str, default=True
        Names of the data.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        classes: Any = None,
        labels: Any = None,
        names: bool | Sequence[str] = True,
    ) -> None:
        self.tree = check_tree(tree)
        self.classes = classes
        self.labels = labels
        self.names = names
        self.times = TIMES["consensus"]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        tree: WhichTree = "consensus",
        classes: Any = None,
        labels: Any = None,
        names: bool | Sequence[str] = True,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a tree of a fitted mixture, coloured by its clusters, or by its main branches.

        ``tree`` is "consensus" for ``tree_`` or "clusters" for ``cluster_tree_``. Further arguments
        are those of :meth:`plot`.
        """
        drawn = tree_of(estimator, tree)
        labels = labels_of(estimator) if labels is None else labels
        display = cls(drawn, classes=classes, labels=labels, names=names)
        display.times = TIMES[tree]
        return display.plot(ax=ax, **kwargs)

    def plot(self, *args: Any, **kwargs: Any) -> Self:
        """Draw; each picture has arguments of its own."""
        raise NotImplementedError
