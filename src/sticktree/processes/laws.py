"""What all laws over trees have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sticktree.checks import FloatArray
from sticktree.tree import Tree

__all__ = ["NextDatum", "TreeLaw"]


@dataclass(frozen=True, eq=False)
class NextDatum:
    """Where the next datum may go, given a tree.

    Attributes
    ----------
    reach : float array, shape (M,)
        Probability that its path passes (or ends in) each node: the paper's p(Δ → ω).
    stop : float array, shape (M,)
        Probability that it ends in each existing node.
    new_branch : float array, shape (M,)
        Probability that it opens a new branch below each node; ``stop`` and ``new_branch``
        together sum to 1.
    """

    reach: FloatArray
    stop: FloatArray
    new_branch: FloatArray


class TreeLaw(Protocol):
    """An exchangeable law over trees with data: sample it, evaluate it, ask what comes next."""

    def sample(self, n: int, rng: np.random.Generator, tree: Tree | None = None) -> Tree:
        """Draw ``n`` data, into an empty tree or behind those of ``tree``."""

    def log_prob(self, tree: Tree) -> float:
        """Return the log probability of a tree with its data."""

    def next_datum(self, tree: Tree) -> NextDatum:
        """Return the probabilities of all that the next datum may do."""


def check_expanded(tree: Tree) -> None:
    """Say which edge skips levels, if any."""
    skipped = np.flatnonzero(tree.level[1:] - tree.level[tree.parent[1:]] != 1) + 1
    if skipped.size:
        raise ValueError(
            f"tree: the edge to node {skipped[0]} skips levels; pass tree.expanded() instead"
        )


def check_levels(tree: Tree, depth: int) -> None:
    """Say which edge, node or datum does not fit a law with all data at level ``depth``."""
    check_expanded(tree)
    wrong = np.flatnonzero(tree.level[tree.leaf] != depth)
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(
            f"tree: datum {i} sits in node {tree.leaf[i]} at level {tree.level[tree.leaf[i]]}, "
            f"but data of this law sit at level {depth}"
        )
    if tree.depth > depth:
        w = int(np.argmax(tree.level))
        raise ValueError(
            f"tree: node {w} has level {tree.level[w]}, but this law ends at level {depth}"
        )


def check_occupied(tree: Tree) -> None:
    """Say which node has no data, if any but the root."""
    empty = np.flatnonzero(tree.count[1:] == 0) + 1
    if empty.size:
        raise ValueError(f"tree: node {empty[0]} has no data; pass tree.pruned() instead")
