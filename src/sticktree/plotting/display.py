"""What pictures ask of a fitted mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.plotting.groups import main_branches
from sticktree.plotting.lettering import one_line
from sticktree.plotting.outline import Rows
from sticktree.plotting.style import CLUSTERS
from sticktree.tree import Tree

__all__ = [
    "check_fitted",
    "check_tree",
    "column_names",
    "data_of",
    "labels_of",
    "names_of_data",
    "read_names",
    "rows_of",
    "tree_of",
]


def check_tree(tree: Any) -> Tree:
    """Return a tree that has data, or say what came instead."""
    if not isinstance(tree, Tree):
        raise TypeError(f"tree must be a sticktree.Tree, got {type(tree).__name__}")
    if tree.n_data == 0:
        raise ValueError("tree must have data, got a tree without any")
    return tree


def check_fitted(estimator: Any) -> Any:
    """Return a mixture that has draws, or say what came instead."""
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be a fitted DFPMixture, got {type(estimator).__name__}")
    check_is_fitted(estimator, "posterior_")
    return estimator


def tree_of(estimator: Any) -> Tree:
    """Return the tree of a fitted mixture."""
    return check_tree(check_fitted(estimator).tree_)


def labels_of(estimator: Any) -> Any:
    """Return the flat cluster of each datum of the tree, if there are colours for all of them.

    Of more than twenty clusters the main branches of the tree take their place.
    """
    labels = np.asarray(estimator.labels_)[rows_of(estimator)]
    if np.unique(labels).size <= len(CLUSTERS):
        return labels
    rows = Rows.of(tree_of(estimator))
    group = np.empty(rows.n_rows)
    group[rows.order] = main_branches(rows)
    return np.where(group < 0, np.nan, group)


def rows_of(estimator: Any) -> npt.NDArray[np.int64]:
    """Return the row of the fit that each datum of the tree is: one of weight 0 is none."""
    rows: npt.NDArray[np.int64] = estimator.fit_.training.fitted_rows
    return rows


def data_of(estimator: Any) -> FloatArray:
    """Return a row for each datum of the tree as the model takes them, but in the user's units.

    Lognormal columns are logarithms, and categories are codes.
    """
    training = check_fitted(estimator).fit_.training
    restored = training.scaling.restored(training.data[training.first_data])
    return np.asarray(restored, dtype=np.float64)


def column_names(estimator: Any) -> list[str]:
    """Return the names of the columns of a fitted mixture: x0, x1, … if its data were an array."""
    columns = estimator.columns_
    if columns.container == "array":
        return [f"x{k}" for k in range(len(columns))]
    return [str(name) for name in columns.names]


def names_of_data(estimator: Any) -> list[str]:
    """Return the names of the columns of :func:`data_of`: those of logarithms say so."""
    pairs = zip(column_names(estimator), estimator.columns_.declared, strict=True)
    return [f"log {name}" if kind == "lognormal" else name for name, kind in pairs]


def read_names(names: Any, tree: Tree) -> list[str] | None:
    """Return a name for each datum: those given, those of the tree if it is True, or none."""
    if names is True:
        names = tree.names
    if names is None or names is False:
        return None
    if isinstance(names, str) or np.ndim(names) != 1 or len(names) != tree.n_data:
        raise ValueError(
            f"names must be True, False or {tree.n_data} texts, one for each datum, got {names!r}"
        )
    return [one_line(name) for name in names]
