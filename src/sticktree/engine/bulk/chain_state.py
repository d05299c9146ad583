"""What is common to all parts of a chain for many rows: its state, and what its noise decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.leaf import Density, Leaf, LeafLaw, Sums
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.sums import Grid
from sticktree.engine.bulk.tally import Tally
from sticktree.engine.chain import ChainLike, Effort, Move
from sticktree.engine.common.links import DISCOUNT, TreeState
from sticktree.engine.common.random import RandomState
from sticktree.model import Model

__all__ = ["ChainState"]


class ChainState:
    """A chain for many rows, without its moves: leaves with sums and anchors, below some tree."""

    model: Model
    rng: np.random.Generator
    words: RandomState
    rows: Rows
    kind: int  # which sums are needed
    impute: bool  # whether missing entries are drawn
    grids: tuple[Grid, Grid]  # on which entries and their products are summed
    words_told: npt.NDArray[np.uint64]  # of the sweep, as in `Components`
    effort: Effort
    state: TreeState
    leaves: npt.NDArray[np.int64]  # nodes that are leaves, in the order of all that follows
    sums: Sums  # of each leaf, in standardised units
    anchor: npt.NDArray[np.uint64]  # of each leaf
    rank: npt.NDArray[np.uint64]  # of the anchors
    of_leaf: npt.NDArray[np.int64]  # nodes that the leaves of the last pass are, as `Rows.labels`
    of_half: npt.NDArray[np.int64]  # asks for them
    traced: tuple[str, ...]

    def _first_chain(self, y: FloatArray) -> ChainLike:
        """Return a chain of the other kind on some rows."""
        raise NotImplementedError

    def _take_over(self, chain: Any, number: npt.NDArray[np.uint64]) -> None:
        """Start from the tree of a chain of the other kind, whose rows have these numbers."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Take the sums over into the tree."""
        raise NotImplementedError

    def _draw_leaves(self) -> tuple[Leaf, FloatArray]:
        """Draw the parameters of every leaf, and φ of the level above."""
        raise NotImplementedError

    def _law(self) -> LeafLaw:
        """Return the law of the leaves as it is now."""
        raise NotImplementedError

    def _transform(self) -> FloatArray:
        """Return T, by which rows are brought into the coordinates of the leaves."""
        raise NotImplementedError

    def _in_coordinates(self, sums: Sums) -> Sums:
        """Return sums in the coordinates of the leaves."""
        raise NotImplementedError

    def _rows_in_coordinates(self, y: FloatArray) -> FloatArray:
        """Return rows in the coordinates of the leaves."""
        return np.asarray(y @ self._transform().T)

    def _siblings(self) -> tuple[IntArray, IntArray]:
        """Return a number for the place above each leaf, and how many leaves hang there."""
        raise NotImplementedError

    def _make_room(self, n_leaves: int) -> None:
        """Move to a larger state if this one has no room for so many leaves."""
        raise NotImplementedError

    def _split(self, leaf: int) -> int:
        """Return a new leaf beside a leaf."""
        raise NotImplementedError

    def _merge(self, leaf: int, gone: int) -> None:
        """Take a leaf away whose rows its sibling gets."""
        raise NotImplementedError

    def _moves_of_tree(self) -> list[Move]:
        """Return the moves of the tree and of all parameters given the sums."""
        raise NotImplementedError

    @property
    def concentration(self) -> float:
        """The factor c of the concentrations."""
        raise NotImplementedError

    @property
    def discount(self) -> float:
        """The Pitman–Yor discount d."""
        raise NotImplementedError

    def parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all that is learned besides the tree, c and d."""
        raise NotImplementedError

    def log_joint(self) -> float:
        """Return the log density of data, tree and parameters, in standardised units."""
        raise NotImplementedError

    def _last_prior(self) -> tuple[float, float]:
        """Return α of the level above the leaves, and d."""
        alpha = self.state.levels["alpha"][self.model.depth - 1]
        return float(alpha), float(self.state.scalars[DISCOUNT])

    def _sums(self, tally: Tally) -> Sums:
        return Sums.of(tally, self.kind, *self.grids)

    def _told(self, log_weight: FloatArray, density: Density) -> Components:
        """Return what rows are told: densities with weights."""
        return Components(
            log_weight=log_weight + density.log_peak,
            centre=np.ascontiguousarray(density.centre),
            precision=np.ascontiguousarray(density.precision),
            transform=np.ascontiguousarray(self._transform()),
            root=np.ascontiguousarray(density.root),
            limit=self.rank,
            anchor=self.anchor,
            words=self.words_told,
            kind=self.kind,
            impute=self.impute,
            grid=np.array([step for grid in self.grids for step in (grid.coarse, grid.fine)]),
        )
