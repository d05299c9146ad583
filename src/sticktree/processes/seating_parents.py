"""Data of groups with parents come to a franchise of nested restaurants, one after another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.tree import NULL, Tree


class ParentedFranchise:
    """A tree that grows as data come; tables of a group are customers of its parent, or of all.

    Parameters
    ----------
    alpha : sequence of float
        Concentrations of the shared sticks, for each level.
    gamma, kappa : float arrays, shape (L, J)
        For each level and group, its concentration, and the probability that a table of it is a
        customer of its parent.
    parents : int array, shape (J,)
        The parent of each group, or NULL.
    discount : float
        d.
    rng : numpy.random.Generator
        Source of randomness.
    """

    def __init__(
        self,
        alpha: Sequence[float] | FloatArray,
        gamma: FloatArray,
        kappa: FloatArray,
        parents: IntArray,
        discount: float,
        rng: np.random.Generator,
    ) -> None:
        self.alpha, self.gamma, self.kappa = [float(a) for a in alpha], gamma, kappa
        self.parents, self.discount, self.rng = parents, discount, rng
        self.parent: list[int] = []
        self.children: list[list[int]] = []
        n_groups = parents.size
        self._none = [0] * n_groups
        self.customers: list[list[int]] = []  # of each group, at the edge above each node
        self.opened: list[list[int]] = []  # tables of each group there
        self.routed: list[list[int]] = []  # those of them that are customers of the parent
        self._make(NULL)

    def _make(self, parent: int) -> int:
        node = len(self.parent)
        self.parent.append(parent)
        self.children.append([])
        for kept in (self.customers, self.opened, self.routed):
            kept.append(list(self._none))
        if parent != NULL:
            self.children[parent].append(node)
        return node

    def resume(self, tree: Tree, customers: IntArray, tables: IntArray, routed: IntArray) -> None:
        """Take over a tree with its customers and tables; its nodes keep their numbers."""
        for node in range(tree.n_nodes):
            if node:
                self._make(int(tree.parent[node]))
            self.customers[node] = customers[node].tolist()
            self.opened[node] = tables[node].tolist()
            self.routed[node] = routed[node].tolist()

    def seat(self, group: int) -> int:
        """Let a datum come and go down to a leaf; return the leaf."""
        node = 0
        for level in range(len(self.alpha)):
            node = self._come(node, level, group)
        return node

    def _come(self, node: int, level: int, group: int) -> int:
        """Let a customer of a group choose a child, and sit there."""
        children = self.children[node]
        here = [self.customers[k][group] for k in children]
        n, gamma = sum(here), float(self.gamma[level, group])
        if n > 0 and self.rng.random() * (n + gamma) < n:
            child = self._choose(children, here)
        else:
            to_parent = self.parents[group] != NULL
            to_parent = to_parent and self.rng.random() < self.kappa[level, group]
            if to_parent:
                child = self._come(node, level, int(self.parents[group]))
            else:
                child = self._choose_for_table(node, level)
            self.opened[child][group] += 1
            self.routed[child][group] += int(to_parent)
        self.customers[child][group] += 1
        return child

    def _choose_for_table(self, node: int, level: int) -> int:
        children, d = self.children[node], self.discount
        served = [sum(self.opened[k]) - sum(self.routed[k]) for k in children]
        if not sum(served):
            return self._make(node)
        weights = [many - d for many in served]
        chosen = self._choose([*children, NULL], [*weights, self.alpha[level] + d * len(children)])
        return self._make(node) if chosen == NULL else chosen

    def _choose(self, nodes: list[int], weights: Sequence[float]) -> int:
        upto = list(accumulate(weights))
        place = bisect_right(upto, self.rng.random() * upto[-1])
        return nodes[min(place, len(nodes) - 1)]
