"""The Axes of a heat map: trees at its left and above it, and its scale in the corner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sticktree.plotting.style import points, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpecBase

__all__ = ["HeatmapAxes", "lay_out"]

TREE, STRIP, TOP = 1.7, 0.12, 0.55  # inches


class HeatmapAxes(NamedTuple):
    """The Axes of a heat map: the map, the tree of the rows, and what else there is."""

    heat: Axes
    tree: Axes
    columns: Axes | None
    classes: Axes | None
    scale: Axes


def lay_out(
    shape: tuple[int, int],
    ax: Axes | None,
    figure: Figure | None,
    *,
    has_classes: bool,
    has_linkage: bool,
) -> HeatmapAxes:
    """Make the Axes: the trees at the left and above, the scale in the corner."""
    n_rows, n_columns = shape
    strip_width = STRIP if has_classes else 0.0
    home: Any
    if ax is not None:
        home = ax.figure
        width, height = (length / 72 for length in points(ax))
    elif figure is not None:
        home = figure
        width, height = figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi
    else:
        width = TREE + strip_width + float(np.clip(0.26 * n_columns, 1.8, 6.5)) + 1.1
        height = TOP + float(np.clip(0.14 * n_rows, 2.0, 7.5)) + 0.6
        home = pyplot().figure(figsize=(width, height), layout="constrained")
    side_width = min(TREE, 0.25 * width)
    widths = [side_width, *([STRIP] if has_classes else [])]
    form: dict[str, Any] = {
        "nrows": 2,
        "ncols": len(widths) + 1,
        "width_ratios": [*widths, max(width - sum(widths) - 1.1, 1.0)],
        "height_ratios": [TOP, max(height - TOP - 0.6, 0.5)],
        "wspace": 0.02,
        "hspace": 0.02,
    }
    grid: GridSpecBase
    if ax is not None:
        place = ax.get_subplotspec()
        assert place is not None
        ax.set_axis_off()
        grid = place.subgridspec(**form)
    else:
        grid = home.add_gridspec(**form)
    heat = home.add_subplot(grid[1, -1])
    side = home.add_subplot(grid[1, 0])
    strip = home.add_subplot(grid[1, 1]) if has_classes else None
    above = home.add_subplot(grid[0, -1]) if has_linkage else None
    corner = home.add_subplot(grid[0, 0])
    corner.set_axis_off()
    scale = corner.inset_axes((0.05, 0.52, 0.8, 0.2))
    if ax is None and figure is None:
        home.get_layout_engine().set(w_pad=0.02, h_pad=0.02)
    return HeatmapAxes(heat, side, above, strip, scale)
