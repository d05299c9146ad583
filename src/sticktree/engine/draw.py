"""One draw of a tree and parameters, kept compactly."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.tree import NULL, Tree

N_TRACKED = 12


@lru_cache(maxsize=8)
def tracked_pairs(n_data: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of rows, spread over the data, whose meetings are followed.

    They are the same for all draws of so many rows.
    """
    rows = np.random.default_rng(0).integers(n_data, size=(2, N_TRACKED)).astype(np.int32)
    return rows[0], rows[1]


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw from the posterior.

    Of many rows, only some draws keep where each of them sits; see :attr:`labelled`.

    Attributes
    ----------
    leaf, parent, level : unsigned integer arrays
        The tree, compressed, in the smallest integers that hold it; see :attr:`tree`. ``leaf`` is
        empty in a draw without labels.
    parameters : dict of arrays
        All else that is learned and that predictions need; which there are depends on the model.
    traced : tuple of str
        The names of the parameters by which convergence is judged.
    concentration, discount, log_joint : float
        c, d, and the log density of data, tree and parameters.
    n_data : int
        Number of rows; by default as many as there are labels.
    counts : int64 array or None
        Number of rows at or below each node; None if ``leaf`` tells.
    meeting_level : float or None
        Mean level at which the rows of :func:`tracked_pairs` meet; None if ``leaf`` tells.
    labelled : bool
        Whether the draw has kept where each row sits.
    """

    leaf: npt.NDArray[Any]
    parent: npt.NDArray[Any]
    level: npt.NDArray[Any]
    parameters: dict[str, npt.NDArray[Any]]
    traced: tuple[str, ...]
    concentration: float
    discount: float
    log_joint: float
    n_data: int = NULL
    counts: npt.NDArray[np.int64] | None = None
    meeting_level: float | None = None
    labelled: bool = field(init=False)

    def __post_init__(self) -> None:
        """Fill in the number of rows, or raise if it is not that of the labels."""
        if self.n_data == NULL:
            object.__setattr__(self, "n_data", int(self.leaf.size))
        elif self.leaf.size not in (0, self.n_data):
            raise ValueError(
                f"leaf must have an entry for each of {self.n_data} rows, or none, got "
                f"{self.leaf.size}"
            )
        object.__setattr__(self, "labelled", self.leaf.size == self.n_data)

    def without_labels(self) -> Draw:
        """Return the draw without its labels, but with what convergence is judged by.

        Examples
        --------
        >>> import numpy as np
        >>> draw = Draw(
        ...     leaf=np.array([1, 1, 2]), parent=np.array([0, 0, 0]), level=np.array([0, 1, 1]),
        ...     parameters={}, traced=(), concentration=1.0, discount=0.0, log_joint=0.0,
        ... )
        >>> small = draw.without_labels()
        >>> small.labelled, small.n_data, small.counts
        (False, 3, array([3, 2, 1]))
        """
        return replace(
            self,
            leaf=self.leaf[:0].copy(),
            counts=self.rows_below(),
            meeting_level=self.tracked_level(),
        )

    def rows_below(self) -> npt.NDArray[np.int64]:
        """Return the number of rows at or below each node."""
        if self.counts is not None:
            return self.counts
        self._check_labelled("rows_below()")
        total = np.bincount(self.leaf, minlength=self.parent.size).astype(np.int64)
        for node in range(self.parent.size - 1, 0, -1):
            total[self.parent[node]] += total[node]
        return total

    def tracked_level(self) -> float:
        """Return the mean level at which the tracked pairs of rows meet."""
        if self.meeting_level is not None:
            return self.meeting_level
        self._check_labelled("tracked_level()")
        first, second = (self.leaf[rows].tolist() for rows in tracked_pairs(self.n_data))
        levels = [self._meeting_level(a, b) for a, b in zip(first, second, strict=True)]
        return float(np.mean(levels))

    def _meeting_level(self, a: int, b: int) -> int:
        while a != b:  # the larger id is not above the other
            a, b = (int(self.parent[a]), b) if a > b else (a, int(self.parent[b]))
        return int(self.level[a])

    def _check_labelled(self, asked: str) -> None:
        if not self.labelled:
            raise ValueError(
                f"{asked} needs the labels of the {self.n_data:,} rows, which this draw has not "
                "kept: use the draws of Posterior.labelled; parent, level, rows_below() and "
                "parameters are there without labels"
            )

    @property
    def tree(self) -> Tree:
        """The tree of the draw, compressed: branching nodes and leaves; only if it is labelled."""
        self._check_labelled("tree")
        parent = self.parent.astype(np.int32)
        parent[0] = -1
        return Tree(parent, self.leaf.astype(np.int32), level=self.level.astype(np.int32))

    @property
    def nbytes(self) -> int:
        """Size of its arrays in memory."""
        arrays = [self.leaf, self.parent, self.level, *self.parameters.values()]
        if self.counts is not None:
            arrays.append(self.counts)
        return sum(array.nbytes for array in arrays) + 24

    def nodes_per_level(self, depth: int) -> IntArray:
        """Return how many nodes the tree has at levels 1 to ``depth``, with those on edges."""
        level = self.level.astype(np.int64)
        above = level[self.parent]
        ends = np.zeros(depth + 2, dtype=np.int64)
        np.add.at(ends, above[1:] + 1, 1)
        np.add.at(ends, level[1:] + 1, -1)
        return np.cumsum(ends)[1 : depth + 1].astype(np.int32)
