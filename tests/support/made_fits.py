"""Stand-ins for fitted mixtures: what the report reads of one, made by hand."""

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import linkage

from sticktree import DFPMixture, Tree
from sticktree.data import read_table
from sticktree.data.training import TrainingData
from sticktree.fit import Fit
from sticktree.inference.fitting import Sampled
from sticktree.inference.runner import Schedule
from sticktree.posterior.cutting import Cut
from sticktree.posterior.draws import Diagnosis
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
        return Tree([-1, 0], [1], time=[0.0, n_levels], support=[1.0, 1.0], transfer=[1.0, 1.0])
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
    transfer = 1 - (1 - support) * rng.random(size)
    leaf = size - 1 - np.arange(n)
    return Tree(parent, leaf, time=time, support=support, transfer=transfer)


def mixture(table, *, tree=None, columns=None, labels=None, weights=None):
    """Return a mixture that is fitted to a table: rows and answers made by hand, no draws."""
    read = read_table(table, columns)
    training = TrainingData.of_table(read, weights, standardize=False, algorithm="gibbs")
    tree = linkage_tree(read.values) if tree is None else tree
    labels = tree.cut(1.5) if labels is None else labels
    labels = np.asarray(labels).astype(int)
    answers = {
        "tree": tree,
        "cluster_tree": tree,
        "cut": Cut(labels[training.rows], np.zeros(training.n_data, dtype=bool)),
        "labels": labels,
        "confidence": np.linspace(0.3, 1.0, len(read.values)),
        "diagnosis": Diagnosis({}, {}),
    }
    sampled = Sampled(of_depth(4), None, [], Schedule(0, 1), finished=True)
    estimator = DFPMixture()
    estimator.fit_ = Fit(training, sampled, 2, {}).with_summaries(answers)
    vars(estimator.fit_)["membership"] = np.eye(labels.max() + 1)[labels]
    return estimator


def nasty_mixture():
    """Return a mixture of a table whose names and cells would break or run in a careless page."""
    size = len(NASTY)
    values = np.random.default_rng(0).normal(size=(size, 3))
    frame = pd.DataFrame(values, columns=pd.Index(NASTY[:3], dtype=object))
    frame["categories"] = pd.Series([*NASTY[:-1], NASTY[0]], dtype=object)
    return mixture(frame, labels=np.arange(size) // 5)
