"""The columns of a heat map: in standard units, in an order that shows which go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, as_numbers
from sticktree.plotting.lettering import LINE, SMALLEST_NAME, widest
from sticktree.plotting.style import INK, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["correlation_linkage", "draw_linkage", "name_columns", "read_data", "standardised"]

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
        raise ValueError(f"data must have rows and columns, got shape {values.shape}")
    if n_data is not None and len(values) != n_data:
        raise ValueError(
            f"data must have {n_data} rows, one for each datum of the tree, got {len(values)}"
        )
    if columns is None:
        return values, found
    if isinstance(columns, str) or len(columns) != values.shape[1]:
        raise ValueError(
            f"columns must be {values.shape[1]} names, one for each column, got {columns!r}"
        )
    return values, [str(name) for name in columns]


def standardised(values: FloatArray) -> FloatArray:
    """Return columns with mean 0 and standard deviation 1; constant ones become 0."""
    seen = np.isfinite(values)
    count = np.maximum(seen.sum(axis=0), 1)
    centred = values - np.where(seen, values, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(seen, centred, 0.0) ** 2).sum(axis=0) / count)
    flat = spread <= 1e-12 * np.max(np.abs(np.where(seen, values, 0.0)), axis=0, initial=1e-300)
    return np.where(seen, np.where(flat, 0.0, centred) / np.where(flat, 1.0, spread), np.nan)


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
