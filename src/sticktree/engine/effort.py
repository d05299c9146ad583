"""How many moves a sweep makes of those whose number grows with the tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Effort"]

MOST_MOVES = 30  # of a kind, in one sweep


@dataclass
class Effort:
    """Numbers of moves, which follow the size of the tree at sweeps 1, 2, 4, 8 and so on.

    Were they to follow it at every sweep, trees at which more moves are made would be left more
    often than they are reached, and the posterior would not be kept. Ever more seldom is sound.
    """

    n_sweeps: int = 0
    n_regrafts: int = 0
    n_splits: int = 0

    def next(self, n_nodes: int) -> Effort:
        """Count one more sweep, of a tree with so many nodes."""
        self.n_sweeps += 1
        if self.n_sweeps & (self.n_sweeps - 1) == 0:
            self.n_regrafts = 2 + min(n_nodes // 4, MOST_MOVES)
            self.n_splits = 2 + min(n_nodes // 8, MOST_MOVES)
        return self

    def saved(self) -> npt.NDArray[np.int64]:
        """Return the numbers as an array."""
        return np.array([self.n_sweeps, self.n_regrafts, self.n_splits], dtype=np.int64)

    @classmethod
    def restored(cls, numbers: npt.NDArray[np.int64] | None) -> Effort:
        """Return what was saved; None is a file from before there was such an array."""
        return cls() if numbers is None else cls(*map(int, numbers))
