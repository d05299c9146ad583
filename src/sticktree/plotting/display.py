"""What pictures ask of a fitted mixture."""

from __future__ import annotations

from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.plotting.lettering import one_line
from sticktree.tree import Tree

__all__ = ["check_fitted", "check_tree", "data_of", "labels_of", "read_names", "tree_of"]


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


def labels_of(estimator: Any, tree: Tree) -> Any:
    """Return the flat clusters of a fitted mixture; none, if it has rows that the tree has not."""
    labels = np.asarray(estimator.labels_)
    return labels if labels.size == tree.n_data else None


def data_of(estimator: Any) -> FloatArray:
    """Return the rows of the fit in the user's units."""
    return np.asarray(check_fitted(estimator).data_, dtype=np.float64)


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
