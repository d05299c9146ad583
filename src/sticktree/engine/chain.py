"""What every engine offers: chains that sweep, and predictive distributions of their draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.model import Model
from sticktree.tree import Tree

if TYPE_CHECKING:
    from sticktree.engine.bulk.rows import Rows
    from sticktree.engine.draw import Draw

__all__ = ["ChainLike", "ChainMaker", "Engine", "ParallelChainMaker", "Predictive", "SweepInfo"]


@dataclass(frozen=True)
class SweepInfo:
    """What one sweep did."""

    moved: int  # data that changed their leaf
    regrafted: int = 0  # subtrees that changed their place
    split_merged: int = 0  # accepted splits and merges of leaves
    nodes_split: int = 0  # accepted splits and merges of nodes above the leaves
    n_regrafts: int = 0  # of how many
    n_split_merges: int = 0
    n_node_splits: int = 0


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

    def sweep(self) -> SweepInfo:
        """Apply every move."""

    def tree(self) -> Tree:
        """Return the tree as it is now, compressed or not; predictives number its nodes so."""

    def parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all else that predictions need, each of a fixed number of axes."""

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


class ParallelChainMaker(Protocol):
    """The class of chains for many rows, wherever these are."""

    def __call__(self, rows: Rows, model: Model, rng: np.random.Generator) -> ChainLike:
        """Start a chain on standardised rows."""

    def restored(
        self,
        rows: Rows,
        model: Model,
        rng: np.random.Generator,
        snapshot: dict[str, npt.NDArray[Any]],
    ) -> ChainLike:
        """Return a chain that goes on where a snapshot was taken."""

    def following(self, chain: Any, rows: Rows) -> ChainLike:
        """Return a chain that goes on from one of the other kind, which has the same rows."""


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

    def __call__(self, draws: list[Draw], data: FloatArray, model: Model) -> Iterator[Predictive]:
        """Yield the predictive distribution of every draw, given the data it was learned from."""


class Engine(NamedTuple):
    """What differs between engines."""

    chain: ChainMaker
    predictives: PredictiveMaker
