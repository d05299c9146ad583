"""Blocks of rows that belong to groups: exact given the blocks, and groups that come and go.

Statistical checks have a false-alarm rate of 1e-4 each.
"""

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sticktree.engine.bulk.halves import Units, gain_grid
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.bulk.sums import SUMS, empty_tally
from sticktree.engine.common.franchise import log_grouped_tree
from sticktree.engine.online.blocks import (
    add_blocks,
    choose_halves,
    choose_leaves,
    lean_blocks,
)
from sticktree.engine.online.forgetting import thinned
from sticktree.engine.online.groups import StreamedGroups
from sticktree.engine.online.rows import Between, OnlineRows, Squashed, follow, restored_rows
from sticktree.model import Groups, Model
from tests.engine.bulk.test_grouped import GAMMA, fixed_chain, log_ungrouped
from tests.engine.bulk.test_shared_chain import ALPHA, DATA, NOISE_VARIANCE, SCALE
from tests.engine.online.test_rows import (
    FIRST,
    blocks_of,
    components,
    log_weight_of_row,
    mix,
    squashed_of,
    whole_tree,
)
from tests.support import shared_twin as twin
from tests.support.grouped import ExactGroups
from tests.support.statistics import assert_frequencies, assert_mean

GROUPS = [np.array([0]), np.array([2, 2]), np.array([0, 1, 1, 2, 1, 0])]
SEATED = [np.bincount(group, minlength=3) for group in GROUPS]


def rows_and_leaves(seed, n_leaves=4):
    rng = np.random.default_rng(seed)
    leaves = components(SUMS, "shared", n_leaves, 2, rng)
    rows = [rng.normal(size=(len(group), 2)) for group in GROUPS]
    return rows, leaves._replace(share=-rng.gamma(1.0, 1.0, (n_leaves, 3)))


# ---- blocks --------------------------------------------------------------------------------------


def test_a_block_weighs_what_its_rows_weigh_in_their_groups():
    rows, leaves = rows_and_leaves(0)
    expected = np.array(
        [
            [
                sum(
                    log_weight_of_row(leaves, k, one) + leaves.share[k, j]
                    for one, j in zip(y, group, strict=True)
                )
                for k in range(4)
            ]
            for y, group in zip(rows, GROUPS, strict=True)
        ]
    )
    found = blocks_of(rows, seated=SEATED).log_weights(leaves)
    np.testing.assert_allclose(found - found[:, :1], expected - expected[:, :1], rtol=1e-10)


def test_rows_of_groups_are_tallied():
    rows, leaves = rows_and_leaves(1, 3)
    tally = add_blocks(
        empty_tally(3, 2, SUMS, 3), blocks_of(rows, seated=SEATED), np.array([2, -1, 2]), leaves
    )
    assert tally.seated.tolist() == [[0, 0, 0], [0, 0, 0], (SEATED[0] + SEATED[2]).tolist()]
    np.testing.assert_array_equal(tally.seated.sum(axis=1), tally.count)


def units_of(leaves, share, pins=((7, 8),)):
    """Return one unit of all leaves; the first three are its whole and its halves."""
    return Units(
        np.zeros(9, dtype=np.int64),
        np.array(pins, dtype=np.uint64),
        leaves._replace(share=np.empty((0, 0))),
        np.array([np.log([share, 1.0 - share]).T]),
    )


def test_halves_are_chosen_by_the_shares_of_all_groups():
    rng = np.random.default_rng(2)
    leaves = components(SUMS, "shared", 3, 2, rng)
    leaves = leaves._replace(centre=np.zeros((3, 2)), log_weight=np.zeros(3))
    share = np.array([0.9, 0.3, 0.6])
    n_blocks = 4000
    rows = [np.zeros((3, 2))] * n_blocks
    blocks = blocks_of(rows, seated=[[2, 1, 0]] * n_blocks)
    gain = np.zeros((1, 2), dtype=np.int64)
    grid = gain_grid(3 * n_blocks)
    half = choose_halves(
        blocks, np.zeros(n_blocks, dtype=np.int64), units_of(leaves, share), gain, grid
    )
    first, second = 0.9**2 * 0.3, 0.1**2 * 0.7
    assert_frequencies(np.bincount(half, minlength=2), np.array([first, second]) / (first + second))
    assert grid.value(gain)[0] == pytest.approx(n_blocks * np.log(first + second))


