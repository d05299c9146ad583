"""What all laws over trees have in common, and all trees on a few data, their exact reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np

from sticktree.checks import FloatArray, check_integer
from sticktree.tree import NULL, Tree

EMPTY = Tree([NULL])
"""A root without data, where every tree begins."""


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
        """Draw ``n`` data, into an empty tree or after those of ``tree``."""

    def log_prob(self, tree: Tree) -> float:
        """Return the log probability of a tree with its data."""

    def next_datum(self, tree: Tree) -> NextDatum:
        """Return the probabilities of all that the next datum may do."""


def check_expanded(tree: Tree) -> None:
    """Raise if an edge skips levels."""
    skipped = np.flatnonzero(tree.level[1:] - tree.level[tree.parent[1:]] != 1) + 1
    if skipped.size:
        raise ValueError(
            f"tree: the edge to node {skipped[0]} skips levels; pass tree.expanded() instead"
        )


def check_levels(tree: Tree, depth: int) -> None:
    """Raise if an edge, node or datum does not fit a law with all data at level ``depth``."""
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
    """Raise if a node other than the root has no data."""
    empty = np.flatnonzero(tree.count[1:] == 0) + 1
    if empty.size:
        raise ValueError(f"tree: node {empty[0]} has no data; pass tree.pruned() instead")


def set_partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield every partition of ``items`` into non-empty blocks, blocks by first item.

    Examples
    --------
    >>> from sticktree.processes import set_partitions
    >>> sum(1 for _ in set_partitions(range(4)))
    15
    """
    if not items:
        yield []
        return
    *rest, last = items
    for blocks in set_partitions(rest):
        for k in range(len(blocks)):
            yield [*blocks[:k], [*blocks[k], last], *blocks[k + 1 :]]
        yield [*blocks, [last]]


def enumerate_trees(n: int, depth: int) -> Iterator[Tree]:
    """Yield every tree of ``n`` data with all leaves at level ``depth``, each once, canonical.

    Examples
    --------
    >>> from sticktree.processes import enumerate_trees
    >>> [sum(1 for _ in enumerate_trees(4, depth)) for depth in (1, 2, 3)]
    [15, 60, 154]
    """
    n = check_integer("n", n, minimum=0)
    depth = check_integer("depth", depth, minimum=1)
    for assignment in _paths(list(range(n)), depth):
        yield Tree.from_paths([assignment[i] for i in range(n)]).canonical()


def _paths(data: list[int], depth: int) -> Iterator[dict[int, tuple[int, ...]]]:
    """Yield the indices of the data in every tree on them."""
    if depth == 0:
        yield dict.fromkeys(data, ())
        return
    for blocks in set_partitions(data):
        for below in product(*(list(_paths(block, depth - 1)) for block in blocks)):
            yield {
                i: (k, *path)
                for k, branch in enumerate(below, start=1)
                for i, path in branch.items()
            }
