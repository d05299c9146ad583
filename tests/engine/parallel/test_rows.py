"""Passes over rows: random numbers, sums, and choices, each against a plain twin."""

import numpy as np
import pytest

from sticktree.engine.parallel.components import PRODUCTS, SQUARES, SUMS, Components
from sticktree.engine.parallel.measure import measure
from sticktree.engine.parallel.partition import BLOCK, jittered, partition
from sticktree.engine.parallel.philox import mix, philox
from sticktree.engine.parallel.sums import Grid
from sticktree.engine.parallel.tally import empty_tally, merge
from sticktree.jit import jit


@jit
def both_words(row, sweep, purpose, key):
    return philox(row, sweep, purpose, key)


def test_philox_gives_the_numbers_of_its_authors():
    # From the known answers that come with Random123, for 4x32 words and ten rounds.
    ones = np.uint64(2**64 - 1)
    low = np.uint64(0xFFFFFFFF)
    first, second = both_words(np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))
    assert (int(first), int(second)) == (0xE169C58D6627E8D5, 0x9B00DBD8BC57AC4C)
    first, second = both_words(ones, low, low, ones)
    assert (int(first), int(second)) == (0x41C83B0E408F276D, 0x6D5451FDA20BC7C6)


def test_no_two_rows_have_the_same_rank():
    ranks = {int(mix(np.uint64(row), np.uint64(7))) for row in range(20_000)}
    assert len(ranks) == 20_000


@pytest.mark.parametrize("largest", [1e-3, 1.0, 3e4])
def test_sums_do_not_depend_on_the_order_and_are_exact(largest):
    rng = np.random.default_rng(0)
    x = rng.uniform(-largest, largest, size=(1000, 1))
    totals = {
        measure(lambda f, p=pieces: [f(piece) for piece in p]).centre.tobytes()
        for pieces in ([x], [x[::-1]], np.array_split(x, 7), np.array_split(rng.permutation(x), 3))
    }
    assert len(totals) == 1
    from math import fsum

    exact = fsum(x[:, 0]) / 1000
    assert np.frombuffer(totals.pop())[0] == pytest.approx(exact, rel=1e-15, abs=largest * 1e-18)


def test_grids_hold_sums_of_the_largest_numbers():
    for n in (1, 10, 10**7, 10**9):
        grid = Grid.of(n, 5.0)
        assert n * 5.0 * grid.coarse < 2**62
        assert n * grid.fine / grid.coarse < 2**62
        sums = np.array([[round(2.5 * grid.coarse), 0]], dtype=np.int64)
        assert grid.value(sums)[0] == pytest.approx(2.5)


def test_measures_are_those_of_numpy_and_flat_columns_have_no_scale():
    rng = np.random.default_rng(1)
    x = rng.normal(3.0, 2.0, size=(501, 3))
    x[::7, 1] = np.nan
    x[:, 2] = 4.0
    scale = measure(lambda f: [f(piece) for piece in np.array_split(x, 4)])
    np.testing.assert_allclose(scale.centre, np.nanmean(x, axis=0), rtol=1e-14)
    np.testing.assert_allclose(scale.spread[:2], np.nanstd(x, axis=0)[:2], rtol=1e-13)
    assert scale.spread[2] == 1.0


@pytest.mark.parametrize("n", [0, 1, BLOCK, BLOCK + 1, 1000])
def test_partition_keeps_every_row_once(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 3))
    x[rng.random(n) < 0.1, 1] = np.nan
    part = partition(x, 50)
    seen = {}
    for block in range(len(part.filled)):
        for place in range(part.filled[block]):
            seen[int(part.row[block, place])] = part.y[block, :, place]
    seen |= dict(zip(part.gap_row.tolist(), part.gap_y, strict=True))
    assert sorted(seen) == list(range(50, 50 + n))
    for row, y in seen.items():
        np.testing.assert_array_equal(y, x[row - 50])
    assert part.n_rows == n


def test_values_may_be_spread_before_or_after_rows_are_arranged():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 4, size=(500, 2)).astype(float)
    x[::9, 1] = np.nan
    width = np.array([1.0, 0.5])
    parts = partition(x, 30, width), jittered(partition(x, 30), width)
    tables = []
    for part in parts:
        rows = [part.y.transpose(0, 2, 1).reshape(-1, 2), part.gap_y]
        numbers = np.concatenate([part.row.ravel()[: part.filled.sum()], part.gap_row])
        table = np.concatenate([rows[0][: part.filled.sum()], rows[1]])
        tables.append(table[np.argsort(numbers)])
    np.testing.assert_array_equal(*tables)
    off = tables[0] - x
    assert (np.nanmax(np.abs(off), axis=0) <= width / 2).all()
    assert np.nanstd(off, axis=0) == pytest.approx(width / np.sqrt(12), rel=0.1)


