"""What a fitted mixture says of the rows it was fitted to: a tree, flat clusters, how sure."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.data.preparation import Preparation
from sticktree.inference.blas import one_thread
from sticktree.inference.parameters import check_level
from sticktree.model import Model
from sticktree.posterior.clusterings import coclustering, confidence, labels_at
from sticktree.posterior.consensus import consensus_tree, meeting_times
from sticktree.posterior.draws import Posterior
from sticktree.posterior.flat import best_level, flat_clustering
from sticktree.posterior.prediction import memberships
from sticktree.tree import Tree

__all__ = ["Clusters"]


AT_ONCE = 2_000_000
"""Up to so many rows a fit ends with summaries; above, they are made when first asked for."""
SUMMARIES = frozenset({"tree_", "level_", "labels_", "confidence_", "_whole_tree", "_flat"})


class Clusters:
    """The part of a mixture that answers about its own rows.

    A row that occurs several times is several data of the draws and one of the answers, and one
    of weight zero is none of the draws' at all.
    """

    level: int | None
    tree_: Tree
    level_: int
    labels_: IntArray
    confidence_: FloatArray
    posterior_: Posterior
    depth_: int
    _model_: Model
    _preparation: Preparation
    _data: FloatArray
    _rows: npt.NDArray[np.int64]  # the row of X that each datum is
    _outside: FloatArray  # the rows of X that are no data
    _whole_tree: Tree  # of the data; tree_ is of rows
    _kept: tuple[npt.NDArray[np.int64], FloatArray] | None = None  # some rows, if not all are here
    _flat: dict[int, IntArray]  # clusters of the data at levels that were asked for

    @property
    def data_(self) -> FloatArray:
        """The rows of the fit as numbers: categories are codes, lognormal columns logarithms."""
        if self._kept is not None:
            raise AttributeError(
                "data_ is for fits of rows in memory; the rows of this one are elsewhere, and "
                "rows_at_hand() has some of them"
            )
        table = np.empty((self._n_rows, self._data.shape[1]))
        table[self._rows] = self._data
        table[self._rows_outside] = self._outside
        return self._preparation.restored(table)

    def rows_at_hand(self) -> tuple[npt.NDArray[np.int64], FloatArray]:
        """Return numbers of rows of the fit, and these rows as in ``data_``.

        They are all rows, or a sample if the rows of the fit are not in memory.
        """
        if self._kept is None:
            return np.arange(self._n_rows), self.data_
        return self._kept[0], self._preparation.restored(self._kept[1])

    @property
    def _n_rows(self) -> int:
        if not len(self._outside):  # then all rows are data, at least once
            return int(self._rows.max()) + 1
        return len(np.unique(self._rows)) + len(self._outside)

    @property
    def _rows_outside(self) -> npt.NDArray[np.int64]:
        if not len(self._outside):
            return np.empty(0, dtype=np.int64)
        return np.setdiff1d(np.arange(self._n_rows), self._rows)

    def _summarise_in_time(self, names: tuple[str, ...] | None) -> None:
        """Set the summaries now, or when they are first asked for if the rows are very many."""
        for name in SUMMARIES:
            self.__dict__.pop(name, None)
        if len(self._rows) > AT_ONCE:
            self._awaiting = names
        else:
            self._summarise(names)

    def __getattr__(self, name: str) -> Any:
        """Make the summaries if one is asked for that was put off."""
        if name not in SUMMARIES or "_awaiting" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        names = self.__dict__.pop("_awaiting")
        try:
            self._summarise(names)
        except BaseException:
            self._awaiting = names
            raise
        return getattr(self, name)

    def _summarise(self, names: tuple[str, ...] | None) -> None:
        """Set the consensus tree, the flat clusters and how sure they are."""
        whole = consensus_tree(self.posterior_.labelled, self.depth_)
        self._whole_tree, self._flat = whole, {}
        kept, first = self._first_data()
        if len(kept) < len(self._rows):
            tree = Tree(whole.parent, whole.leaf[first], time=whole.time, support=whole.support)
            self.tree_ = tree.pruned().compressed()
        else:
            self.tree_ = whole
        if names is not None:
            self.tree_ = self.tree_.annotated(names=[names[row] for row in kept])
        if self.level is None:
            self.level_ = best_level(self.posterior_.labelled, self._model_.depth, whole)
        else:
            self.level_ = self.level
        level = self._level()
        labels = self._labels_at(level)
        self.labels_ = self._of_rows(labels, level)
        certain = confidence(labels, labels_at(self.posterior_.labelled, level))
        self.confidence_ = np.empty(self._n_rows)
        self.confidence_[self._rows] = certain
        if len(self._outside):
            shares = self._memberships(self._outside, labels, level)
            self.confidence_[self._rows_outside] = shares.max(axis=1)

    def cluster(
        self,
        level: int | None = None,
        n_clusters: int | None = None,
        loss: Literal["vi", "binder"] = "vi",
        nested: bool = False,
    ) -> IntArray:
        """Return flat clusters of the rows of the fit: those of least posterior expected loss.

        Parameters
        ----------
        level : int or None, default=None
            Level of the draws' trees whose clusters are to be met. None is that of ``labels_``; if
            ``n_clusters`` is given, it is the level that has about so many branches.
        n_clusters : int or None, default=None
            Exactly so many clusters; None takes as many as lose least.
        loss : {"vi", "binder"}, default="vi"
            Variation of information, or Binder's loss: pairs on which two clusterings disagree.
        nested : bool, default=False
            Only cuts of ``tree_``, so that each cluster is one of its branches.

        Returns
        -------
        int array, shape (n_samples,)
            Numbered from 0, in the order of the tree.

        Examples
        --------
        >>> import numpy as np
        >>> from sticktree import DFPMixture
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(8, 1, (30, 2))])
        >>> mixture = DFPMixture(n_warmup=200, n_draws=200, random_state=0).fit(X)
        >>> np.bincount(mixture.cluster(n_clusters=2))
        array([30, 30])
        """
        check_is_fitted(self)
        if level is None and n_clusters is not None:
            level = self._level_of(check_integer("n_clusters", n_clusters, minimum=1))
        level = self._level(level)
        labels = flat_clustering(
            labels_at(self.posterior_.labelled, level),
            n_clusters=n_clusters,
            loss=loss,
            tree=self._whole_tree,
            nested=nested,
        )
        return self._of_rows(labels, level)

    def coclustering(
        self, rows: npt.ArrayLike | None = None, level: int | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the posterior probability of each pair of rows to be in one cluster at a level.

        Parameters
        ----------
        rows : array of int or None, default=None
            The rows of the fit to compare; None is all.
        level : int or None, default=None
            Level of the tree; None is that of ``labels_``.
        """
        check_is_fitted(self)
        draws = labels_at(self.posterior_.labelled, self._level(level))
        return coclustering(draws, self._data_of(rows))

    def meeting_times(self, rows: npt.ArrayLike | None = None) -> npt.NDArray[np.float32]:
        """Return the posterior mean of the level at which each pair of rows meets."""
        check_is_fitted(self)
        return meeting_times(self.posterior_.labelled, self._data_of(rows))

    def _labels_at(self, level: int) -> IntArray:
        """Return the flat clusters of the data at a level."""
        known: dict[int, IntArray] = self.__dict__.setdefault("_flat", {})  # a file has none
        if level not in known:
            draws = labels_at(self.posterior_.labelled, level)
            known[level] = flat_clustering(draws, tree=self._whole_tree)
        return known[level]

    def _level_of(self, n_clusters: int) -> int:
        """Return the level with about so many branches, in the mean over draws."""
        depth = self._model_.depth
        sizes = np.mean([draw.nodes_per_level(depth) for draw in self.posterior_.draws], axis=0)
        return 1 + int(np.argmin(np.abs(np.log(sizes) - np.log(n_clusters))))

    def _level(self, level: int | None = None) -> int:
        """Return the level asked for, or else the usual one."""
        if level is None:
            return self.level_
        check_level(level, self._model_.depth)
        return level

    def _of_rows(self, labels: IntArray, level: int) -> IntArray:
        """Return labels of the rows from those of the data; others go where they probably are."""
        of_rows = np.empty(self._n_rows, dtype=np.int32)
        # In reverse, so that the first of equal rows decides.
        of_rows[self._rows[::-1]] = labels[::-1]
        if len(self._outside):
            shares = self._memberships(self._outside, labels, level)
            of_rows[self._rows_outside] = shares.argmax(axis=1)
        return of_rows

    def _memberships(self, x: FloatArray, labels: IntArray, level: int) -> FloatArray:
        """Return the probability of new rows to be with each cluster of the data."""
        draws = self.posterior_.labelled
        with one_thread():
            return memberships(x, labels, level, draws, self._data, self._model_)

    def _first_data(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the rows that are data, and the first datum of each."""
        if np.array_equal(self._rows, np.arange(len(self._rows))):  # far faster than to sort
            return self._rows, self._rows
        return np.unique(self._rows, return_index=True)

    def _data_of(self, rows: npt.ArrayLike | None) -> npt.NDArray[np.int64]:
        """Return the first datum of each row asked for."""
        kept, first = self._first_data()
        if rows is None:
            return first
        asked = np.asarray(rows)
        known = np.issubdtype(asked.dtype, np.integer) and np.isin(asked, kept)
        if asked.ndim != 1 or not np.all(known):
            raise ValueError(
                f"rows must be numbers of rows that were fitted, from 0 to {self._n_rows - 1}, "
                f"got {rows!r}"
            )
        return first[np.searchsorted(kept, asked)]