def test_what_blocks_tell_of_shares_has_the_slope_of_their_likelihood():
    rows, leaves = rows_and_leaves(3, 3)
    blocks, b, n_groups = blocks_of(rows, seated=SEATED), 0.3, 3
    units = units_of(leaves, np.full(n_groups, b))
    told = lean_blocks(blocks, np.zeros(3, dtype=np.int64), units)[0]

    def log_likelihood(r):
        values = blocks.log_weights(units.densities)
        first = values[:, 1] + blocks.seated @ np.log(r)
        return np.logaddexp(first, values[:, 2] + blocks.seated @ np.log1p(-r)).sum()

    for j in range(n_groups):
        step = 1e-6 * (np.arange(n_groups) == j)
        slope = (log_likelihood(b + step) - log_likelihood(b - step)) / 2e-6
        assert told[j, 0] / b - told[j, 1] / (1.0 - b) == pytest.approx(slope, rel=1e-5, abs=1e-7)
    nobody = lean_blocks(blocks, np.full(3, -1), units._replace(of_leaf=np.full(9, -1)))
    assert not nobody.any()


def test_rows_of_every_group_are_forgotten_alike():
    rows, _ = rows_and_leaves(4)
    blocks, rng, rate = blocks_of(rows, seated=SEATED), np.random.default_rng(0), 0.3
    kept = [thinned(blocks, rate, SUMS, rng) for _ in range(3000)]
    seated = np.array([some.seated for some in kept])
    np.testing.assert_array_equal([some.n for some in kept], seated.sum(axis=2))
    n = SEATED[2][1]
    law = stats.binom(n, 1.0 - rate).pmf(np.arange(n + 1))
    assert_frequencies(np.bincount(seated[:, 2, 1], minlength=n + 1), law)
    assert_mean(list(seated[:, 2]), (1.0 - rate) * SEATED[2])
    left = thinned(blocks, 1.0 - 1e-12, SUMS, rng)
    assert left.n.tolist() == [0, 0, 1]
    assert left.seated.sum() == 1


# ---- the law -------------------------------------------------------------------------------------


def grouped_chain(data, group, sizes, depth, discount, seed, rows_of):
    """Return a chain whose hyper-parameters are given; the last rows are in blocks."""
    chain = fixed_chain(rows_of(data, group=group), group, depth, discount, seed)
    while chain.leaves.size > 1:
        chain._split_merge(chain._assign(), 4)
    n_new = len(data) - sum(sizes)
    ends = n_new + np.cumsum(sizes)
    parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    seated = [np.bincount(group[part], minlength=max(group) + 1) for part in parts]
    squashed = squashed_of([data[part] for part in parts])
    squashed = squashed._replace(blocks=squashed.blocks._replace(seated=np.array(seated)))
    new = rows_of(data[:n_new], group=group[:n_new])
    chain._measure(OnlineRows(new.placement, squashed))
    numbers = [*range(n_new), *(FIRST + m for m in range(len(sizes)))]
    ranks = [mix(np.uint64(number), np.uint64(chain.salt)) for number in numbers]
    chain.rank, chain.anchor = (
        np.array([value], dtype=np.uint64) for value in (min(ranks), numbers[int(np.argmin(ranks))])
    )
    return chain


