"""Exact posteriors of a few rows that belong to groups, and states that are draws from them."""

import itertools

import numpy as np

from sticktree.engine.common.links import ALIVE
from sticktree.processes import GroupedRestaurant, GroupedSticks, GroupedTree, enumerate_trees
from sticktree.processes.groups import group_counts


def all_tables(tree, groups):
    """Yield all numbers of tables that data of groups may have sat at."""
    counts = group_counts(tree, groups, max(groups) + 1)
    counts[0] = 0
    ranges = [range(int(n > 0), n + 1) for n in counts.ravel()]
    for many in itertools.product(*ranges):
        yield np.array(many, dtype=np.int32).reshape(counts.shape)


class ExactGroups:
    """All trees of a few rows in groups: their prior, and draws of their tables and sticks."""

    def __init__(self, alpha, discount, gamma, groups):
        self.groups = np.array(groups, dtype=np.int32)
        choices = {"group_concentration": gamma, "discount": discount}
        self.law = GroupedRestaurant(alpha, **choices)
        self.sticks = GroupedSticks(alpha, **choices)
        self.trees = list(enumerate_trees(len(groups), len(alpha)))
        self.log_prior = np.array([self.law.log_prob(tree, groups) for tree in self.trees])
        self._tables = {}

    def draw_sticks(self, k, rng):
        """Draw the shared sticks of tree k: shares of parents, and what is left."""
        tree = self.trees[k]
        if k not in self._tables:
            tables = list(all_tables(tree, self.groups))
            logs = np.array([self.law.log_prob(tree, self.groups, m) for m in tables])
            self._tables[k] = tables, np.exp(logs - self.log_prior[k])
        tables, chance = self._tables[k]
        chosen = tables[rng.choice(len(tables), p=chance / chance.sum())]
        shared = self.sticks.redraw(GroupedTree(tree, self.groups, chosen), rng).shared
        share = np.ones(tree.n_nodes)
        share[1:] = shared.mass[1:] / shared.mass[tree.parent[1:]]
        return share, shared.unbroken / shared.mass


def put_sticks(state, tree, share, rest):
    """Put the sticks of a full tree into a state whose tree has the same rows in its leaves."""
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        child = state.nodes["first_child"][node]
        below = node
        while child >= 0:
            below, child = child, state.nodes["first_child"][child]
        row = int(np.flatnonzero(state.leaf == below)[0])
        path = tree.path(int(tree.leaf[row]))
        for level in range(state.nodes["level"][node]):
            state.stick[node, level] = share[path[level + 1]]
        for level in range(min(state.nodes["level"][node] + 1, tree.depth)):
            state.rest[node, level] = rest[path[level]]
