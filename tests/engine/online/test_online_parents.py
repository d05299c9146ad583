"""Blocks of rows whose groups have parents: exact given the blocks, and parents that come and go.

Statistical checks have a false-alarm rate of 1e-4 each.
"""

from dataclasses import replace

import numpy as np
import pytest

from sticktree.engine.bulk.regrouped import sticks_of_others
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.online.groups import StreamedGroups
from sticktree.engine.online.rows import Between, OnlineRows, follow, restored_rows
from sticktree.model import Groups
from tests.engine.bulk.test_parented import (
    CONDITIONS,
    DAYS,
    GAMMA,
    chances,
    check_sums,
    fixed_chain,
    law_of,
    log_likelihoods,
)
from tests.engine.bulk.test_shared_chain import ALPHA, DATA, assert_same_draw
from tests.engine.online.test_online_groups import MODEL, assert_counted, batch
from tests.engine.online.test_rows import FIRST, mix, squashed_of, whole_tree
from tests.support.grouped import ExactGroups
from tests.support.statistics import assert_frequencies

BLOCKS = {
    "days, a block of two of them": ([0, 2, 1, 0], DAYS, [2], 0.25),
    "days, two in blocks of their own": ([2, 1, 0, 1], DAYS, [1, 1], 0.25),
    "conditions, a block of both": ([0, 2, 1, 2], CONDITIONS, [2], 0.0),
}


def chain_with_blocks(group, parents, sizes, depth, discount, seed, rows_of):
    """Return a chain whose hyper-parameters are given; the last rows are in blocks."""
    rows = rows_of(DATA, group=group)
    chain = fixed_chain(rows, group, parents, depth, discount, seed)
    while chain.leaves.size > 1:
        chain._split_merge(chain._assign(), 4)
    n_new = len(DATA) - sum(sizes)
    ends = n_new + np.cumsum(sizes)
    parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    seated = [np.bincount(group[part], minlength=max(group) + 1) for part in parts]
    squashed = squashed_of([DATA[part] for part in parts])
    squashed = squashed._replace(blocks=squashed.blocks._replace(seated=np.array(seated)))
    new = rows_of(DATA[:n_new], group=group[:n_new])
    chain._measure(OnlineRows(new.placement, squashed))
    numbers = [*range(n_new), *(FIRST + m for m in range(len(sizes)))]
    ranks = [mix(np.uint64(number), np.uint64(chain.salt)) for number in numbers]
    first = int(np.argmin(ranks))
    chain.rank = np.array([ranks[first]], dtype=np.uint64)
    chain.anchor = np.array([numbers[first]], dtype=np.uint64)
    return chain


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_trees_are_visited_as_the_posterior_says(name, rows_of):
    group, parents, sizes, discount = BLOCKS[name]
    group, depth, n = np.array(group), 1, len(DATA)
    trees = ExactGroups(ALPHA[:depth], discount, GAMMA, group).trees
    law = law_of(ALPHA[:depth], discount, parents)
    logs = log_likelihoods(trees, depth, discount)
    logs += [law.log_prob(tree, group) for tree in trees]
    firsts = np.repeat(n - sum(sizes) + np.cumsum([0, *sizes[:-1]]), sizes)
    members = np.arange(n - sum(sizes), n)
    together = [(tree.leaf[members] == tree.leaf[firsts]).all() for tree in trees]
    chance = chances(np.where(together, logs, -np.inf))  # rows of a block never part
    chain = chain_with_blocks(group, parents, sizes, depth, discount, [7, len(sizes)], rows_of)
    place = {tree.compressed(): k for k, tree in enumerate(trees)}
    seen = []
    for sweep in range(100 + 800 * 5):
        chain._split_merge(chain._assign(), 4)
        chain.move_concentration()  # sticks alone: nothing is learned
        if sweep >= 100 and sweep % 5 == 0:
            seen.append(place[whole_tree(chain, sizes)])
    assert_frequencies(np.bincount(seen, minlength=chance.size), chance)


# ---- parents come and go -------------------------------------------------------------------------


def run(x, group, parents, rows_of, n_sweeps=3):
    groups = Groups(group, parents=np.array(parents))
    rows = rows_of(x, group=group)
    chain = SharedBulkChain(rows, replace(MODEL, groups=groups), np.random.default_rng(0))
    for _ in range(n_sweeps):
        chain.sweep()
    return chain


def days(total):
    """Return days after days, and one to come."""
    return np.append(np.arange(total) - 1, total - 1)


def between_days(group, place, total):
    groups = StreamedGroups(group, parents=days(total), total=total)
    return Between(groups=groups, place=np.array(place))


