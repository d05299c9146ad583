"""The parallel sampler with shared noise: exact, and the same however rows are dealt out.

Statistical checks have a false-alarm rate of 1e-4 each.
"""

import copy
from dataclasses import replace

import numpy as np
import pytest

from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.common.links import DISCOUNT, FACTOR
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.predictive import predictives
from sticktree.engine.shared.regraft import regraft_sweep
from sticktree.engine.shared.split_nodes import node_split_sweep
from sticktree.engine.shared.state import NOISE, set_scales
from sticktree.model import Model
from sticktree.processes import enumerate_trees
from tests.engine.shared.test_geweke import LEARNED, PRIORS, functions, of_draw
from tests.support.statistics import assert_frequencies, assert_same_mean

DATA = np.array([[0.0, 0.3], [0.4, -0.2], [2.0, 1.5], [-1.0, 2.0]])
ALPHA = np.array([1.0, 0.7, 0.5])
SCALE = np.array([1.0, 1.5, 0.7, 0.4])
NOISE_VARIANCE = 0.5


def fixed_chain(rows, depth, discount, seed):
    """Return a chain whose hyper-parameters are given."""
    model = Model(ALPHA[:depth], concentration=1.0, discount=discount)
    chain = SharedBulkChain(rows, model, np.random.default_rng(seed))
    chain.factor = np.ones(2)
    chain.state.scalars[NOISE] = NOISE_VARIANCE
    chain.state.levels["scale"] = SCALE[: depth + 1]
    set_scales(chain.state)
    chain._settle()
    return chain


def visits(chain, trees, n_draws, thin):
    """Return which of the trees the chain has, every few moves of the tree alone."""
    place = {tree.compressed(): k for k, tree in enumerate(trees)}
    known, out = {}, []
    for sweep in range(100 + n_draws * thin):
        chain._split_merge(chain._assign(), 4)
        regraft_sweep(chain.state, chain.words, 3)
        node_split_sweep(chain.state, chain.words, 1)
        chain._settle()
        if sweep >= 100 and sweep % thin == 0:
            tree = chain.tree()
            raw = tree.parent.tobytes(), tree.leaf.tobytes(), tree.level.tobytes()
            if raw not in known:
                known[raw] = place[tree]
            out.append(known[raw])
    return np.array(out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_data", "depth", "discount"), [(2, 1, 0.0), (3, 2, 0.0), (4, 1, 0.3), (4, 2, 0.3)]
)
def test_trees_are_visited_as_the_posterior_says(n_data, depth, discount, twin, rows_of):
    setting = twin.Setting(ALPHA[:depth], discount, SCALE[: depth + 1], NOISE_VARIANCE)
    trees = list(enumerate_trees(n_data, depth))
    probabilities = twin.posterior(trees, DATA[:n_data], setting)
    chain = fixed_chain(rows_of(DATA[:n_data]), depth, discount, [n_data, depth])
    seen = visits(chain, trees, 1000, 5)
    assert_frequencies(np.bincount(seen, minlength=len(trees)), probabilities)


def run(rows, model, n_sweeps, seed=0):
    chain = SharedBulkChain(rows, model, np.random.default_rng(seed))
    for _ in range(n_sweeps):
        chain.sweep()
    return chain.draw(labelled=True)


def assert_same_draw(first, second):
    np.testing.assert_array_equal(first.leaf, second.leaf)
    np.testing.assert_array_equal(first.parent, second.parent)
    assert first.log_joint == second.log_joint
    assert first.meeting_level == second.meeting_level
    for name, value in first.parameters.items():
        np.testing.assert_array_equal(value, second.parameters[name])


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(5)
    return np.concatenate([rng.normal(c, 0.2, (150, 2)) for c in (-1.5, 0.0, 1.0, 1.6)])


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
def test_draws_do_not_depend_on_partitions_and_threads(form, gaps, blobs, rows_of, many_parts):
    x = blobs.copy()
    if gaps:
        x[::7, 0] = np.nan
        x[3::11, 1] = np.nan
        x[np.isnan(x).all(axis=1), 1] = 0.1
    model = Model(np.array([0.4, 0.7]), covariance_type=form, precision_prior=(1.0, 0.01))
    expected = run(rows_of(x), model, 6)
    assert_same_draw(expected, run(rows_of(x, 2), model, 6))
    assert_same_draw(expected, run(many_parts(x, [301]), model, 6))
    seven = many_parts(x, [10, 77, 150, 151, 400, 555], 2, order=[3, 1, 6, 0, 2, 5, 4])
    assert_same_draw(expected, run(seven, model, 6))


def test_a_snapshot_goes_on_to_the_identical_draws(blobs, rows_of):
    model = Model(np.array([0.4, 0.7]), covariance_type="full")
    chain = SharedBulkChain(rows_of(blobs), model, np.random.default_rng(0))
    for _ in range(3):
        chain.sweep()
    snapshot, state = chain.snapshot(), copy.deepcopy(chain.rng.bit_generator.state)
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    again = SharedBulkChain.restored(rows_of(blobs), model, rng, snapshot)
    for _ in range(3):
        chain.sweep()
        again.sweep()
    assert_same_draw(chain.draw(labelled=True), again.draw(labelled=True))


