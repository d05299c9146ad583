"""The columns of the page: their values, and the tree of them above the heat map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.data.readable import ReadableTable
from sticktree.engine.own.kinds import KINDS
from sticktree.plotting.columns import correlation_linkage
from sticktree.report.markup import packed, packed_column
from sticktree.tree import NULL

COUNTS = ("poisson", "negative_binomial")

Scale = Literal["linear", "log", "log1p"]
Slots = Callable[[npt.NDArray[np.int64], int], list[int]]
"""What gives places in the palette to codes of so many categories."""


def packed_columns(rows: ReadableTable, slots: Slots) -> list[dict[str, Any]]:
    """Return the columns with their values, and by what the heat map colours them."""
    return [
        {
            "name": name,
            "kind": rows.declared[d],
            "categories": list(rows.categories[d]) or None,
            "slots": slots(_codes(rows.values[:, d]), len(rows.categories[d]))
            if rows.categories[d]
            else None,
            "heat": scale_of(rows, d),
            **packed_column(rows.values[:, d]),
        }
        for d, name in enumerate(rows.names)
    ]


def _codes(values: FloatArray) -> npt.NDArray[np.int64]:
    """Return categories as integers, −1 where they are missing."""
    return np.nan_to_num(values, nan=NULL).astype(np.int64)


def scale_of(rows: ReadableTable, d: int) -> Scale:
    """Return on which scale the distances of a column are seen best: of counts, log(1 + x)."""
    kind, values = rows.declared[d], rows.values[:, d]
    if KINDS[kind].is_log and not (values <= 0).any():
        return "log"
    return "log1p" if kind in COUNTS and not (values < 0).any() else "linear"


def column_tree(rows: ReadableTable, first_axis: FloatArray) -> dict[str, Any] | None:
    """Return the average linkage of columns by correlation, and their order; None for one column.

    A category counts as the mean of its rows on the first principal axis.
    """
    values = np.stack([_as_numbers(rows, d, first_axis) for d in range(len(rows.names))], axis=1)
    linkage = correlation_linkage(values)
    if linkage is None:
        return None
    from scipy.cluster.hierarchy import leaves_list

    return {
        "order": packed(leaves_list(linkage), "int32"),
        "joins": packed(linkage[:, :2], "int32"),
        "height": packed(linkage[:, 2], "float32"),
    }


def _as_numbers(rows: ReadableTable, d: int, first_axis: FloatArray) -> npt.NDArray[np.float64]:
    values, scale = rows.values[:, d], scale_of(rows, d)
    if scale != "linear":
        return np.log(values) if scale == "log" else np.log1p(values)
    n_categories = len(rows.categories[d])
    if not n_categories:
        return values
    seen = ~np.isnan(values)
    code = values[seen].astype(np.int64)
    sums = np.bincount(code, first_axis[seen], minlength=n_categories)
    result = np.full(values.size, np.nan)
    result[seen] = (sums / np.maximum(np.bincount(code, minlength=n_categories), 1))[code]
    return result