def told_of(rng, n_leaves, dimension, form, n, kind=SUMS, impute=False, spread=0.1):
    """Return leaves somewhere, with anchors among the first rows."""
    grids = [Grid.of(n, 100.0), Grid.of(n, 1e4)]
    centre = rng.normal(size=(n_leaves, dimension))
    root = np.empty((0, dimension, dimension))
    transform = np.eye(dimension)
    precision = rng.uniform(0.5, 2.0, size=(n_leaves, dimension)) / spread**2
    if form == "shared":
        transform = np.tril(rng.normal(size=(dimension, dimension))) + 2.0 * np.eye(dimension)
        precision[:] = 1.0 / spread**2
        centre = centre @ transform.T
    elif form == "full":
        root = np.tril(rng.normal(size=(n_leaves, dimension, dimension))) / spread
        root[:, range(dimension), range(dimension)] = 1.0 / spread
    salt = 11
    before = np.concatenate([np.arange(n_leaves), rng.integers(n_leaves, size=n - n_leaves)])
    ranks = np.array([mix(np.uint64(row), np.uint64(salt)) for row in range(n)])
    anchor = np.array(
        [min(np.flatnonzero(before == k), key=ranks.__getitem__) for k in range(n_leaves)]
    )
    anchor = anchor.astype(np.uint64)
    return Components(
        log_weight=np.log(rng.dirichlet(np.full(n_leaves, 0.5)) + 1e-6),
        centre=centre,
        precision=precision,
        transform=transform,
        root=root,
        limit=np.array([mix(row, np.uint64(salt)) for row in anchor], dtype=np.uint64),
        anchor=anchor,
        words=np.array([5, 3, salt, 12, 13, 2**62], dtype=np.uint64),
        kind=kind,
        impute=impute,
        grid=np.array([step for grid in grids for step in (grid.coarse, grid.fine)]),
    ), grids


def plain_log_weights(told, y):
    """Return the log weight of every leaf for what is observed of a row, from dense matrices."""
    there = ~np.isnan(y)
    out = np.empty(len(told.log_weight))
    for k in range(out.size):
        if told.root.shape[0]:
            precision, mean = told.root[k].T @ told.root[k], told.centre[k]
            peak = np.linalg.slogdet(told.root[k])[1]
        else:
            whitener = np.sqrt(told.precision[k])[:, None] * told.transform
            precision, mean = whitener.T @ whitener, np.linalg.solve(told.transform, told.centre[k])
            peak = 0.5 * np.log(told.precision[k]).sum() + np.linalg.slogdet(told.transform)[1]
        covariance = np.linalg.inv(precision)[np.ix_(there, there)]
        off = (y - mean)[there]
        out[k] = told.log_weight[k] - peak - 0.5 * off @ np.linalg.solve(covariance, off)
        out[k] -= 0.5 * np.linalg.slogdet(covariance)[1]
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
    told, _ = told_of(rng, n_leaves, dimension, form, n, spread=spread)
    rows = rows_of(x)
    seated = rows.assign(told)
    labels = rows.labels(np.arange(n_leaves), np.empty(0, dtype=np.int64))
    anchors = dict(zip(told.anchor.tolist(), range(n_leaves), strict=True))
    for i in range(n):
        if i in anchors:
            assert labels[i] == anchors[i]
            continue
        weights = plain_log_weights(told, x[i])
        rank = mix(np.uint64(i), told.words[2])
        weights[[rank <= limit for limit in told.limit]] = -np.inf
        first, _ = both_words(np.uint64(i), np.uint64(3), np.uint64(0), np.uint64(5))
        point = (int(first) >> 11) * 2.0**-53
        share = np.exp(weights - weights.max())
        below = np.cumsum(share) / share.sum()
        k = int(np.searchsorted(below, point, side="right"))
        near_edge = np.abs(below - point).min() < 1e-9
        assert labels[i] == k or near_edge
    np.testing.assert_array_equal(seated.tally.count, np.bincount(labels, minlength=n_leaves))


@pytest.mark.parametrize("kind", [SUMS, SQUARES, PRODUCTS])
def test_sums_of_leaves_are_those_of_their_rows(kind, rows_of):
    from sticktree.engine.parallel.leaf import Sums

    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 3))
    x[rng.random((400, 3)) < 0.1] = np.nan
    told, grids = told_of(rng, 8, 3, "diag", 400, kind=kind, spread=0.5)
    rows = rows_of(x)
    tally = rows.assign(told).tally
    labels = rows.labels(np.arange(8), np.empty(0, dtype=np.int64))
    sums, plain = Sums.of(tally, kind, *grids), Sums.over(x, labels, 8, kind)
    np.testing.assert_allclose(sums.n, plain.n)
    np.testing.assert_allclose(sums.seen, plain.seen)
    np.testing.assert_allclose(sums.total, plain.total, atol=1e-12)
    if kind != PRODUCTS:  # there rows with gaps are always completed first
        np.testing.assert_allclose(sums.second, plain.second, atol=1e-12)


def test_missing_entries_are_drawn_from_their_law_given_the_others(rows_of, assert_mean):
    rng = np.random.default_rng(4)
    n = 4000
    x = np.full((n, 2), np.nan)
    x[:, 0] = 0.7
    told, _ = told_of(rng, 1, 2, "shared", n, impute=True, spread=0.5)
    rows = rows_of(x)
    rows.assign(told)
    drawn = rows.labelled.completed[:, 1]
    whitener = told.transform / 0.5
    covariance = np.linalg.inv(whitener.T @ whitener)
    mean = np.linalg.solve(told.transform, told.centre[0])
    expected = mean[1] + covariance[1, 0] / covariance[0, 0] * (0.7 - mean[0])
    variance = covariance[1, 1] - covariance[0, 1] ** 2 / covariance[0, 0]
    assert drawn.mean() == pytest.approx(expected, abs=5 * np.sqrt(variance / n))
    assert drawn.var() == pytest.approx(variance, rel=0.12)


def test_an_empty_tally_adds_nothing():
    tally = empty_tally(3, 2, SUMS)
    tally.count[:] = 1, 2, 3
    tally.rank[:] = 5
    both = merge(empty_tally(3, 2, SUMS), tally)
    for mine, its in zip(both, tally, strict=True):
        np.testing.assert_array_equal(mine, its)
