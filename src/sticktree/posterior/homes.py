"""Clusters as a draw has them: which of its leaves are of which cluster.

Labels are one answer for all draws. Where clusters overlap, draws differ about rows at the border,
and so does what is inferred of groups from them: in a draw, a row belongs to the cluster that its
leaf is of, whatever its label. Labels of border rows would be shared out among groups in the same
proportions, and draw the shares of groups to one another.

A leaf is of the cluster that most of its rows are labelled with. A cluster is at home in a draw if
at least half of its rows are in leaves that are of it. One that is not is not told apart in that
draw: it has the rows that are labelled so, in leaves of others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.draw import Draw

AT_HOME = 0.5  # least share of a cluster's rows that are in leaves of it


class Homes(NamedTuple):
    """Of a draw: the cluster of every leaf, which ones are at home, and what data they have."""

    of_leaf: npt.NDArray[np.int64]  # (nodes,)
    at_home: npt.NDArray[np.bool_]  # (clusters,)
    counts: FloatArray  # (nodes, clusters) of the data of each leaf

    @classmethod
    def of(cls, draw: Draw, labels: IntArray, n_clusters: int) -> Homes:
        """Find them for a draw, whose data have labels.

        Examples
        --------
        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> from sticktree.posterior.homes import Homes
        >>> draw = SimpleNamespace(leaf=np.array([1, 1, 1, 2, 2, 2]), parent=np.array([-1, 0, 0]))
        >>> homes = Homes.of(draw, np.array([0, 0, 1, 1, 1, 2]), 3)
        >>> homes.of_leaf, homes.at_home
        (array([0, 0, 1]), array([ True,  True, False]))
        >>> homes.counts[1:]
        array([[3., 0., 0.],
               [0., 2., 1.]])
        """
        shape = draw.parent.size, n_clusters
        index = draw.leaf.astype(np.int64) * n_clusters + labels
        labelled = np.bincount(index, minlength=shape[0] * n_clusters).reshape(shape)
        of_leaf = labelled.argmax(axis=1)
        own = np.bincount(of_leaf, labelled.max(axis=1), minlength=n_clusters)
        at_home = own >= AT_HOME * labelled.sum(axis=0)
        counts = np.where(at_home, 0.0, labelled)
        np.add.at(counts, (np.arange(shape[0]), of_leaf), (labelled * at_home).sum(axis=1))
        return cls(of_leaf, at_home, counts)

    def clusters(self, leaf: npt.NDArray[np.integer], labels: IntArray) -> IntArray:
        """Return the clusters, in this draw, of data in these leaves with these labels."""
        return np.where(self.at_home[labels], self.of_leaf[leaf], labels).astype(np.int32)
