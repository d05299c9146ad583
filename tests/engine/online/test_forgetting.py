"""Rows that are forgotten: the law of those that are left, and trees that lose leaves.

Statistical checks have a false-alarm rate of 1e-4 each.
"""

import numpy as np
import pytest
from scipy import stats

from sticktree.engine.bulk.own import OwnBulkChain
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.bulk.sums import PRODUCTS, SQUARES, SUMS, Sums
from sticktree.engine.online.forgetting import sums_of_blocks, thinned, thinned_products
from sticktree.engine.online.rows import Between, follow
from sticktree.model import Model
from tests.engine.online.test_rows import blocks_of
from tests.support.bulk import rows_of
from tests.support.statistics import assert_frequencies, assert_mean

RATE = 0.3


def some_rows(gaps):
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(n, 2)) for n in (6, 1, 40)]
    if gaps:
        groups[2][::3, 1] = np.nan
    return groups


@pytest.mark.parametrize("gaps", [False, True])
def test_each_row_is_kept_with_the_same_probability(gaps):
    blocks, rng = blocks_of(some_rows(gaps), SQUARES), np.random.default_rng(1)
    kept = [thinned(blocks, RATE, SQUARES, rng) for _ in range(4000)]
    n = np.array([some.n for some in kept])
    for k, size in enumerate(blocks.n):
        law = stats.binom(size, 1.0 - RATE)
        # That something is always left changes the largest block once in 0.3⁴⁷.
        assert_frequencies(np.bincount(n[:, k], minlength=size + 1), law.pmf(np.arange(size + 1)))
    assert_mean([some.seen for some in kept], (1.0 - RATE) * blocks.seen)
    assert_mean([some.total for some in kept], (1.0 - RATE) * blocks.total)
    for some in kept[:50]:
        there = some.seen > 0
        np.testing.assert_allclose(some.mean[there], blocks.mean[there])
        assert (some.seen <= some.n[:, None]).all()


def test_something_is_always_left():
    blocks = thinned(blocks_of(some_rows(False)), 1.0 - 1e-12, SUMS, np.random.default_rng(0))
    assert blocks.n.tolist() == [0, 0, 1]


def test_products_keep_their_scatter():
    groups = some_rows(False)
    rows, blocks = np.concatenate(groups), blocks_of(groups)
    np.testing.assert_allclose(thinned_products(rows.T @ rows, blocks, blocks), rows.T @ rows)
    fewer = thinned(blocks, RATE, SUMS, np.random.default_rng(0))
    products = thinned_products(rows.T @ rows, blocks, fewer)
    within = sum(len(y) * np.cov(y.T, bias=True) for y in groups if len(y) > 1)
    means = [y.mean(axis=0) for y in groups]
    between = sum(n * np.outer(m, m) for n, m in zip(fewer.n, means, strict=True))
    expected = fewer.n.sum() / len(rows) * within + between
    np.testing.assert_allclose(products, expected)


@pytest.mark.parametrize("kind", [SUMS, SQUARES, PRODUCTS])
def test_sums_of_leaves_are_those_of_their_blocks(kind):
    groups = some_rows(False)
    found = sums_of_blocks(blocks_of(groups, kind), np.array([2, 0, 2]), 3, kind)
    of = np.repeat([2, 0, 2], [len(y) for y in groups])
    for mine, its in zip(found, Sums.over(np.concatenate(groups), of, 3, kind), strict=True):
        np.testing.assert_allclose(mine, its)


@pytest.mark.parametrize("noise", ["shared", "own"])
def test_leaves_that_lose_all_rows_go(noise):
    rng = np.random.default_rng(2)
    model = Model(
        np.array([0.4, 0.7]), covariance_type="diag", leaf_noise=noise, precision_prior=(1.0, 0.01)
    )
    kind = OwnBulkChain if noise == "own" else SharedBulkChain
    x = np.concatenate([rng.normal(c, 0.1, (40, 2)) for c in (-1.5, -0.5, 0.5, 1.5)])
    chain = kind(rows_of(x), model, np.random.default_rng(0))
    for _ in range(20):
        chain.sweep()
    before = chain.size
    follow(chain, rows_of(x[:40]), Between(forget=0.985))  # about two rows are left
    assert chain.size < before
    n = chain.rows.squashed.blocks.n
    assert chain.sums.n.sum() == n.sum() == chain.state.nodes["n"][0] < 20
    assert chain.rows.extent.n == 40 + n.sum()
    assert np.isfinite(chain.log_joint())
    for _ in range(10):
        chain.sweep()
        np.testing.assert_array_equal(chain.sums.n.sum(), 40 + n.sum())
    tree = chain.tree()
    assert tree.leaf.size == 40


def test_nothing_is_forgotten_unless_asked():
    rng = np.random.default_rng(2)
    x, model = rng.normal(size=(60, 2)), Model(np.array([0.4, 0.7]), covariance_type="diag")
    draws = []
    for options in ({}, {"between": Between(forget=0.0)}):
        chain = SharedBulkChain(rows_of(x), model, np.random.default_rng(0))
        follow(chain, rows_of(x[:30]), **options)
        chain.sweep()
        draws.append(chain.draw().log_joint)
    assert draws[0] == draws[1]
