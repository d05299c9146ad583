"""Data of groups come to a franchise of nested restaurants, one after another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.tree import NULL, Tree


class Franchise:
    """A tree that grows as data come, with the data and tables of each group at every node.

    Parameters
    ----------
    alpha, gamma : sequences of float
        Concentrations of the shared sticks and of the groups, for each level.
    discount : float
        d.
    rng : numpy.random.Generator
        Source of randomness.
    """

    def __init__(
        self,
        alpha: Sequence[float] | FloatArray,
        gamma: Sequence[float] | FloatArray,
        discount: float,
        rng: np.random.Generator,
    ) -> None:
        self.alpha, self.gamma = [float(a) for a in alpha], [float(g) for g in gamma]
        self.discount, self.rng = discount, rng
        self.parent: list[int] = []
        self.children: list[list[int]] = []
        self.counts: list[dict[int, int]] = []  # data of each group
        self.opened: list[dict[int, int]] = []  # tables of each group, at the edge above
        self._make(NULL)

    def _make(self, parent: int) -> int:
        node = len(self.parent)
        self.parent.append(parent)
        self.children.append([])
        self.counts.append({})
        self.opened.append({})
        if parent != NULL:
            self.children[parent].append(node)
        return node

    def resume(self, tree: Tree, counts: IntArray, tables: IntArray) -> None:
        """Take over a tree with its data and tables; its nodes keep their numbers."""
        for node in range(tree.n_nodes):
            if node:
                self._make(int(tree.parent[node]))
            self.counts[node] = {int(j): int(counts[node, j]) for j in np.flatnonzero(counts[node])}
            self.opened[node] = {int(j): int(tables[node, j]) for j in np.flatnonzero(tables[node])}

    def seat(self, group: int) -> int:
        """Let a datum come and go down to a leaf; return the leaf."""
        node = 0
        for alpha, gamma in zip(self.alpha, self.gamma, strict=True):
            n = self.counts[node].get(group, 0)
            self.counts[node][group] = n + 1
            alone = gamma == np.inf or self.rng.random() * (n + gamma) >= n
            if n == 0 or alone:  # at a table of its own, which chooses the child
                child = self._choose_for_table(node, alpha)
                self.opened[child][group] = self.opened[child].get(group, 0) + 1
            else:
                here = [k for k in self.children[node] if group in self.counts[k]]
                child = self._choose(here, [self.counts[k][group] for k in here])
            node = child
        self.counts[node][group] = self.counts[node].get(group, 0) + 1
        return node

    def _choose_for_table(self, node: int, alpha: float) -> int:
        children = self.children[node]
        if not children:
            return self._make(node)
        weights = [sum(self.opened[k].values()) - self.discount for k in children]
        chosen = self._choose([*children, NULL], [*weights, alpha + self.discount * len(children)])
        return self._make(node) if chosen == NULL else chosen

    def _choose(self, nodes: list[int], weights: Sequence[float]) -> int:
        upto = list(accumulate(weights))
        place = bisect_right(upto, self.rng.random() * upto[-1])
        return nodes[min(place, len(nodes) - 1)]

    def tables(self, n_groups: int) -> IntArray:
        """Return the tables of each group at the edge to each node, shape (M, J)."""
        out = np.zeros((len(self.parent), n_groups), dtype=np.int32)
        for node, opened in enumerate(self.opened):
            for group, many in opened.items():
                out[node, group] = many
        return out
