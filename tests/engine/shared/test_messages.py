import numpy as np
import pytest

from sticktree import Tree
from sticktree.engine.common.random import random_state
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.messages import log_determinant
from sticktree.engine.shared.scales import add_squares
from sticktree.engine.shared.seats import settle
from sticktree.engine.shared.state import NOISE, set_scales
from sticktree.model import Model
from sticktree.tree import NULL
from tests.support.compiled import log_density, tail, weigh_leaf

DEPTHS = [1, 2, 3, 4, 5, 40]
DIMENSIONS = [1, 2, 5]
FORMS = ["spherical", "diag", "full"]


@pytest.fixture
def seated(twin):
    """Return a function that seats random data under random hyper-parameters."""

    def make(depth, dimension, seed=0, n_data=14):
        rng = np.random.default_rng([seed, depth, dimension])
        setting = twin.random_setting(rng, depth)
        state = twin.empty_of(twin.random_data(rng, n_data, dimension), setting)
        words = random_state(rng)
        for i in range(n_data):
            twin.move_datum(state, i, words)
        return state, setting

    return make


class Dense:
    """Posterior of φ at the nodes of a tree from the joint Gaussian of all nodes and data."""

    def __init__(self, tree, data, setting):
        reach = np.cumsum(setting.scale)
        self.prior = reach[tree.level[tree.lca_matrix()]]
        across = self.prior[:, tree.leaf]
        rows = self.prior[np.ix_(tree.leaf, tree.leaf)] + setting.noise * np.eye(tree.n_data)
        weights = np.linalg.solve(rows, across.T).T
        self.mean = weights @ data
        self.covariance = self.prior - weights @ across.T


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_mean_and_variance_of_every_node_are_those_of_the_dense_gaussian(
    depth, dimension, seated, twin
):
    state, setting = seated(depth, dimension)
    dense = Dense(tree_of(state), state.data, setting)
    order = twin.in_use(state)
    np.testing.assert_allclose(state.mean[order], dense.mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(state.nodes["variance"][order], np.diag(dense.covariance), 1e-9)


@pytest.mark.parametrize("depth", DEPTHS)
def test_covariances_of_all_nodes_are_products_of_gains(depth, seated, twin):
    state, setting = seated(depth, 1)
    dense = Dense(tree_of(state), state.data, setting)
    nodes = state.nodes[twin.in_use(state)]
    tree = tree_of(state)
    found = np.diag(nodes["variance"])
    for child in range(1, tree.n_nodes):
        # All nodes before the child lie outside its subtree.
        found[child, :child] = nodes["gain"][child] * found[tree.parent[child], :child]
        found[:child, child] = found[child, :child]
    np.testing.assert_allclose(found, dense.covariance, rtol=1e-9)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_log_determinant_and_squares_are_those_of_the_row_covariance(depth, dimension, seated):
    state, setting = seated(depth, dimension)
    rows = setting.row_covariance(tree_of(state))
    expected = state.data.T @ np.linalg.solve(rows, state.data)
    forms = [
        (np.zeros((dimension, dimension)), expected),
        (np.zeros((1, dimension)), np.diag(expected)[None, :]),
        (np.zeros((1, 1)), np.trace(expected).reshape(1, 1)),
    ]
    for quadratic, wanted in forms:
        add_squares(state, quadratic)
        log_det = log_determinant(state, quadratic)
        assert log_det == pytest.approx(np.linalg.slogdet(rows)[1], rel=1e-9)
        np.testing.assert_allclose(quadratic, wanted, rtol=1e-8, atol=1e-9)


def random_factor(rng, dimension, form):
    if form == "spherical":
        return np.full(dimension, rng.lognormal())
    if form == "diag":
        return rng.lognormal(size=dimension)
    return rng.standard_normal((dimension, dimension)) + 2 * np.eye(dimension)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_log_likelihood_of_a_chain_is_the_dense_log_density(depth, dimension, form, twin):
    rng = np.random.default_rng([1, depth, dimension])
    setting = twin.random_setting(rng, depth)
    data = twin.random_data(rng, 12, dimension)
    chain = Chain(data, Model(setting.alpha, covariance_type=form), rng)
    chain.state.levels["scale"] = setting.scale
    chain.state.scalars[NOISE] = setting.noise
    set_scales(chain.state)
    chain.factor = random_factor(rng, dimension, form)
    chain._whiten()
    rows = setting.row_covariance(tree_of(chain.state))
    sigma = chain.covariance
    assert chain.log_likelihood() == pytest.approx(twin.log_normal(data, rows, sigma), rel=1e-9)


def places(tree):
    """Yield node, level and number in the expanded tree for every point of a compressed tree."""
    yield 0, 0, 0
    last = 0
    for node in range(1, tree.n_nodes):
        above = int(tree.level[tree.parent[node]])
        for level in range(above + 1, int(tree.level[node]) + 1):
            last += 1
            yield node, level, last


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("depth", [1, 3, 5, 40])
def test_density_at_every_point_of_every_edge_is_the_dense_one_without_the_datum(
    depth, dimension, twin
):
    rng = np.random.default_rng([2, depth, dimension])
    setting = twin.random_setting(rng, depth)
    drawn = setting.law.sample(10, rng)
    leaf = np.append(drawn.leaf[:8], drawn.leaf[:2])  # so that some data share a leaf
    drawn = Tree(drawn.parent, leaf).pruned()
    state = twin.state_of(drawn, twin.random_data(rng, 10, dimension), setting)
    tree = tree_of(state)
    full = tree.expanded()
    order = twin.in_use(state)
    for i in (NULL, 0, 1, 9):
        x = state.data[max(i, 0)]
        without, lack, _ = twin.take_out(state, x, NULL if i == NULL else state.leaf[i])
        moved = (without.shift**2).sum()
        others = np.delete(np.arange(tree.n_data), [] if i == NULL else [i])
        rest = Tree(full.parent, full.leaf[others], level=full.level)
        dense = Dense(rest, state.data[others], setting)
        found, expected = [], []
        for node, level, place in places(tree):
            extra = tail(state, level)
            assert extra == pytest.approx(setting.scale[level + 1 :].sum() + setting.noise)
            spread = dense.covariance[place, place] + extra
            square = ((x - dense.mean[place]) ** 2).sum()
            expected.append(0.5 * (dimension * np.log(setting.noise / spread) - square / spread))
            found.append(log_density(without, order[node], level, extra, moved, lack))
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
        for (node, level, _), value in zip(places(tree), expected, strict=True):
            if level == depth:
                weight = weigh_leaf(without, order[node], x, lack)
                path = without.nodes["path"][order[node]]
                assert weight == pytest.approx(path * np.exp(value), rel=1e-8)


def test_settling_twice_changes_nothing(seated, twin):
    state, _ = seated(4, 2)
    before = twin.copied(state)
    settle(state)
    order = twin.in_use(state)
    assert (order == twin.in_use(before)).all()
    for field in ("precision", "gain", "variance"):
        assert (state.nodes[field][order] == before.nodes[field][order]).all()
    assert (state.mean[order] == before.mean[order]).all()
