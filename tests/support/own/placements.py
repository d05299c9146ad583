"""A new datum and all its places, naively: by ratios of the twin's joint density."""

import numpy as np

from sticktree import Tree
from tests.support.own import twin
from tests.support.own.evidence import log_leaf_evidence


def without(tree, phi, i):
    """Return tree and φ without datum i and the nodes that only it needs."""
    rest = np.delete(tree.leaf, i)
    keep = np.zeros(tree.n_nodes, dtype=bool)
    for node in rest:
        while node >= 0:
            keep[node] = True
            node = tree.parent[node]
    number = np.cumsum(keep) - 1
    parent = np.where(tree.parent < 0, -1, number[tree.parent])[keep]
    return Tree(parent, number[rest], level=tree.level[keep]), phi[keep]


def extended(tree, phi, at):
    """Return tree and φ with one more datum: in leaf ``at``, or on a new branch below it.

    φ of new inner nodes is that of ``at``.
    """
    depth = tree.level.max()
    parent, level, leaf = list(tree.parent), list(tree.level), at
    while level[leaf] < depth:
        parent.append(leaf)
        level.append(level[leaf] + 1)
        leaf = len(parent) - 1
    phi = np.vstack([phi, np.tile(phi[at], (len(parent) - len(phi), 1))])
    return Tree(np.array(parent), np.append(tree.leaf, leaf), level=np.array(level)), phi


def density(row, tree, phi, data, setting):
    """Return p(row | data, tree, φ) at depth 1, or at depth 2 if there is one coordinate."""
    before = twin.log_joint(tree, phi, data, setting)
    both = np.vstack([data, row])
    total = 0.0
    for at in range(tree.n_nodes):
        if tree.level[at] >= setting.depth - 1:
            after = twin.log_joint(*extended(tree, phi, at), both, setting)
            total += np.exp(after - before)
    if setting.depth == 2:
        # A branch of its own: its φ is integrated out, around φ of the root.
        more, _ = extended(tree, phi, 0)
        share = np.exp(setting.law.log_prob(more) - setting.law.log_prob(tree))
        x, step = np.linspace(-8.0, 8.0, 161, retstep=True)
        u = phi[0, 0] + x * np.sqrt(setting.v[1, 0])
        there = np.exp(log_leaf_evidence(row[None], u[:, None], setting))
        total += share * (there * np.exp(-0.5 * x**2)).sum() * step / np.sqrt(2 * np.pi)
    return total
