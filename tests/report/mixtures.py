"""Stand-ins for fitted mixtures: what the report reads of one, made by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import linkage

from sticktree import Tree
from sticktree.data import read_table
from sticktree.posterior import Posterior
from sticktree.posterior.diagnostics import Diagnosis
from tests.support.models import of_depth

NASTY = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    '<img src=x onerror="window.hacked = 3">',
    "\"'><svg onload=window.hacked=4>",
    "a & b &lt; &amp;lt;",
    "<!-- <script>",
    "</script x='1' onclick='window.hacked = 5'",
    "line\u2028separator\u2029",
    "\u202eright to left\u202c",
    "half \ud83d a smile",
    "many\nlines\tand\x00nothing",
    "{{title}} ${1} `x`",
    "Grüße, 東京 (a:b,c);",
    "",
]


def linkage_tree(values, n_levels=4.0, seed=0):
    """Return a tree like a consensus: a leaf for every row, times, and supports."""
    n = len(values)
    rng = np.random.default_rng(seed)
    if n == 1:
        return Tree([-1, 0], [1], time=[0.0, n_levels], support=[1.0, 1.0])
    merges = linkage(np.nan_to_num(values), "average")
    size = 2 * n - 1
    parent = np.full(size, -1)
    time = np.full(size, n_levels)
    for k, (a, b, height, _) in enumerate(merges):
        node = size - 1 - (n + k)
        parent[[size - 1 - int(a), size - 1 - int(b)]] = node
        time[node] = (n_levels - 1) * (1 - height / (merges[-1, 2] or 1.0))
    support = np.where(time < n_levels, rng.random(size), 1.0)
    support[0] = 1.0
    return Tree(parent, size - 1 - np.arange(n), time=time, support=support)


def mixture(table, *, tree=None, columns=None, labels=None, **more):
    """Return what the report reads of a mixture that was fitted to a table."""
    read = read_table(table, columns)
    tree = linkage_tree(read.values) if tree is None else tree
    labels = tree.cut(1.5) if labels is None else labels
    known = {
        "tree_": tree,
        "labels_": np.asarray(labels).astype(int),
        "level_": 2,
        "confidence_": np.linspace(0.3, 1.0, len(read.values)),
        "rows_at_hand": lambda: (np.arange(len(read.values)), read.values),
        "columns_": read.columns,
        "depth_": 4,
        "covariance_type_": "full",
        "leaf_noise_": "shared",
        "selection_": None,
        "posterior_": Posterior([[]], of_depth(4)),
        "diagnosis_": Diagnosis({}, {}),
        "get_params": dict,
    }
    return SimpleNamespace(**known | more)


def nasty_mixture():
    """Return a mixture of a table whose names and cells would break or run in a careless page."""
    size = len(NASTY)
    values = np.random.default_rng(0).normal(size=(size, 3))
    frame = pd.DataFrame(values, columns=pd.Index(NASTY[:3], dtype=object))
    frame["categories"] = pd.Series([*NASTY[:-1], NASTY[0]], dtype=object)
    return mixture(frame, labels=np.arange(size) // 5)
