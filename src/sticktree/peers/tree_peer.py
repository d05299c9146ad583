"""What all trees of the peers have in common: how rows are read, and their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from sticktree.checks import FloatArray
from sticktree.tree import Tree

__all__ = ["TreePeer", "row_names"]


class TreePeer(BaseEstimator):  # type: ignore[misc]
    """A method that makes a tree of the rows; the rows of a data frame keep their names."""

    tree_: Tree

    def _read(self, X: npt.ArrayLike, *, reset: bool = True) -> FloatArray:  # noqa: N803
        rows: FloatArray = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_min_samples=2 if reset else 1
        )
        return rows


def row_names(X: Any) -> tuple[str, ...] | None:  # noqa: N803
    """Return the names of the rows of a data frame, unless they are only numbered."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return tuple(map(str, index))