def test_room_for_more_leaves_changes_nothing(blobs, rows_of):
    model = Model(np.array([0.4, 0.7]), covariance_type="full")
    chains = [SharedBulkChain(rows_of(blobs), model, np.random.default_rng(0)) for _ in range(2)]
    chains[1]._make_room(5000)
    assert chains[1].state.leaves.size > 5000
    for chain in chains:
        for _ in range(3):
            chain.sweep()
    assert_same_draw(*(chain.draw(labelled=True) for chain in chains))


def test_room_is_made_before_leaves_come(blobs, rows_of, monkeypatch):
    model = Model(np.array([0.4, 0.7]), covariance_type="full")
    chain = SharedBulkChain(rows_of(blobs), model, np.random.default_rng(0))
    asked = []
    make_room = chain._make_room
    monkeypatch.setattr(chain, "_make_room", lambda n: (asked.append(n), make_room(n)))
    for _ in range(6):
        chain.sweep()
        assert chain.state.leaves.size > chain.leaves.size
    assert max(asked) >= chain.leaves.size


def test_predictions_need_no_rows(blobs, rows_of):
    model = Model(np.array([0.4, 0.7]), covariance_type="full")
    draw = run(rows_of(blobs), model, 5)
    kept = {k: v for k, v in draw.parameters.items() if not k.startswith("sums_")}
    plain = replace(draw, parameters=kept)
    x = np.random.default_rng(0).normal(size=(20, 2))
    x[0, 0] = np.nan
    (from_sums,) = predictives([draw], blobs[:0], model)
    assert from_sums.mixture.weight.sum() == pytest.approx(1.0)
    densities = from_sums.log_density(x)
    (from_rows,) = predictives([plain], blobs, model)
    np.testing.assert_allclose(densities, from_rows.log_density(x), rtol=1e-9)
    with pytest.raises(ValueError, match=r"algorithm=.gibbs."):
        from_sums.leave_one_out()


def test_log_joint_is_that_of_the_other_sampler(blobs, rows_of):
    model = Model(np.array([0.4, 0.7]), covariance_type="full")
    chain = SharedBulkChain(rows_of(blobs), model, np.random.default_rng(0))
    chain.sweep()
    other = Chain(blobs, model, np.random.default_rng(0))
    from sticktree.engine.shared.predictive import rebuild

    other.factor = chain.factor
    np.matmul(blobs, np.linalg.inv(chain.factor).T, out=other.state.data)
    scales = chain.state.levels["scale"].copy()
    rebuild(other.state, chain.tree(), chain.concentration, chain.discount, scales)
    assert chain.log_joint() == pytest.approx(other.log_joint(), rel=1e-9)


def new_data(chain, labels, x, rows_of):
    """Put other data into the same leaves."""
    from sticktree.engine.bulk.sums import Sums

    chain.rows = rows_of(x)
    chain._whole_products = chain._products = x.T @ x
    chain.grids = tuple(
        type(grid).of(len(x), size) for grid, size in zip(chain.grids, (1e3, 1e6), strict=True)
    )
    index = np.searchsorted(np.sort(chain.leaves), labels)
    sums = Sums.over(x, index, chain.leaves.size, chain.kind)
    chain.sums = sums.at(np.argsort(np.argsort(chain.leaves)))
    chain._settle()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "dimension", "choices"),
    [
        (2, 1, {"discount": None}),
        (2, 2, {"discount": 0.2, "covariance_type": "full", **LEARNED}),
        (3, 1, {"discount": 0.0, "concentration": 0.8, "scales": "shared", "private_step": True}),
    ],
    ids=["spherical", "full", "shared"],
)
def test_sweeps_and_new_data_together_keep_the_prior(depth, dimension, choices, twin, rows_of):
    n_data = 4
    rng = np.random.default_rng([depth, dimension])
    model = Model(ALPHA[:depth], **PRIORS | choices)
    draws = [twin.sample_prior(model, n_data, dimension, rng) for _ in range(1000)]
    chain = SharedBulkChain(rows_of(draws[0].data), model, rng)
    chain.n_rounds = 1
    chained = []
    identity = np.arange(chain.state.nodes.size)
    for sweep in range(1800):
        chain.sweep()
        tree, sigma = chain.tree(), chain.covariance
        labels = chain._labels(identity)
        x = twin.sample_data(tree, twin.setting_of(chain.state), sigma, rng)
        new_data(chain, labels, x, rows_of)
        if sweep >= 200:
            state = chain.state
            chained.append(
                functions(
                    state.scalars[FACTOR],
                    state.scalars[DISCOUNT],
                    state.levels["scale"],
                    sigma,
                    tree,
                    x,
                )
            )
    chained = np.array(chained)
    independent = np.array([of_draw(draw) for draw in draws])
    varies = np.ptp(independent, axis=0) > 0
    assert_same_mean(chained[:, varies], independent[:, varies])
