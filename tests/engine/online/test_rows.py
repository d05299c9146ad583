"""Blocks of rows that have left memory: exact given the blocks, and the same in any partition.

Statistical checks have a false-alarm rate of 1e-4 each.
"""

import copy
import math

import numpy as np
import pytest

from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.philox import mix
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.bulk.sums import PRODUCTS, SQUARES, SUMS, Grid, empty_tally, n_sums
from sticktree.engine.online.blocks import (
    FIRST,
    Blocks,
    add_blocks,
    choose_leaves,
    cut,
    join,
    on_grid,
)
from sticktree.engine.online.rows import MOST_BLOCKS, OnlineRows, Squashed, follow, restored_rows
from sticktree.engine.shared.regraft import regraft_sweep
from sticktree.engine.shared.split_nodes import node_split_sweep
from sticktree.engine.shared.state import NOISE, set_scales
from sticktree.model import Column, Model
from sticktree.processes import enumerate_trees
from sticktree.tree import Tree
from tests.support.statistics import assert_frequencies

DATA = np.array([[0.0, 0.3], [0.4, -0.2], [2.0, 1.5], [-1.0, 2.0]])
ALPHA = np.array([1.0, 0.7, 0.5])
SCALE = np.array([1.0, 1.5, 0.7, 0.4])
NOISE_VARIANCE = 0.5


def second_sums(y, kind):
    """Return the sums of a block besides that of y, one by one."""
    dimension = y.shape[1]
    if kind == SQUARES:
        return np.nansum(y**2, axis=0)
    if kind == PRODUCTS:
        pairs = [(d, e) for d in range(dimension) for e in range(d + 1)]
        return np.array([(y[:, d] * y[:, e]).sum() for d, e in pairs])
    return np.empty(0)


def blocks_of(groups, kind=SUMS, seated=None):
    """Return one block for each array of rows, with ``seated`` rows of each group in it."""
    none = np.zeros((len(groups), 0), dtype=np.int64)
    return Blocks(
        np.arange(len(groups), dtype=np.uint64) + np.uint64(FIRST),
        np.array([len(y) for y in groups]),
        np.array([(~np.isnan(y)).sum(axis=0) for y in groups]),
        np.array([np.nansum(y, axis=0) for y in groups]),
        np.array([second_sums(y, kind) for y in groups]),
        none if seated is None else np.array(seated, dtype=np.int64),
        np.zeros(len(groups)),
    )


def squashed_of(groups, kind=SUMS):
    rows = np.concatenate(groups)
    largest = float(np.abs(rows).max())
    return Squashed(blocks_of(groups, kind), rows.T @ rows, len(rows), largest, FIRST + len(groups))


# ---- what a block weighs -------------------------------------------------------------------------


def components(kind, form, n_leaves, dimension, rng):
    """Return random leaves in one of the forms."""
    full = form == "root"
    precision = rng.gamma(3.0, 1.0, (n_leaves, dimension))
    transform = np.eye(dimension)
    if form == "shared":
        precision[:] = 0.7
        transform = rng.normal(size=(dimension, dimension))
    root = np.tril(rng.normal(size=(n_leaves, dimension, dimension)))
    return Components(
        log_weight=rng.normal(size=n_leaves),
        centre=rng.normal(size=(n_leaves, dimension)),
        precision=precision,
        transform=transform,
        root=root if full else root[:0],
        limit=np.zeros(n_leaves, dtype=np.uint64),
        anchor=np.zeros(n_leaves, dtype=np.uint64),
        words=np.arange(6, dtype=np.uint64),
        kind=kind,
        impute=False,
        grid=np.array([2.0**40, 2.0**80, 2.0**40, 2.0**80]),
    )


def log_weight_of_row(leaves, k, y):
    """Return the log weight of a leaf for one row, entries that are missing left out."""
    value = leaves.log_weight[k]
    if leaves.root.shape[0]:
        return value - 0.5 * ((leaves.root[k] @ (y - leaves.centre[k])) ** 2).sum()
    for d in range(y.size):
        x = leaves.transform[d] @ y if not np.isnan(y).any() else leaves.transform[d, d] * y[d]
        if np.isnan(y[d]):
            value -= 0.5 * math.log(leaves.precision[k, d])
        else:
            value -= 0.5 * leaves.precision[k, d] * (x - leaves.centre[k, d]) ** 2
    return value


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize(
    ("kind", "form"),
    [
        (SUMS, "shared"),
        (SQUARES, "diag"),
        (SQUARES, "gaps"),
        (PRODUCTS, "root"),
        (PRODUCTS, "diag"),
    ],
)
def test_a_block_weighs_what_its_rows_weigh(kind, form, dimension):
    rng = np.random.default_rng([kind, dimension])
    leaves = components(kind, form, 4, dimension, rng)
    groups = [rng.normal(size=(n, dimension)) for n in (1, 2, 30)]
    if form == "gaps":
        groups[2][::3, 0] = np.nan
        groups[1][:, -1] = np.nan
    expected = np.array(
        [[sum(log_weight_of_row(leaves, k, y) for y in rows) for k in range(4)] for rows in groups]
    )
    found = blocks_of(groups, kind).log_weights(leaves)
    if kind == SUMS:  # with the same noise everywhere, all but the differences cancels
        expected, found = (values - values[:, :1] for values in (expected, found))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", [SUMS, SQUARES, PRODUCTS])
