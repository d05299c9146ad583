"""Trees of every kind for the tests of metrics, and what is slow and plainly right about them."""

import numpy as np
from hypothesis import strategies as st

from sticktree import Tree

SHAPES = ("any", "binary", "caterpillar", "star")


def random_tree(rng, n_data, shape="any", times=False):
    """Return a random tree; with shape "any", data sit in inner nodes too and some nodes are empty.

    Every other shape gives each datum a leaf of its own, in random order.
    """
    if shape == "any":
        n_nodes = int(rng.integers(1, 2 * n_data + 2))
        parent = [-1] + [int(rng.integers(max(0, w - 4), w)) for w in range(1, n_nodes)]
        leaf = rng.integers(n_nodes, size=n_data)
    elif shape == "star":
        parent = [-1] + [0] * n_data
        leaf = rng.permutation(n_data) + 1
    else:
        parent, tips = [-1], [0]
        for _ in range(n_data - 1):
            at = len(tips) - 1 if shape == "caterpillar" else int(rng.integers(len(tips)))
            w = len(parent)
            parent += [tips[at], tips[at]]
            tips[at] = w
            tips.append(w + 1)
        leaf = rng.permutation(np.array(tips))
    tree = Tree(parent, leaf)
    if not times:
        return tree
    time = np.zeros(tree.n_nodes)
    for w in range(1, tree.n_nodes):  # some edges have no length
        time[w] = time[tree.parent[w]] + rng.choice([0.0, rng.random()])
    return tree.annotated(time=time)


@st.composite
def trees(draw, n_data, times=False):
    """Generate random trees over a given number of data."""
    seed = draw(st.integers(0, 2**32 - 1))
    shape = draw(st.sampled_from(SHAPES))
    return random_tree(np.random.default_rng(seed), n_data, shape, times)


def path_to_root(tree, node):
    """Return a node and all above it, by following parents."""
    path = [node]
    while tree.parent[path[-1]] >= 0:
        path.append(int(tree.parent[path[-1]]))
    return path


def meeting_node(tree, i, j):
    """Return the deepest node that two data share, by its definition."""
    above = set(path_to_root(tree, int(tree.leaf[i])))
    return next(w for w in path_to_root(tree, int(tree.leaf[j])) if w in above)


def data_below(tree):
    """Return, for each node, the set of data at or below it."""
    below = [set() for _ in range(tree.n_nodes)]
    for i, leaf in enumerate(tree.leaf):
        for w in path_to_root(tree, int(leaf)):
            below[w].add(i)
    return below
