"""The columns of a heat map, and the Axes of their map and of the trees around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, as_numbers
from sticktree.data.readable import standardised
from sticktree.errors import ParameterError
from sticktree.plotting.base import INK, LINE, SMALLEST_NAME, points, pyplot, widest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpecBase

MOST_ORDERED = 1000
"""Columns: above that, correlations of all pairs take too long."""


def read_data(
    data: Any, columns: Sequence[str] | None = None, n_data: int | None = None
) -> tuple[FloatArray, list[str]]:
    """Return data as numbers, categories as their codes, and the names of their columns.

    ``n_data`` is how many rows there must be.
    """
    if hasattr(data, "columns"):
        from sticktree.data import read_table

        table = read_table(data)
        values, found = table.values, [str(name) for name in table.columns.names]
    else:
        values = as_numbers("data", data)
        found = [f"x{k}" for k in range(values.shape[1])] if values.ndim == 2 else []
    if values.ndim != 2 or 0 in values.shape:
        shown = f"shape {values.shape}"
        raise ParameterError("data", data, "rows and columns", verb="have", shown=shown)
    if n_data is not None and len(values) != n_data:
        expected = f"{n_data} rows, one for each datum of the tree"
        raise ParameterError("data", len(values), expected, verb="have")
    if columns is None:
        return values, found
    if isinstance(columns, str) or len(columns) != values.shape[1]:
        expected = f"{values.shape[1]} names, one for each column"
        raise ParameterError("columns", columns, expected)
    return values, [str(name) for name in columns]


def correlation_linkage(values: FloatArray) -> FloatArray | None:
    """Return scipy's average linkage of columns by 1 − correlation, or None for one column.

    Correlations are of the rows in which both columns are observed.
    """
    n_columns = values.shape[1]
    if not 2 <= n_columns <= MOST_ORDERED:
        return None
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    z = standardised(values)
    seen = np.isfinite(z)
    z = np.where(seen, z, 0.0)
    size = np.sqrt((z**2).T @ seen)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.nan_to_num((z.T @ z) / (size * size.T))
    distance = np.clip(1.0 - correlation, 0.0, 2.0)
    distance = (distance + distance.T) / 2
    np.fill_diagonal(distance, 0.0)
    ordered = n_columns <= 200  # beyond, the best order of siblings takes too long
    return np.asarray(
        linkage(squareform(distance, checks=False), "average", optimal_ordering=ordered)
    )


def draw_linkage(ax: Axes, linkage: FloatArray) -> npt.NDArray[Any]:
    """Draw a linkage of columns above them, and return their order."""
    from matplotlib.collections import LineCollection
    from scipy.cluster.hierarchy import leaves_list

    order = leaves_list(linkage)
    n_columns = order.size
    x = np.empty(2 * n_columns - 1)
    y = np.zeros(2 * n_columns - 1)
    x[order] = np.arange(n_columns)
    lines = []
    for k, (a, b, height, _) in enumerate(linkage):
        i, j = int(a), int(b)
        lines.append([(x[i], y[i]), (x[i], height), (x[j], height), (x[j], y[j])])
        x[n_columns + k], y[n_columns + k] = (x[i] + x[j]) / 2, height
    width = 0.8 if n_columns <= 100 else 0.4
    ax.add_collection(LineCollection(lines, colors=INK, linewidths=width))
    ax.set_xlim(-0.5, n_columns - 0.5)
    ax.set_ylim(0.0, max(float(y.max()) * 1.05, 1e-9))
    ax.set_axis_off()
    return order


def name_columns(ax: Axes, names: list[str]) -> None:
    """Write the names below the columns: level if they have room, upright if only so, or none."""
    width, _ = points(ax)
    pitch = width / len(names)
    size = min(8.0, pitch / LINE)
    if size < SMALLEST_NAME:
        ax.set_xticks([])
        ax.set_xlabel(f"{len(names):,} columns", fontsize=8)
        return
    level = widest(names, size) < pitch - 3.0
    ax.set_xticks(
        range(len(names)), names, rotation=0 if level else 90, parse_math=False, fontsize=size
    )


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
