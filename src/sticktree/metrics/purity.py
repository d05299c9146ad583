"""How well a tree keeps the classes of its data together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from sticktree.metrics.classes import class_codes
from sticktree.tree import NULL, Tree

__all__ = ["dendrogram_purity"]


def dendrogram_purity(
    tree: Tree,
    labels: Iterable[Any],
    weighting: Literal["pairs", "leaves"] = "pairs",
) -> float:
    """Return the dendrogram purity of a tree, exactly.

    Take two data of one class, and the smallest branch that has both: what share of its data is of
    that class? Purity is the mean of that share. It is 1 if every class has a branch of its own.

    Parameters
    ----------
    tree : Tree
        Any tree: with several children at a node, and with several data in a node, which then
        meet in it.
    labels : sequence of hashable, length N
        The class of each datum. Data whose label is missing (None or NaN) are left out, as if the
        tree did not have them.
    weighting : {"pairs", "leaves"}
        Over what the mean is: ``"pairs"`` takes all pairs of data of one class alike, so that large
        classes count most; ``"leaves"`` picks a datum, then another of its class (Heller and
        Ghahramani 2005), so that a class counts by its number of data. For the latter, data that
        are alone in their class are left out of the mean; they still count in the shares.

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    The work is O(N log N), whatever the depth of the tree and the number of classes.

    References
    ----------
    K. A. Heller and Z. Ghahramani, Bayesian hierarchical clustering, ICML 2005.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.metrics import dendrogram_purity
    >>> tree = Tree.from_paths([(1, 1), (1, 2), (2, 1), (2, 2)])
    >>> dendrogram_purity(tree, ["ape", "ape", "bee", "bee"])
    1.0
    >>> dendrogram_purity(tree, ["ape", "bee", "ape", "bee"])
    0.5
    """
    if not isinstance(tree, Tree):
        raise ValueError(f"tree must be a sticktree.Tree, got {type(tree).__name__}")
    if weighting not in ("pairs", "leaves"):
        raise ValueError(f'weighting must be "pairs" or "leaves", got "{weighting}"')
    codes = class_codes("labels", labels, tree.n_data)
    known = codes != NULL
    codes = codes[known]
    size = np.bincount(codes).astype(np.float64)
    if not (size > 1).any():
        raise ValueError(
            "labels must have at least two data of one class, got "
            f"{size.size} classes of one datum each"
        )
    if weighting == "pairs":
        weight = np.full(size.size, 1.0 / (size * (size - 1) / 2).sum())
    else:
        weight = 2.0 / np.maximum(size - 1, 1) / size[size > 1].sum()

    from sticktree.metrics.shares import sum_of_shares

    return float(min(sum_of_shares(tree.parent.copy(), tree.leaf[known], codes, weight), 1.0))