CASES = {
    "blocks of one row, two groups": ([0, 1, 0, 1], [1, 1], 0.25),
    "a block of two groups": ([0, 0, 0, 1], [2], 0.0),
    "a block of one group": ([0, 1, 1, 1], [2], 0.25),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_trees_are_visited_as_the_posterior_says(name, rows_of):
    group, sizes, discount = CASES[name]
    group, depth = np.array(group), 1
    data = DATA.copy()
    data[-1] = 0.5 * (data[-1] + data[-2])  # so that rows of a block are not too far apart
    exact = ExactGroups(ALPHA[:depth], discount, GAMMA, group)
    setting = twin.Setting(ALPHA[:depth], discount, SCALE[: depth + 1], NOISE_VARIANCE)
    logs = np.array([twin.log_posterior(tree, data, setting) for tree in exact.trees])
    logs += exact.log_prior - np.array([log_ungrouped(tree, setting) for tree in exact.trees])
    chance = np.exp(logs - logs.max())
    firsts = np.repeat(len(data) - sum(sizes) + np.cumsum([0, *sizes[:-1]]), sizes)
    members = np.arange(len(data) - sum(sizes), len(data))
    for k, tree in enumerate(exact.trees):  # rows of a block never part
        chance[k] *= (tree.leaf[members] == tree.leaf[firsts]).all()
    chain = grouped_chain(data, group, sizes, depth, discount, [7, len(sizes)], rows_of)
    place = {tree.compressed(): k for k, tree in enumerate(exact.trees)}
    seen = []
    for sweep in range(100 + 800 * 5):
        chain._split_merge(chain._assign(), 4)
        chain.move_concentration()  # sticks alone: nothing is learned
        if sweep >= 100 and sweep % 5 == 0:
            seen.append(place[whole_tree(chain, sizes)])
    assert_frequencies(np.bincount(seen, minlength=chance.size), chance / chance.sum())


# ---- groups come and go --------------------------------------------------------------------------

MODEL = Model(np.array([0.4, 0.7]), covariance_type="full", precision_prior=(1.0, 0.01))


def batch(seed, names, n=90):
    rng = np.random.default_rng(seed)
    group = rng.choice(names, n)
    x = np.array([[-1.5, 0.0], [0.0, 0.3], [1.5, -1.0]])[rng.integers(3, size=n)]
    return x + 0.2 * rng.normal(size=(n, 2)), group.astype(np.int32)


def assert_counted(chain, counts):
    np.testing.assert_array_equal(chain.seated.sum(axis=0), counts)
    np.testing.assert_array_equal(chain.seated.sum(axis=1), chain.sums.n)
    np.testing.assert_array_equal(chain.state.seated[0, :-1], counts)
    assert chain.state.present[0] == len(counts) == chain.n_groups
    assert np.isfinite(chain.log_joint())


def test_groups_go_on_and_new_ones_come(rows_of):
    (x, first), (y, second) = batch(0, [0, 1, 2]), batch(1, [0, 3])
    model = replace(MODEL, groups=Groups(first))
    chain = SharedBulkChain(rows_of(x, group=first), model, np.random.default_rng(0))
    for _ in range(3):
        chain.sweep()
    gamma, log_tree = chain.state.gamma[0], log_grouped_tree(chain.state)
    # What was 0, 1, 2 is now 2, 0, 1, and number 4 has no rows here.
    place = np.array([2, 0, 1])
    between = Between(groups=StreamedGroups(second, total=5), place=place)
    follow(chain, rows_of(y, group=second), between)
    counts = np.zeros(5, dtype=int)
    counts[place] = np.bincount(first)
    assert_counted(chain, counts)
    assert chain.state.gamma[0] == gamma
    # Rows chose anew on the way, and groups of no rows do not count: the same tree is as likely.
    assert np.isfinite(log_tree)
    for _ in range(3):
        chain.sweep()
    assert_counted(chain, counts + np.bincount(second, minlength=5))
    snapshot, state = chain.snapshot(), copy.deepcopy(chain.rng.bit_generator.state)
    assert snapshot["stream_seated"].sum() == len(x)
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    rows = restored_rows(rows_of(y, group=second), snapshot, 5)
    again = SharedBulkChain.restored(rows, chain.model, rng, snapshot)
    for one in (chain, again):
        one.sweep()
    assert chain.log_joint() == again.log_joint()


def test_empty_groups_change_nothing_of_the_tree(rows_of):
    x, group = batch(0, [0, 1, 2])
    model = replace(MODEL, groups=Groups(group))
    chain = SharedBulkChain(rows_of(x, group=group), model, np.random.default_rng(0))
    before = chain.log_joint()
    chain.regroup(StreamedGroups(group, total=7), np.array([4, 0, 5]))
    chain._settle()
    assert chain.log_joint() == pytest.approx(before, rel=1e-12)
    chain.regroup(Groups(group), np.array([0, -1, -1, -1, 1, 2, -1]))
    chain._settle()
    assert chain.log_joint() == pytest.approx(before, rel=1e-12)


def test_a_group_that_is_forgotten_may_go(rows_of):
    (x, first), (y, second) = batch(0, [0, 1, 2]), batch(1, [0, 1])
    chain = SharedBulkChain(
        rows_of(x, group=first), replace(MODEL, groups=Groups(first)), np.random.default_rng(0)
    )
    same = np.arange(3)
    between = Between(forget=1.0 - 1e-12, groups=StreamedGroups(second, total=3), place=same)
    follow(chain, rows_of(y, group=second), between)
    assert chain.seated.sum() == 1
    chain.sweep()
    left = chain.seated.sum(axis=0) > 0
    place = np.where(left, np.cumsum(left) - 1, -1)
    third = np.zeros(len(y), dtype=np.int32)
    follow(
        chain,
        rows_of(y, group=third),
        Between(groups=StreamedGroups(third, total=int(left.sum())), place=place),
    )
    assert chain.n_groups == left.sum()
    chain.sweep()
    assert chain.seated.sum() == 2 * len(y) + 1


def test_blocks_choose_among_leaves_by_their_groups():
    leaves = components(SUMS, "shared", 2, 2, np.random.default_rng(0))
    leaves = leaves._replace(
        centre=np.zeros((2, 2)),
        log_weight=np.zeros(2),
        share=np.log([[0.8, 0.3], [0.2, 0.7]]),
        anchor=np.zeros(2, dtype=np.uint64),
    )
    blocks = blocks_of([np.zeros((3, 2))] * 4000, seated=[[1, 2]] * 4000)
    found = np.bincount(choose_leaves(blocks, leaves), minlength=2)
    weight = np.array([0.8 * 0.3**2, 0.2 * 0.7**2])
    assert_frequencies(found, weight / weight.sum())


def test_nothing_squashed_has_room_for_groups():
    assert Squashed.nothing(2, SUMS, 3).blocks.seated.shape == (0, 3)
