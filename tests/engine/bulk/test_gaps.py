"""What is missing of rows."""

import numpy as np
import pytest

from tests.support.bulk import leaves_with_anchors


def test_missing_entries_are_drawn_from_their_law_given_the_others(rows_of):
    rng = np.random.default_rng(4)
    n = 4000
    x = np.full((n, 2), np.nan)
    x[:, 0] = 0.7
    leaves, _ = leaves_with_anchors(rng, 1, 2, "shared", n, impute=True, spread=0.5)
    rows = rows_of(x)
    rows.assign(leaves)
    drawn = rows.placement.choices.leaves.completed[:, 1]
    whitener = leaves.transform / 0.5
    covariance = np.linalg.inv(whitener.T @ whitener)
    mean = np.linalg.solve(leaves.transform, leaves.centre[0])
    expected = mean[1] + covariance[1, 0] / covariance[0, 0] * (0.7 - mean[0])
    variance = covariance[1, 1] - covariance[0, 1] ** 2 / covariance[0, 0]
    assert drawn.mean() == pytest.approx(expected, abs=5 * np.sqrt(variance / n))
    assert drawn.var() == pytest.approx(variance, rel=0.12)


@pytest.mark.parametrize("form", ["shared", "full"])
def test_what_is_missing_has_the_joint_law_given_what_is_there(form, rows_of):
    """Several columns at once, whichever they are, against dense matrices.

    False alarms: sums of 6,000 standard normals and their products, each beyond 5 standard errors.
    """
    rng = np.random.default_rng(5)
    n, dimension, n_leaves = 6000, 4, 3
    x = rng.normal(size=(n, dimension))
    for row, n_missing in zip(x, rng.integers(1, 4, size=n), strict=True):
        row[rng.permutation(dimension)[:n_missing]] = np.nan
    leaves, _ = leaves_with_anchors(rng, n_leaves, dimension, form, n, impute=True, spread=0.7)
    rows = rows_of(x)
    rows.assign(leaves)
    labels = rows.labels(np.arange(n_leaves), np.empty(0, dtype=np.int64))
    drawn = np.empty_like(x)
    here = rows.placement
    drawn[here.part.gap_row.astype(int)] = here.choices.leaves.completed
    there = ~np.isnan(x)
    np.testing.assert_array_equal(drawn[there], x[there])
    residuals: list[np.ndarray] = []
    products: list[float] = []
    for y, full, k, seen in zip(x, drawn, labels, there, strict=True):
        if form == "full":
            root, mean = leaves.root[k], leaves.centre[k]
        else:
            root = np.sqrt(leaves.precision[k])[:, None] * leaves.transform
            mean = np.linalg.solve(leaves.transform, leaves.centre[k])
        covariance = np.linalg.inv(root.T @ root)
        gain = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, ~seen)]).T
        expected = mean[~seen] + gain @ (y - mean)[seen]
        rest = covariance[np.ix_(~seen, ~seen)] - gain @ covariance[np.ix_(seen, ~seen)]
        z = np.linalg.solve(np.linalg.cholesky(rest), full[~seen] - expected)
        residuals.append(z)
        products += [z[0] * z[1]] if z.size > 1 else []
    z = np.concatenate(residuals)
    assert abs(z.mean()) < 5 / np.sqrt(z.size)
    assert abs((z**2).mean() - 1.0) < 5 * np.sqrt(2.0 / z.size)
    assert abs(np.mean(products)) < 5 / np.sqrt(len(products))


def test_rows_that_miss_the_same_columns_follow_each_other(rows_of):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(500, 3))
    x[rng.random(x.shape) < 0.3] = np.nan
    x[np.isnan(x).all(axis=1), 0] = 0.0
    missing = np.isnan(rows_of(x).placement.part.gap_y)
    changes = (missing[1:] != missing[:-1]).any(axis=1).sum()
    assert changes == len(np.unique(missing, axis=0)) - 1
