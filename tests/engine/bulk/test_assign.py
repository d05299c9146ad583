"""Choices of rows, with gaps and without, against a plain twin."""

import numpy as np
import pytest

from sticktree.engine.bulk.philox import mix
from tests.engine.bulk.test_philox import both_words
from tests.support.bulk import leaves_with_anchors


def plain_log_weights(leaves, rows):
    """Return the log weight of leaves for what is observed of rows, row by leaf, from matrices."""
    there = ~np.isnan(rows)
    out = np.tile(leaves.log_weight, (len(rows), 1))
    for k in range(len(leaves.log_weight)):
        if leaves.root.shape[0]:
            precision, mean = leaves.root[k].T @ leaves.root[k], leaves.centre[k]
            peak = np.linalg.slogdet(leaves.root[k])[1]
        else:
            whitener = np.sqrt(leaves.precision[k])[:, None] * leaves.transform
            precision, mean = (
                whitener.T @ whitener,
                np.linalg.solve(leaves.transform, leaves.centre[k]),
            )
            peak = 0.5 * np.log(leaves.precision[k]).sum() + np.linalg.slogdet(leaves.transform)[1]
        whole = np.linalg.inv(precision)
        for seen in np.unique(there, axis=0):
            alike = (there == seen).all(axis=1)
            covariance = whole[np.ix_(seen, seen)]
            off = (rows[alike] - mean)[:, seen].T
            out[alike, k] -= peak + 0.5 * (off * np.linalg.solve(covariance, off)).sum(axis=0)
            out[alike, k] -= 0.5 * np.linalg.slogdet(covariance)[1]
    return out


@pytest.mark.parametrize("spread", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("form", ["diag", "shared", "full"])
@pytest.mark.parametrize("gaps", [False, True])
def test_every_row_chooses_as_if_all_leaves_were_weighed(form, spread, gaps, rows_of):
    rng = np.random.default_rng([int(100 * spread), gaps])
    n, dimension, n_leaves = 600, 3, 25
    x = rng.normal(size=(n, dimension))
    if gaps:
        x[rng.random((n, dimension)) < 0.2] = np.nan
        x[np.isnan(x).all(axis=1), 0] = 0.0
    leaves, _ = leaves_with_anchors(rng, n_leaves, dimension, form, n, spread=spread)
    rows = rows_of(x)
    seated = rows.assign(leaves)
    labels = rows.labels(np.arange(n_leaves), np.empty(0, dtype=np.int64))
    anchors = dict(zip(leaves.anchor.tolist(), range(n_leaves), strict=True))
    log_weights = plain_log_weights(leaves, x)
    for i in range(n):
        if i in anchors:
            assert labels[i] == anchors[i]
            continue
        rank = mix(np.uint64(i), leaves.words[2])
        weights = np.where(rank <= leaves.limit, -np.inf, log_weights[i])
        first, _ = both_words(np.uint64(i), np.uint64(3), np.uint64(0), np.uint64(5))
        point = (int(first) >> 11) * 2.0**-53
        share = np.exp(weights - weights.max())
        below = np.cumsum(share) / share.sum()
        k = int(np.searchsorted(below, point, side="right"))
        near_edge = np.abs(below - point).min() < 1e-9
        assert labels[i] == k or near_edge
    np.testing.assert_array_equal(seated.tally.count, np.bincount(labels, minlength=n_leaves))
