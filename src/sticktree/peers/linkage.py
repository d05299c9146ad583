"""Agglomerative clustering, by scipy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.cluster import hierarchy

from sticktree.checks import FloatArray
from sticktree.peers.tree_peer import TreePeer, row_names
from sticktree.tree import Tree

__all__ = ["LINKAGES", "LinkageTree"]

LINKAGES = ("single", "complete", "average", "weighted", "centroid", "median", "ward")
OF_CENTRES = ("centroid", "median", "ward")


class LinkageTree(TreePeer):
    """Agglomerative clustering: the two nearest clusters are joined, again and again.

    Parameters
    ----------
    method : {"average", "single", "complete", "weighted", "centroid", "median", "ward"}
        What "near" means for two clusters.
    metric : str or callable, default="euclidean"
        Distance of two rows, as scipy's ``pdist`` takes it. The last three methods are defined by
        centres, and take Euclidean distances only.

    Attributes
    ----------
    tree_ : Tree
        The tree, with heights as times, from the root at 0. Joins of one height that are joined
        to each other are one node. Centroids and medians may come nearer as clusters grow: such a
        join is put just above the higher of the two that it joins.
    linkage_ : float array, shape (n_samples − 1, 4)
        What scipy returned.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from sticktree.peers import LinkageTree
    >>> LinkageTree(method="single").fit([[0.0], [1.0], [5.0]]).tree_.time
    array([0., 4., 3., 4., 4.])
    """

    def __init__(
        self,
        *,
        method: str = "average",
        metric: str | Callable[[FloatArray, FloatArray], float] = "euclidean",
    ) -> None:
        self.method = method
        self.metric = metric

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: N803
        """Make the tree of the rows of ``X``.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            The rows, without gaps.
        y : object
            Not used.
        """
        rows = self._read(X)
        if self.method not in LINKAGES:
            known = ", ".join(f'"{method}"' for method in LINKAGES)
            raise ValueError(f"method must be one of {known}, got {self.method!r}")
        if self.method in OF_CENTRES and self.metric != "euclidean":
            raise ValueError(f'metric must be "euclidean" with {self.method}, got {self.metric!r}')
        settings: dict[str, Any] = {"method": self.method, "metric": self.metric}
        self.linkage_: FloatArray = hierarchy.linkage(rows, **settings)
        self.tree_ = Tree.from_linkage(without_inversions(self.linkage_), row_names(X))
        return self


def without_inversions(linkage: FloatArray) -> FloatArray:
    """Return a linkage in which no join lies below what it joins: who joins whom is the same."""
    joins = linkage.copy()
    n = len(joins) + 1
    heights = np.concatenate([np.zeros(n), joins[:, 2]]).tolist()
    for k, (a, b) in enumerate(joins[:, :2].astype(np.int64).tolist()):
        highest = max(heights[a], heights[b])
        if heights[n + k] < highest:
            # Not the same height, which would make one node of the two.
            heights[n + k] = float(np.nextafter(highest, np.inf))
    joins[:, 2] = heights[n:]
    return joins