def test_blocks_are_tallied_as_their_rows(kind):
    rng = np.random.default_rng(kind)
    leaves = components(kind, "diag", 3, 2, rng)
    groups = [rng.normal(size=(n, 2)) for n in (3, 1, 20)]
    leaf = np.array([2, -1, 2])
    tally = add_blocks(empty_tally(3, 2, kind), blocks_of(groups, kind), leaf, leaves)
    assert tally.count.tolist() == [0, 0, 23]
    grid = Grid(2.0**40, 2.0**80)
    rows = np.concatenate([groups[0], groups[2]])
    assert tally.sums.shape == (3, n_sums(kind, 2), 2)
    expected = np.concatenate([rows.sum(axis=0), second_sums(rows, kind)])
    np.testing.assert_allclose(grid.value(tally.sums[2]), expected, rtol=1e-14)
    ranks = {mix(np.uint64(FIRST + m), leaves.words[3]): FIRST + m for m in (0, 2)}
    assert tally.rank[2] == min(ranks)
    assert tally.anchor[2] == ranks[min(ranks)]


def test_blocks_keep_to_their_ranks_and_anchors_stay():
    rng = np.random.default_rng(0)
    blocks = blocks_of([rng.normal(size=(1, 2)) for _ in range(200)])
    leaves = components(SUMS, "shared", 3, 2, rng)
    ranks = np.array([mix(number, leaves.words[2]) for number in blocks.number])
    order = np.argsort(ranks)
    # The anchors are the first, the third and the hundredth; all leaves attract the same.
    anchors = order[[0, 2, 100]]
    leaves = leaves._replace(
        limit=ranks[anchors],
        anchor=blocks.number[anchors],
        log_weight=np.zeros(3),
        centre=np.zeros((3, 2)),
    )
    leaf = choose_leaves(blocks, leaves)
    assert leaf[anchors].tolist() == [0, 1, 2]
    assert leaf[order[1]] == 0
    assert set(leaf[order[3:100]]) == {0, 1}
    late = np.bincount(leaf[order[101:]], minlength=3)
    assert (late > 15).all()  # of 99, 33 each are expected: by chance once in 10,000


def test_large_sums_fit_their_grid():
    values = np.array([0.0, 1.0, -3.7e5, 123456.789e3])
    grid = Grid.of(10**6, 200.0)
    np.testing.assert_array_equal(grid.value(on_grid(values, grid)), values)


def test_leaves_are_cut_where_rows_scatter_most():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(c, 0.1, (40, 2)) for c in ((0, 0), (5, 0), (5, 9), (90, 90))])
    leaf = np.repeat([0, 0, 0, 2], 40)
    of, leaves = cut(x, leaf, 3)
    assert sorted(leaves.tolist()) == [0, 0, 0, 2, 2, 2]
    np.testing.assert_array_equal(leaves[of], leaf)
    for part in np.split(of[:120], 3):
        assert np.unique(part).size == 1
    assert cut(np.ones((5, 2)), np.zeros(5, dtype=int), 4)[1].tolist() == [0]


def test_the_nearest_blocks_of_a_leaf_are_joined():
    n = np.array([5, 5, 5, 1, 9])
    mean = np.array([[0.0], [0.1], [7.0], [0.0], [0.0]])
    into, size = join(n, mean, np.array([1, 1, 1, 0, 2]), 2)
    assert size == 4
    assert into[0] == into[1]
    assert np.unique(into).size == 4
    unchanged, size = join(n, mean, np.array([1, 1, 1, 0, 2]), 3)
    assert unchanged.tolist() == [0, 1, 2, 3, 4]
    blocks = blocks_of([np.full((k, 2), v) for k, v in ((2, 1.0), (3, 2.0), (1, 5.0))], PRODUCTS)
    joined = blocks.joined(np.array([0, 1, 0]), 2)
    assert joined.n.tolist() == [3, 3]
    np.testing.assert_allclose(joined.total, [[7.0, 7.0], [6.0, 6.0]])
    assert joined.number.tolist() == [FIRST, FIRST + 1]


# ---- the law -------------------------------------------------------------------------------------