def test_days_go_on_and_new_ones_come(rows_of):
    (x, first), (y, second) = batch(0, [0, 1, 2]), batch(1, [1, 3])
    chain = run(x, first, days(3), rows_of)
    # What was 0, 1, 2 is now 0, 2, 3; number 1 is a day between that came late, 4 has no rows.
    kappa, gamma = float(chain.state.kappa[0]), float(chain.state.gamma[0])
    follow(chain, rows_of(y, group=second), between_days(second, [0, 2, 3, -1], 5))
    counts = np.bincount(first)[[0, 0, 1, 2, 0]] * [1, 0, 1, 1, 0]
    assert_counted(chain, counts)
    assert (chain.state.kappa[0], chain.state.gamma[0]) == (kappa, gamma)
    assert chain.state.elder.tolist() == [-1, 0, 1, 2, 3]
    check_sums(chain.state)
    for _ in range(3):
        chain.sweep()
        check_sums(chain.state)
    assert_counted(chain, counts + np.bincount(second, minlength=5))
    rng = np.random.default_rng()
    rng.bit_generator.state = chain.rng.bit_generator.state
    snapshot = chain.snapshot()
    again = restored_rows(rows_of(y, group=second), snapshot, 5)
    again = SharedBulkChain.restored(again, chain.model, rng, snapshot)
    for one in (chain, again):
        one.sweep()
    assert_same_draw(chain.draw(), again.draw())


def test_sticks_go_with_their_parents_and_new_ones_are_as_expected(rows_of):
    x, group = batch(0, [0, 1, 2])
    state = run(x, group, days(3), rows_of).state
    old, new = Groups(group, parents=days(3)).line, Groups(group + 1, parents=days(5)).line
    found = sticks_of_others(state, old, new, np.array([3, -1, 1, -1]))
    np.testing.assert_array_equal(found["theta"][..., [3, 1]], state.theta[..., [0, 2]])
    np.testing.assert_allclose(np.exp(found["theta_rest"][..., 0]), state.rest)
    kappa = state.kappa[0]
    expected = kappa * np.exp(found["theta"][..., 1]) + (1.0 - kappa) * state.stick
    np.testing.assert_allclose(np.exp(found["theta"][..., 2]), expected)
    assert found["above"].tolist() == [0, 1, 2, 3, -1]
    alone = sticks_of_others(state, old, None, np.array([0, 1, 2, -1]))
    assert (alone["theta"].shape[2], alone["elder"].size, alone["above"].size) == (0, 0, 0)


@pytest.mark.parametrize("parents", [[3, 3, 4, -1, -1], [-1, -1, -1]])
def test_a_stream_may_gain_parents_and_lose_them(parents, rows_of):
    """Conditions 3 and 4, of which the second had no rows before, and lost its only group."""
    (x, first), (y, second) = batch(0, [0, 1, 2]), batch(1, [0, 2])
    chain = run(x, first, parents, rows_of)
    other = [3, -1, 4, -1, 3] if len(parents) == 5 else [-1, 3, 3, -1]
    n_groups, place = (3, [0, 1, 2, 4, -1]) if len(parents) == 5 else (3, [0, 1, 2])
    groups = StreamedGroups(second, parents=np.array(other), total=n_groups)
    follow(chain, rows_of(y, group=second), Between(groups=groups, place=np.array(place)))
    assert chain.related
    check_sums(chain.state)
    for _ in range(2):
        chain.sweep()
        check_sums(chain.state)
    groups = StreamedGroups(second, parents=np.array([-1, -1, -1]), total=3)
    place = np.array([0, 1, 2, -1, -1])[: len(other)]
    follow(chain, rows_of(y, group=second), Between(groups=groups, place=place))
    assert not chain.related
    for _ in range(2):
        chain.sweep()
    assert np.isfinite(chain.log_joint())
    assert chain.draw().parameters.keys().isdisjoint({"theta", "kinship"})


def test_a_parent_without_rows_may_have_some_and_lose_them_again(rows_of):
    """Number 2 is the parent of both; then it is a group, and then has no rows any more."""
    (x, first), (y, second) = batch(0, [0, 1]), batch(1, [0, 1, 2])
    chain = run(x, first, [2, 2, -1], rows_of)
    groups = StreamedGroups(second, parents=np.array([2, 2, -1]), total=3)
    follow(chain, rows_of(y, group=second), Between(groups=groups, place=np.arange(3)))
    assert chain.state.direct.tolist() == [0, 0, 1, 0]
    for _ in range(2):
        chain.sweep()
    check_sums(chain.state)
    forgetful = Between(1.0 - 1e-12, 0.0, groups, np.arange(3))
    follow(chain, rows_of(x, group=first), forgetful)
    left = np.flatnonzero(chain.seated.sum(axis=0))
    assert left.size == 1
    chain.sweep()
    groups = StreamedGroups(first, parents=np.array([2, 2, -1]), total=2)
    if left[0] != 2:
        follow(chain, rows_of(x, group=first), Between(groups=groups, place=np.arange(3)))
        assert chain.n_groups == 2
        chain.sweep()
        check_sums(chain.state)
