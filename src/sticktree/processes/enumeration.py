"""All trees on a few data: the exact reference for every sampler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from sticktree.checks import check_integer
from sticktree.tree import Tree

__all__ = ["enumerate_trees", "set_partitions"]


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