def fixed_chain(data, groups, depth, discount, seed, rows_of):
    """Return a chain whose hyper-parameters are given; rows of groups are blocks.

    It starts with all rows in one leaf.
    """
    model = Model(ALPHA[:depth], concentration=1.0, discount=discount)
    chain = SharedBulkChain(rows_of(data), model, np.random.default_rng(seed))
    chain.factor = np.ones(2)
    chain.state.scalars[NOISE] = NOISE_VARIANCE
    chain.state.levels["scale"] = SCALE[: depth + 1]
    set_scales(chain.state)
    while chain.leaves.size > 1:
        chain._split_merge(chain._assign(), 4)
        regraft_sweep(chain.state, chain.words, 3)
    new = rows_of(data[: len(data) - sum(map(len, groups))])
    chain._measure(OnlineRows(new.placement, squashed_of(groups)))
    numbers = [*range(chain.rows.extent.present), *(FIRST + m for m in range(len(groups)))]
    ranks = [mix(np.uint64(number), np.uint64(chain.salt)) for number in numbers]
    chain.rank, chain.anchor = (
        np.array([value], dtype=np.uint64) for value in (min(ranks), numbers[int(np.argmin(ranks))])
    )
    return chain


def whole_tree(chain, sizes):
    """Return the tree of the rows in memory and of those in blocks."""
    parent, level, _, number = chain._shape()
    of_leaf = np.where(chain.of_leaf < 0, chain.of_leaf, number[chain.of_leaf])
    of_half = np.where(chain.of_half < 0, chain.of_half, number[chain.of_half])
    blocks = chain.rows.labels_of_blocks(of_leaf.astype(np.int64), of_half.astype(np.int64))
    leaf = np.concatenate([chain._labels(number), np.repeat(blocks, sizes)])
    return Tree(parent, leaf, level=level)


def visits(chain, trees, sizes, n_draws, thin):
    place = {tree.compressed(): k for k, tree in enumerate(trees)}
    out = []
    for sweep in range(100 + n_draws * thin):
        chain._split_merge(chain._assign(), 4)
        regraft_sweep(chain.state, chain.words, 3)
        node_split_sweep(chain.state, chain.words, 1)
        chain._settle()
        if sweep >= 100 and sweep % thin == 0:
            out.append(place[whole_tree(chain, sizes)])
    return np.array(out)


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "discount", "n_blocks"), [(2, 0.3, 2)])
def test_blocks_of_one_row_have_the_law_of_rows(depth, discount, n_blocks, twin, rows_of):
    n_data = len(DATA)
    setting = twin.Setting(ALPHA[:depth], discount, SCALE[: depth + 1], NOISE_VARIANCE)
    trees = list(enumerate_trees(n_data, depth))
    probabilities = twin.posterior(trees, DATA, setting)
    groups = [DATA[k : k + 1] for k in range(n_data - n_blocks, n_data)]
    chain = fixed_chain(DATA, groups, depth, discount, [depth, n_blocks], rows_of)
    seen = visits(chain, trees, [1] * n_blocks, 800, 4)
    assert_frequencies(np.bincount(seen, minlength=len(trees)), probabilities)


@pytest.mark.slow
def test_a_block_has_the_law_of_rows_that_stay_together(twin, rows_of):
    depth, discount = 2, 0.2
    data = np.array([[0.0, 0.3], [0.9, -0.2], [0.1, 1.5], [-0.4, 0.8]])
    setting = twin.Setting(ALPHA[:depth], discount, SCALE[: depth + 1], NOISE_VARIANCE)
    trees = list(enumerate_trees(len(data), depth))
    probabilities = np.array(twin.posterior(trees, data, setting))
    together = np.array([tree.leaf[2] == tree.leaf[3] for tree in trees])
    kept = [tree for tree, both in zip(trees, together, strict=True) if both]
    probabilities = probabilities[together] / probabilities[together].sum()
    chain = fixed_chain(data, [data[2:]], depth, discount, 7, rows_of)
    seen = visits(chain, kept, [2], 800, 4)
    assert_frequencies(np.bincount(seen, minlength=len(kept)), probabilities)


# ---- batches -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def batches():
    rng = np.random.default_rng(5)
    centres = np.array([[-1.5, 0.0], [0.0, 0.3], [1.0, 1.0], [1.6, -1.0]])
    return [centres[rng.integers(4, size=300)] + 0.2 * rng.normal(size=(300, 2)) for _ in range(7)]


MODEL = Model(np.array([0.4, 0.7]), covariance_type="full", precision_prior=(1.0, 0.01))


def streamed(batches, rows_of, n_sweeps=2):
    chain = SharedBulkChain(rows_of(batches[0]), MODEL, np.random.default_rng(0))
    chain.sweep()
    for batch in batches[1:]:
        follow(chain, rows_of(batch))
        for _ in range(n_sweeps):
            chain.sweep()
    return chain


