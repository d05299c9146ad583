"""What every engine offers: moves, chains that sweep, and predictive distributions of draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.draw import Draw
from sticktree.model import Model
from sticktree.tree import Tree

MOST_MOVES = 32  # of a kind whose number grows with the tree, in one sweep


SweepInfo = dict[str, tuple[int, int]]
"""What one sweep did: by the name of each move, how many were accepted, and of how many."""


@dataclass(frozen=True)
class Move:
    """A move, and how often a sweep applies it.

    ``kernel(count)`` proposes ``count`` times and returns how many proposals were accepted; a move
    that always accepts returns ``count``. The count may depend on the number of rows, on the depth,
    and on what warm-up found, but never on the state: see `Effort`.
    """

    name: str
    kernel: Callable[[int], int]
    count: int = 1


def apply_moves(moves: Iterable[Move]) -> SweepInfo:
    """Apply moves one after the other."""
    return {move.name: (int(move.kernel(move.count)), move.count) for move in moves}


@dataclass
class Effort:
    """How often a sweep applies the moves of which large trees need more.

    Were the counts to follow the present tree, a sweep would not keep the posterior: a tree that
    few moves can leave would be favoured. So they are made from the size of one tree, the first
    one, and then of those that warm-up has before its sweeps number 1, 2, 4, 8, …; afterwards they
    stay.

    Attributes
    ----------
    size : int
        The number of nodes, or of leaves, that the counts are made for.
    n_tuned : int
        Number of sweeps of warm-up so far.
    """

    size: int
    n_tuned: int = 0

    def tune(self, size: int) -> None:
        """Take note that a sweep of warm-up begins on a tree of this size."""
        self.n_tuned += 1
        if self.n_tuned & (self.n_tuned - 1) == 0:
            self.size = size

    def count(self, share: int, most: int = MOST_MOVES) -> int:
        """Return two, and one more for every ``share`` nodes, but no more than ``most``."""
        return min(2 + self.size // share, most)

    def snapshot(self) -> npt.NDArray[np.int64]:
        """Return all as an array."""
        return np.array([self.size, self.n_tuned], dtype=np.int64)

    @classmethod
    def restored(cls, saved: npt.NDArray[Any] | None, size: int) -> Effort:
        """Return the effort of a snapshot, or if it has none that of a tree of this size."""
        return cls(size) if saved is None else cls(*map(int, saved))


class ChainLike(Protocol):
    """A Markov chain over trees and parameters.

    ``traced`` names those of its parameters by which convergence is judged: numbers, or arrays
    whose shape is the same in every draw and whose entries have a fixed meaning.
    """

    model: Model
    rng: np.random.Generator
    traced: tuple[str, ...]

    @property
    def concentration(self) -> float:
        """The factor c of the concentrations."""

    @property
    def discount(self) -> float:
        """The Pitman–Yor discount d."""

    def sweep(self, tune: bool = False) -> SweepInfo:
        """Apply every move; ``tune`` in warm-up, where their numbers may still change."""

    def tree(self) -> Tree:
        """Return the tree as it is now, compressed or not; predictives number its nodes so."""

    def parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all else that predictions need, each of a fixed number of axes."""

    def draw(self, labelled: bool = True) -> Draw:
        """Return a copy of all; chains for many rows may leave out where each row sits."""

    def log_joint(self) -> float:
        """Return the log density of data, tree and parameters, in standardised units."""

    def leave_one_out(self) -> FloatArray:
        """Return the log density of what is observed of each row given all other rows."""

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that it takes to go on with the identical draws, but data and ``rng``."""


class ChainMaker(Protocol):
    """The class of an engine's chains."""

    def __call__(self, data: FloatArray, model: Model, rng: np.random.Generator) -> ChainLike:
        """Start a chain on standardised data."""

    def restored(
        self,
        data: FloatArray,
        model: Model,
        rng: np.random.Generator,
        snapshot: dict[str, npt.NDArray[Any]],
    ) -> ChainLike:
        """Return a chain that goes on where a snapshot was taken."""


class Predictive(Protocol):
    """The predictive distribution of the next row given one draw: a mixture of K components.

    Rows are in standardised units and may have missing entries (NaN).
    """

    @property
    def node(self) -> IntArray:
        """The node of the draw's tree that each component hangs on or is, shape (K,)."""

    @property
    def level(self) -> IntArray:
        """Where each new branch starts, shape (K,); the last level for an existing leaf."""

    def log_density(self, x: FloatArray) -> FloatArray:
        """Return the log density of the observed entries of every row; 0 if there are none."""

    def responsibilities(self, x: FloatArray) -> FloatArray:
        """Return the probability that each row comes from each component, shape (n, K)."""

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` rows."""

    def conditional_mean(self, x: FloatArray) -> FloatArray:
        """Return ``x`` with the mean of what is missing given what is observed."""

    def conditional_sample(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return ``x`` with a draw of what is missing given what is observed."""

    def leave_one_out(self) -> FloatArray:
        """Return the log density of what is observed of each row of the data given all others."""


class PredictiveMaker(Protocol):
    """What rebuilds the predictive distributions of draws."""

    def __call__(
        self, draws: list[Draw], data: FloatArray, model: Model, group: int | None = None
    ) -> Iterator[Predictive]:
        """Yield the predictive distribution of every draw, given the data it was learned from.

        If the data belong to groups, it is that of the next row of a group, by default a new one.
        """


class Engine(NamedTuple):
    """What differs between engines."""

    chain: ChainMaker
    predictives: PredictiveMaker
