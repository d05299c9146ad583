"""Trees of every kind, with times, supports and names or without."""

from __future__ import annotations

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from sticktree import NULL, Tree

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
    if draw(st.booleans()):
        parts["support"] = [
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
    return tree.annotated(support=support, names=[f"row {i}" for i in range(n)])
