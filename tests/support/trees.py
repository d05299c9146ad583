"""Trees of every kind for tests, and what is slow and plainly right about them."""

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from sticktree import NULL, Tree

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


# ---- trees with times, supports and names ----------------------------------------------

NAMES = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ["", "0", "1", "it's", "''", "(a,b)", "[c]", "d;", "e:1", "f_g", " h ", "né\n", "名前", "<b>"]
)


@st.composite
def annotated_trees(draw, *, named=True, min_data=0, exact=False):
    """Draw a tree; ``exact`` times are eighths."""
    m = draw(st.integers(1, 12))
    reach = draw(st.sampled_from([1, 2, m]))
    parent = [NULL, *(draw(st.integers(max(0, w - reach), w - 1)) for w in range(1, m))]
    leaf = draw(st.lists(st.integers(0, m - 1), min_size=min_data, max_size=8))
    parts = {}
    if draw(st.booleans()):
        parts["level"] = _down(draw, parent, 0, st.sampled_from([1, 1, 2, 5]))
    elif draw(st.booleans()):
        step = (
            st.integers(0, 20).map(lambda k: k / 8) if exact else st.floats(0, 1e3) | st.just(0.1)
        )
        start = 0.0 if exact else draw(st.sampled_from([0.0, 0.3, -2.0]))
        parts["time"] = _down(draw, parent, start, step)
    for kind in ("support", "transfer"):
        if draw(st.booleans()):
            parts[kind] = [
                draw(st.floats(0, 1) | st.sampled_from([1.0, 0.0, np.nan])) for _ in parent
            ]
    if named and draw(st.booleans()):
        parts["names"] = draw(st.lists(NAMES, min_size=len(leaf), max_size=len(leaf)))
    note(f"Tree({parent}, {leaf}, **{parts})")
    return Tree(parent, leaf, **parts)


def _down(draw, parent, start, step):
    values = [start]
    for above in parent[1:]:
        values.append(values[above] + draw(step))
    return values


def caterpillar(n, rng=None):
    """Return a tree in which data leave one by one, with times and supports."""
    parent = np.repeat(np.arange(-2, 2 * n - 2, 2), 2)[1 : 2 * n]
    parent[0] = NULL
    leaf = np.append(np.arange(1, 2 * n - 1, 2), 2 * n - 2)
    time = np.ceil(np.arange(2 * n - 1) / 2) * (1 / 3)
    time[leaf] = time.max()
    return Tree(parent, leaf, time=time, support=np.full(2 * n - 1, 0.5))


def sample_consensus(n=40, seed=0):
    """Return a random binary tree with every datum in a leaf of its own at the last time."""
    from scipy.cluster.hierarchy import linkage

    rng = np.random.default_rng(seed)
    matrix = linkage(rng.normal(size=(n, 2)), "average")
    matrix[:, 2] = np.round(matrix[:, 2] * 8) / 8
    tree = Tree.from_linkage(matrix)
    support = np.where(tree.n_children > 0, rng.random(tree.n_nodes).round(3), 1.0)
    transfer = 1 - (1 - support) / 4
    names = [f"row {i}" for i in range(n)]
    return tree.annotated(support=support, transfer=transfer, names=names)


def count_trees(samples, listed):
    """Count how often each of the listed trees occurs, and any other."""
    place = {tree: k for k, tree in enumerate(listed)}
    known = {}  # by the raw arrays, of which there are few: canonical forms are slow to make
    counts = np.zeros(len(listed) + 1, dtype=int)
    for tree in samples:
        raw = tree.parent.tobytes(), tree.leaf.tobytes()
        if raw not in known:
            known[raw] = place.get(tree.canonical(), len(listed))
        counts[known[raw]] += 1
    return counts[:-1], int(counts[-1])
