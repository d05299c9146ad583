"""Where a tree is drawn: its outline, names at the leaves, a strip of classes and their legend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sticktree.checks import FloatArray, check_integer
from sticktree.plotting.branches import colours_of
from sticktree.plotting.display import read_names
from sticktree.plotting.frame import Frame, Orientation, check_orientation
from sticktree.plotting.groups import Groups, read_groups
from sticktree.plotting.lettering import LINE, SMALLEST
from sticktree.plotting.outline import Outline, Rows
from sticktree.plotting.strip import draw_strip
from sticktree.plotting.style import CLASSES, new_axes
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Canvas", "outline_for"]

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
        frame.label_times(rows.end, "level")
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
    """Return the branches that have room on an axis of so many points."""
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
