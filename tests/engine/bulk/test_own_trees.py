"""Chains with own noise for many rows against the exact posterior over all trees on a few rows.

Visits are compared in batches, so that autocorrelation counts; the false-alarm rate is 1e-4 for
each case.
"""

import os
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.engine.own.test_exact import setting_of
from tests.support.own import exact
from tests.support.own_chains import chain_at

NAN = np.nan
N_SWEEPS = int(os.environ.get("STICKTREE_SWEEPS", "3000"))
FALSE_ALARM = 1e-4
CASES = {
    "diag": ("diag", 2, [[0.1, 1.0], [NAN, 0.4], [1.8, 1.3]]),
    "five": ("diag", 1, [[0.1], [NAN], [1.8], [0.4], [0.2]]),
    "spherical": ("spherical", 1, [[0.1, NAN], [0.3, 1.1], [-1.0, 0.2], [-1.1, 0.3]]),
    "full": ("full", 1, [[0.1, 0.4], [0.3, 1.1], [-1.0, 0.2], [-0.6, 0.3]]),
    "full with gaps": ("full", 2, [[0.1, NAN], [0.3, 1.1], [-1.0, 0.2]]),
}


def assert_visits(visits, probabilities, n_batches=20):
    """Check how often each tree was visited; rare ones count together."""
    rare = probabilities < 0.05
    cells = np.eye(len(probabilities))[visits]
    cells = np.column_stack([cells[:, ~rare], cells[:, rare].sum(axis=1)])
    expected = np.append(probabilities[~rare], probabilities[rare].sum())
    some = expected > 0
    cells, expected = cells[:, some], expected[some]
    length = len(visits) // n_batches
    batches = cells[: length * n_batches].reshape(n_batches, length, -1).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(n_batches)
    t = (batches.mean(axis=0) - expected) / error
    p = 2 * stats.t.sf(np.abs(t), n_batches - 1)
    assert (p > FALSE_ALARM / t.size).all(), (t.round(1), expected.round(3))


@pytest.mark.parametrize("name", CASES)
def test_trees_are_visited_as_often_as_they_are_likely(name):
    form, depth, data = CASES[name]
    data = np.array(data)
    setting = setting_of(
        ("gaussian",) * data.shape[1], form, depth, floor=0.0 if form == "full" else 0.15
    )
    setting = replace(setting, discount=0.5)
    law = exact.tree_posterior(data, setting)
    place, known = {tree: k for k, tree in enumerate(law)}, {}
    chain = chain_at(data, setting, np.random.default_rng([len(name), depth]))
    visits, changed = [], 0
    for _ in range(N_SWEEPS):
        changed += chain.sweep()["split_merge"][0]
        tree = chain.tree()
        raw = tree.parent.tobytes(), tree.leaf.tobytes(), tree.level.tobytes()
        if raw not in known:
            known[raw] = place[tree]
        visits.append(known[raw])
    assert changed > 50
    assert_visits(np.array(visits), np.array(list(law.values())))
