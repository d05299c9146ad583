"""Symmetries of the model, and numbers that must not drift."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from sticktree import Tree
from sticktree.engine.common.links import ALIVE, FACTOR
from sticktree.engine.common.random import random_state
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.datum import datum_sweep
from sticktree.engine.shared.regraft import regraft_sweep
from sticktree.engine.shared.split_leaves import split_merge_sweep
from sticktree.engine.shared.split_nodes import node_split_sweep
from sticktree.model import Model

FORMS = ["spherical", "diag", "full"]
SHAPE = np.array([1.0, 0.8, 0.6])


def run(data, n_sweeps, seed=0, **choices):
    chain = Chain(data, Model(SHAPE, **choices), np.random.default_rng(seed))
    for _ in range(n_sweeps):
        chain.sweep()
    return chain


@pytest.fixture(scope="module")
def data(twin):
    return twin.random_data(np.random.default_rng(0), 20, 3)


def assert_same_chain(first, second):
    assert (first.state.leaf == second.state.leaf).all()
    assert tree_of(first.state) == tree_of(second.state)
    np.testing.assert_allclose(first.state.scalars, second.state.scalars, rtol=1e-7)
    np.testing.assert_allclose(first.state.levels["scale"], second.state.levels["scale"], rtol=1e-7)
    assert first.log_joint() == pytest.approx(second.log_joint(), rel=1e-8)
    assert first.log_likelihood() == pytest.approx(second.log_likelihood(), rel=1e-8)


@pytest.mark.parametrize("scales", ["shared", "per_level"])
def test_rotated_data_give_the_same_chain_if_spherical(scales, data):
    rotation = ortho_group.rvs(3, random_state=1)
    assert_same_chain(run(data, 25, scales=scales), run(data @ rotation, 25, scales=scales))


@pytest.mark.parametrize("form", ["spherical", "diag"])
def test_mirrored_data_give_the_same_chain_if_diagonal(form, data):
    mirrored = data * [1.0, -1.0, -1.0]
    first, second = (run(y, 25, covariance_type=form, discount=None) for y in (data, mirrored))
    assert_same_chain(first, second)


@pytest.mark.parametrize("form", FORMS)
def test_same_seed_gives_the_same_chain_to_the_last_bit(form, data):
    first, second = (run(data, 10, covariance_type=form, discount=None) for _ in range(2))
    assert (first.state.leaf == second.state.leaf).all()
    assert (first.state.scalars == second.state.scalars).all()
    assert (first.state.levels["scale"] == second.state.levels["scale"]).all()
    assert (first.factor == second.factor).all()
    assert first.log_joint() == second.log_joint()
    other = run(data, 10, seed=1, covariance_type=form, discount=None)
    assert other.state.scalars[FACTOR] != first.state.scalars[FACTOR]


@pytest.mark.parametrize("form", FORMS)
def test_order_of_the_data_does_not_matter_to_the_joint_density(form, data, twin):
    chain = run(data, 5, covariance_type=form, discount=None)
    order = np.random.default_rng(2).permutation(len(data))
    tree = tree_of(chain.state)
    permuted = Chain(data[order], chain.model, np.random.default_rng(3))
    permuted.factor = chain.factor
    same_tree = Tree(tree.parent, tree.leaf[order], level=tree.level)
    state = twin.state_of(same_tree, chain.state.data[order], twin.setting_of(chain.state))
    state.levels["shape"] = chain.state.levels["shape"]
    state.scalars[:] = chain.state.scalars
    permuted.state = state
    assert permuted.log_likelihood() == pytest.approx(chain.log_likelihood(), rel=1e-11)
    assert permuted.log_prior() == pytest.approx(chain.log_prior(), rel=1e-11)
    assert permuted.log_joint() == pytest.approx(chain.log_joint(), rel=1e-11)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("unit", [1e-3, 7.0])
def test_another_unit_changes_the_log_likelihood_by_its_jacobian(form, unit, data):
    chain = run(data, 5, covariance_type=form)
    before = chain.log_likelihood()
    chain.raw = unit * data
    chain.factor = unit * chain.factor
    chain._whiten()
    assert chain.log_likelihood() == pytest.approx(before - data.size * np.log(unit), rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_log_likelihood_depends_on_the_covariance_and_not_on_its_factor(form, data):
    chain = run(data, 5, covariance_type=form)
    before = chain.log_likelihood()
    if form == "full":
        chain.factor = chain.factor @ ortho_group.rvs(3, random_state=4)
    else:
        chain.factor = chain.factor * [1.0, -1.0, 1.0]
    chain._whiten()
    assert chain.log_likelihood() == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize(("depth", "dimension"), [(1, 2), (4, 1), (4, 3), (40, 2)])
def test_numbers_do_not_drift_in_ten_thousand_moves(depth, dimension, twin):
    rng = np.random.default_rng(5)
    setting = twin.random_setting(rng, depth)
    n_data = 30
    state = twin.empty_of(twin.random_data(rng, n_data, dimension), setting)
    words = random_state(rng)
    for i in range(n_data):
        twin.move_datum(state, i, words)
    before = state.data.copy()
    n_moved = 0
    for _ in range(200):
        n_moved += datum_sweep(state, words)
        n_moved += regraft_sweep(state, words, 10)
        n_moved += split_merge_sweep(state, words, 10)
        n_moved += node_split_sweep(state, words, 10)
    assert n_moved > 500
    assert (state.data == before).all()

    fresh = twin.from_scratch(state)
    order = twin.in_use(state)
    assert fresh.sizes[ALIVE] == state.sizes[ALIVE]
    level = state.nodes["level"][order]
    inner, leaves, below = order[level < depth], order[level == depth], order[1:]
    sizes = np.abs(state.data).max()
    np.testing.assert_allclose(state.total[leaves], fresh.total[leaves], 1e-9, 1e-9 * sizes)
    np.testing.assert_allclose(state.mean[order], fresh.mean[order], 1e-9, 1e-9 * sizes)
    scale = 1e-9 * np.abs(fresh.weighted[order]).max()
    np.testing.assert_allclose(state.weighted[order], fresh.weighted[order], 1e-9, scale)
    for fields, nodes in (
        (("n", "precision", "gain", "variance"), order),
        (("inverse", "opening"), inner),
        (("passing", "opening_above"), below),
    ):
        for field in fields:
            np.testing.assert_allclose(
                state.nodes[field][nodes], fresh.nodes[field][nodes], rtol=1e-9, err_msg=field
            )
