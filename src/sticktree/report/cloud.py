"""Where to draw each row: the data themselves up to two columns, else their principal axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.data.readable import ReadableTable
from sticktree.engine.own.kinds import KINDS
from sticktree.fit import Averaging, Fit
from sticktree.present.table import principal_axes
from sticktree.report.markup import packed, packed_column

CURVE_POINTS = 240
MAP_SIDE = 80
MOST_DRAWS = 120  # whose densities are averaged; more change no pixel
MARGIN = 0.06  # of the range, left free around the data
AXIS_NAMES = 3  # columns that an axis is named after


def cloud(fit: Fit, averaging: Averaging, rows: ReadableTable) -> dict[str, Any]:
    """Return places of the rows and, for one or two continuous columns, the predictive density."""
    if len(rows.names) > 2:
        return _on_principal_axes(rows)
    axes = [_Axis(rows, d) for d in range(len(rows.names))]
    content: dict[str, Any] = {
        "kind": "line" if len(axes) == 1 else "plane",
        "axes": [axis.described() for axis in axes],
        "places": [packed_column(axis.places) for axis in axes],
        "density": None,
    }
    if all(axis.continuous for axis in axes) and len(fit.posterior):
        content["density"] = _density(fit, averaging, axes)
    return content


class _Axis:
    """A column as an axis: logarithmic if it is lognormal."""

    def __init__(self, rows: ReadableTable, d: int) -> None:
        self.label = rows.names[d]
        kind = KINDS[rows.declared[d]]
        self.log = kind.is_log
        self.continuous = kind.likelihood.is_continuous
        self.categories = rows.categories[d]
        self.places = rows.values[:, d]
        if self.log:
            self.places = np.log10(self.places)
        seen = self.places[~np.isnan(self.places)]
        low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
        if high == low:
            low, high = low - max(abs(low), 1.0) * 0.5, high + max(abs(high), 1.0) * 0.5
        gap = MARGIN * (high - low)
        self.low, self.high = low - gap, high + gap

    def described(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "log": self.log,
            "categories": list(self.categories) or None,
            "low": self.low,
            "high": self.high,
        }


def _density(fit: Fit, averaging: Averaging, axes: list[_Axis]) -> dict[str, Any]:
    """Return the predictive density on a grid."""
    n_points = CURVE_POINTS if len(axes) == 1 else MAP_SIDE
    sides = [
        axis.low + (np.arange(n_points) + 0.5) / n_points * (axis.high - axis.low) for axis in axes
    ]
    grid = np.stack([side.ravel() for side in np.meshgrid(*sides)], axis=1)
    log_density = _log_predictive(fit, averaging, axes, grid)
    if len(axes) == 1:
        density = np.exp(log_density)
        return {"points": n_points, "values": packed(density, "float32")}
    relative = np.exp((log_density - log_density.max()) / 2)  # the root: pale parts stay visible
    return {"points": n_points, "values": packed(np.round(255 * relative), "uint8")}


def _log_predictive(
    fit: Fit, averaging: Averaging, axes: list[_Axis], grid: FloatArray
) -> FloatArray:
    """Return log densities of places on the axes, with respect to these places."""
    logs = np.array([axis.log for axis in axes])
    encoded = np.where(logs, grid * np.log(10.0), grid)
    scaling = fit.training.scaling
    predictive = fit.predictive(averaging).thinned(MOST_DRAWS)
    log_density = predictive.log_density(scaling.standardised(encoded))
    units = np.log(scaling.spread).sum() - logs.sum() * np.log(np.log(10.0))
    return np.asarray(log_density - units)


def _on_principal_axes(rows: ReadableTable) -> dict[str, Any]:
    places, share, weight = axes_of_table(rows)
    axes = []
    for k in range(2):
        column = places[:, k]
        low, high = float(column.min()), float(column.max())
        if high == low:
            low, high = low - 1.0, high + 1.0
        gap = MARGIN * (high - low)
        chief = np.argsort(-weight[k], kind="stable")[:AXIS_NAMES]
        named = [rows.names[d] for d in chief if weight[k, d] > 0]
        axes.append(
            {
                "label": f"principal axis {k + 1}",
                "share": float(share[k]),
                "chief": named,
                "log": False,
                "categories": None,
                "low": low - gap,
                "high": high + gap,
            }
        )
    return {
        "kind": "axes",
        "axes": axes,
        "places": [packed_column(places[:, k]) for k in range(2)],
        "density": None,
    }


def axes_of_table(rows: ReadableTable) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows on the first two principal axes of the standardised columns.

    Missing entries count as means. A column of categories is an indicator for each category,
    scaled so that the column weighs as much as any other.

    Returns
    -------
    places : float array, shape (N, 2)
    share : float array, shape (2,)
        The share of the variance on each axis.
    weight : float array, shape (2, D)
        The part of each column in each axis.
    """
    blocks, owner = [], []
    for d, categories in enumerate(rows.categories):
        if categories:
            codes = rows.values[:, d]
            block = (codes[:, None] == np.arange(len(categories))).astype(float)
            block[np.isnan(codes)] = np.nan
            seen = ~np.isnan(block)
            block = block - np.where(seen, block, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
            block = np.where(seen, block, 0.0)
            total = np.sqrt((block**2).sum() / max(len(block), 1))
            blocks.append(block / (total if total > 0 else 1.0))
        else:
            away = rows.distances[:, d : d + 1]
            blocks.append(np.where(np.isnan(away), 0.0, away))
        owner += [d] * blocks[-1].shape[1]
    places, share, direction = principal_axes(np.hstack(blocks))
    weight = np.zeros((2, len(rows.names)))
    if share.any():
        np.add.at(weight.T, owner, direction**2)
    return places, share, weight