def assert_same_draw(first, second):
    np.testing.assert_array_equal(first.leaf, second.leaf)
    np.testing.assert_array_equal(first.parent, second.parent)
    assert first.log_joint == second.log_joint
    for name, value in first.parameters.items():
        np.testing.assert_array_equal(value, second.parameters[name])


@pytest.mark.parametrize("gaps", [False, True])
def test_draws_do_not_depend_on_partitions_and_threads(gaps, batches, rows_of, many_parts):
    some = [batch.copy() for batch in batches[:3]]
    if gaps:
        some[0][::7, 0] = np.nan
        some[2][3::11, 1] = np.nan
    expected = streamed(some, rows_of).draw(True)
    assert_same_draw(expected, streamed(some, lambda x: rows_of(x, 2)).draw(True))
    cut = streamed(some, lambda x: many_parts(x, [10, 77, 200], order=[2, 0, 3, 1])).draw(True)
    assert_same_draw(expected, cut)


def test_all_rows_count_and_blocks_are_bounded(batches, rows_of):
    chain = streamed(batches, rows_of)
    seen = np.concatenate(batches)
    assert chain.sums.n.sum() == len(seen)
    np.testing.assert_allclose(chain.sums.total.sum(axis=0), seen.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(chain._products, seen.T @ seen, rtol=1e-9)
    squashed = chain.rows.squashed
    assert squashed.n == squashed.blocks.n.sum() == len(seen) - len(batches[-1])
    # Leaves may have merged since, but no batch adds blocks to those that had enough.
    assert squashed.blocks.n.size <= MOST_BLOCKS * 3 * chain.leaves.size
    assert squashed.next_number - FIRST > squashed.blocks.n.size
    assert np.unique(squashed.blocks.number).size == squashed.blocks.n.size
    draw = chain.draw(True)
    assert draw.n_data == draw.leaf.size == len(batches[-1])
    assert draw.rows_below()[0] == len(seen)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["diag", "full"])
def test_leaves_with_own_noise_follow_too(form, batches, rows_of):
    from sticktree.engine.bulk.own import OwnBulkChain

    columns = (Column("gaussian"), Column("gaussian"))
    model = Model(np.array([0.4, 0.7]), covariance_type=form, leaf_noise="own", columns=columns)
    some = [batch.copy() for batch in batches[:3]]
    some[1][::7, 0] = np.nan
    chain = OwnBulkChain(rows_of(some[0]), model, np.random.default_rng(0))
    for batch in some[1:]:
        chain.sweep()
        follow(chain, rows_of(batch))
        chain.sweep()
    assert chain.sums.n.sum() == 900
    there = ~np.isnan(np.concatenate(some))
    if form == "diag":
        np.testing.assert_array_equal(chain.sums.seen.sum(axis=0), there.sum(axis=0))
        total = np.nansum(np.concatenate(some), axis=0)
        np.testing.assert_allclose(chain.sums.total.sum(axis=0), total, rtol=1e-9)
        squares = np.nansum(np.concatenate(some) ** 2, axis=0)
        np.testing.assert_allclose(chain.sums.second.sum(axis=0), squares, rtol=1e-9)
    rng = np.random.default_rng()
    rng.bit_generator.state = copy.deepcopy(chain.rng.bit_generator.state)
    snapshot = chain.snapshot()
    rows = restored_rows(rows_of(some[2]), snapshot)
    again = OwnBulkChain.restored(rows, model, rng, snapshot)
    for one in (chain, again):
        one.sweep()
    assert_same_draw(chain.draw(True), again.draw(True))


def test_a_snapshot_goes_on_to_the_identical_draws(batches, rows_of):
    chain = streamed(batches[:3], rows_of)
    rng = np.random.default_rng()
    rng.bit_generator.state = copy.deepcopy(chain.rng.bit_generator.state)
    snapshot = chain.snapshot()
    rows = restored_rows(rows_of(batches[2]), snapshot)
    again = SharedBulkChain.restored(rows, MODEL, rng, snapshot)
    for one in (chain, again):
        one.sweep()
        follow(one, rows_of(batches[3]))
        one.sweep()
    assert_same_draw(chain.draw(True), again.draw(True))


def test_log_joint_of_a_stream_is_that_of_all_rows(batches, rows_of):
    """Rows in memory and blocks of the same leaves have the density of all rows there."""
    chain = streamed(batches[:2], rows_of)
    whole = SharedBulkChain(rows_of(np.concatenate(batches[:2])), MODEL, np.random.default_rng(0))
    for name in ("state", "factor", "sums", "leaves"):
        setattr(whole, name, getattr(chain, name))
    assert chain.log_joint() == pytest.approx(whole.log_joint(), rel=1e-9)
