"""Exact posteriors of a few rows whose groups have parents, and states that are draws from them."""

import itertools

import numpy as np

from sticktree.model import Groups
from sticktree.processes import ParentedRestaurant, enumerate_trees
from sticktree.processes.groups import group_counts
from sticktree.processes.parents import eldest_first
from tests.support.grouped import put_sticks


def all_seatings(tree, groups, parents):
    """Yield all tables that data of groups may have sat at, and those that went to parents."""
    counts = group_counts(tree, groups, len(parents))
    counts[0] = 0
    youngest_first = eldest_first(np.asarray(parents))[::-1]
    shape = counts.shape

    def ways(customers, left):
        """Yield tables and routed ones of groups that are left, at one edge."""
        if not left:
            yield {}
            return
        j, above = left[0], parents[left[0]]
        n = customers[j]
        for m in range(int(n > 0), n + 1):
            for r in range(m + 1 if above >= 0 else 1):
                more = list(customers)
                if above >= 0:
                    more[above] += r
                for others in ways(more, left[1:]):
                    yield {j: (m, r)} | others

    edges = [list(ways(n.tolist(), youngest_first)) for n in counts]
    for chosen in itertools.product(*edges):
        tables, routed = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
        for k, edge in enumerate(chosen):
            for j, (m, r) in edge.items():
                tables[k, j], routed[k, j] = m, r
        yield tables, routed


class ExactParents:
    """Exact draws of trees and sticks of a few rows, by rejection from the law itself."""

    def __init__(self, alpha, discount, gamma, kappa, groups, model_parents):
        self.model = Groups(np.array(groups, dtype=np.int32), parents=np.array(model_parents))
        choices = {"group_concentration": gamma, "discount": discount, "kinship": kappa}
        self.law = ParentedRestaurant(alpha, parents=model_parents, **choices)
        self.trees = list(enumerate_trees(len(groups), len(alpha)))
        self.log_prior = np.array([self.law.log_prob(tree, groups) for tree in self.trees])
        self.place = {tree: k for k, tree in enumerate(self.trees)}
        self._known = {}  # by the raw arrays: canonical forms are slow to make
        self.groups = groups

    def draw(self, log_likelihood, rng):
        """Draw a tree from its posterior; return its shares and what is left, of β and parents."""
        largest = log_likelihood.max()
        while True:
            seated = self.law.sample(self.groups, rng)
            raw = seated.tree.parent.tobytes(), seated.tree.leaf.tobytes()
            if raw not in self._known:
                self._known[raw] = self.place[seated.tree.canonical()]
            k = self._known[raw]
            if np.log(rng.random()) < log_likelihood[k] - largest:
                return seated.tree, *self.broken(seated, rng)

    def broken(self, seated, rng):
        """Draw sticks given tables: shares of parents' nodes, and what is left, (nodes, 1 + P)."""
        return broken(self.law, self.model.line, seated, rng)


def broken(law, line, seated, rng):
    """Draw sticks given tables: logs of shares of the node above, and of what is left.

    Both of shape (nodes, 1 + P): those of β, then of parents.
    """
    tree, customers = seated.tree, seated.customers
    tables = (seated.tables - seated.routed).sum(axis=1)
    share = np.zeros((tree.n_nodes, 1 + line.members.size))
    left = np.zeros_like(share)
    for w in np.flatnonzero(tree.level < law.depth):
        children, level = tree.children(int(w)), int(tree.level[w])
        alpha, gamma = law.concentration.alpha[level], law.group_concentration[level]
        rest = alpha + law.discount * len(children)
        logs = [log_dirichlet(np.append(tables[children] - law.discount, rest), rng)]
        for p, member in enumerate(line.members):
            base = np.exp(logs[0])
            if line.elder[p] >= 0:
                elder = np.exp(logs[1 + line.elder[p]])
                base = law.kinship * elder + (1.0 - law.kinship) * base
            logs.append(
                log_dirichlet(np.append(customers[children, member], 0) + gamma * base, rng)
            )
        share[children] = np.array(logs)[:, :-1].T
        left[w] = np.array(logs)[:, -1]
    return share, left


def log_dirichlet(shape, rng):
    """Draw logs of Dirichlet numbers, which themselves may be too small to write."""
    shape = np.maximum(shape, 1e-300)
    logs = np.log(rng.standard_gamma(shape + 1.0)) + np.log1p(-rng.random(shape.size)) / shape
    return logs - np.logaddexp.reduce(logs)


def put_all_sticks(state, tree, share, rest):
    """Put the logs of sticks of a full tree into a state whose tree has the same leaves."""
    theta, theta_rest = np.zeros_like(state.theta), np.zeros_like(state.theta_rest)
    for p in range(state.elder.size):
        put_sticks(state, tree, share[:, 1 + p], rest[:, 1 + p])
        theta[:, :, p], theta_rest[:, :, p] = state.stick, state.rest
    state.theta[:], state.theta_rest[:] = theta, theta_rest
    state.stick[:], state.rest[:] = 1.0, 1.0
    put_sticks(
        state, tree, np.maximum(np.exp(share[:, 0]), 1e-290), np.maximum(np.exp(rest[:, 0]), 1e-290)
    )
