"""The density of every datum given the others, against states that never had the datum."""

import numpy as np
import pytest
from scipy.special import logsumexp

from sticktree import Tree
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.factor import log_volume
from sticktree.engine.shared.missing import Gaps
from sticktree.engine.shared.mixture import (
    Observed,
    log_density,
    log_leave_one_out,
    predictive_mixture,
)
from sticktree.model import Model

CASES = [(1, 2, 0.0), (1, 1, 0.3), (3, 2, 0.0), (3, 5, 0.3), (12, 2, 0.02)]
every_case = pytest.mark.parametrize(("depth", "dimension", "discount"), CASES)


def complete(state):
    """Return the densities of data of which nothing is missing."""
    return log_leave_one_out(state, Observed.complete(*state.data.shape))


def random_case(twin, depth, dimension, discount, seed, n_data=9):
    """Draw a tree from its prior, and data that say little of it."""
    rng = np.random.default_rng([seed, depth, dimension, int(10 * discount)])
    setting = twin.random_setting(rng, depth, discount)
    return setting, setting.law.sample(n_data, rng), rng.standard_normal((n_data, dimension))


def without(tree, i):
    """Return the tree on all data but ``i``."""
    tree = tree.compressed()
    return Tree(tree.parent, np.delete(tree.leaf, i), level=tree.level).pruned().compressed()


def refitted(twin, setting, tree, data):
    """Return the densities by building, for every datum, the state that never had it."""
    values = []
    for i in range(len(data)):
        state = twin.state_of(without(tree, i), np.delete(data, i, axis=0), setting)
        values.append(log_density(predictive_mixture(state), data[i : i + 1])[0])
    return np.array(values)


@every_case
def test_agrees_with_states_that_never_had_the_datum(depth, dimension, discount, twin):
    lone = shared = 0
    for seed in range(15):
        setting, tree, data = random_case(twin, depth, dimension, discount, seed)
        state = twin.state_of(tree, data, setting)
        expected = refitted(twin, setting, tree, data)
        np.testing.assert_allclose(complete(state), expected, rtol=0, atol=1e-9)
        sizes = state.nodes["n"][state.leaf]
        lone, shared = lone + (sizes == 1).sum(), shared + (sizes > 1).sum()
    assert lone > 10
    assert shared > 10


@pytest.mark.parametrize(("depth", "discount"), [(1, 0.0), (3, 0.3)])
def test_agrees_with_the_sum_over_all_places(depth, discount, twin):
    setting, tree, data = random_case(twin, depth, 2, discount, seed=1, n_data=5)
    found = complete(twin.state_of(tree, data, setting))
    for i in range(len(data)):
        joint = [twin.log_posterior(t, data, setting) for t in twin.places_of_datum(tree, i)]
        rest = twin.log_posterior(without(tree, i).expanded(), np.delete(data, i, axis=0), setting)
        assert found[i] == pytest.approx(logsumexp(joint) - rest, abs=1e-9)


def test_one_datum_has_its_density_under_the_prior(twin):
    setting = twin.Setting(np.array([1.0, 0.5]), 0.2, np.array([3.0, 2.0, 1.0]), 0.5)
    data = np.array([[1.0, -2.0]])
    state = twin.state_of(Tree.from_paths([(1, 1)]), data, setting)
    expected = -0.5 * 5.0 / 6.5 - np.log(2 * np.pi * 6.5)
    assert complete(state)[0] == pytest.approx(expected, abs=1e-12)


def test_far_data_do_not_underflow_and_wide_steps_do_not_cancel(twin):
    setting = twin.Setting(np.array([1.0, 0.7]), 0.1, np.array([1e8, 1e7, 1e6]), 1.0)
    rng = np.random.default_rng(0)
    data = rng.standard_normal((7, 3))
    data[:3] += 2000.0
    data[6] -= 1e6
    tree = Tree.from_paths([(1, 1), (1, 1), (1, 2), (2, 1), (2, 1), (2, 2), (2, 2)])
    expected = refitted(twin, setting, tree, data)
    assert expected.min() < -2000
    found = complete(twin.state_of(tree, data, setting))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    data[6] = 1e170
    assert complete(twin.state_of(tree, data, setting))[6] == -np.inf


@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
def test_chain_gives_standardised_units_and_goes_on_as_if_not_asked(form, twin):
    data = twin.random_data(np.random.default_rng(0), 15, 2)
    model = Model(np.array([1.0, 0.8, 0.6]), covariance_type=form, discount=None)
    asked, silent = (Chain(data, model, np.random.default_rng(1)) for _ in range(2))
    for _ in range(10):
        asked.sweep()
        before = twin.copied(asked.state)
        asked.leave_one_out()
        for name in ("leaf", "order", "sizes", "levels", "scalars", "leaves"):
            assert (getattr(before, name) == getattr(asked.state, name)).all()
        used = twin.in_use(before)
        for field in set(before.nodes.dtype.names) - {"covariance", "path"}:  # working space
            assert (before.nodes[field][used] == asked.state.nodes[field][used]).all(), field
        silent.sweep()
        assert asked.snapshot()["factor"].tolist() == silent.snapshot()["factor"].tolist()
        assert (asked.state.leaf == silent.state.leaf).all()
        assert asked.log_joint() == silent.log_joint()
    # Y whitened by A has the density of Y times |A|.
    shift = log_volume(asked.factor)
    np.testing.assert_array_equal(asked.leave_one_out(), complete(asked.state) - shift)
    sigma = asked.covariance
    setting = twin.setting_of(asked.state)
    tree = twin.tree_of(asked.state)
    joint = [
        setting.law.log_prob(t) + twin.log_normal(data, setting.row_covariance(t), sigma)
        for t in twin.places_of_datum(tree, 0)
    ]
    rest = without(tree, 0).expanded()
    base = setting.law.log_prob(rest)
    base += twin.log_normal(data[1:], setting.row_covariance(rest), sigma)
    assert asked.leave_one_out()[0] == pytest.approx(logsumexp(joint) - base, abs=1e-8)


@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
def test_of_a_row_with_gaps_it_is_the_density_of_what_is_observed(form):
    """Against the integral over the missing entry of the density of the completed row."""
    rng = np.random.default_rng(8)
    data = rng.standard_normal((12, 2)) @ [[1.0, 0.7], [0.0, 0.5]]
    data[3, 0] = data[5, 1] = np.nan
    chain = Chain(data, Model(np.array([1.0, 0.8]), covariance_type=form), rng)
    for _ in range(20):
        chain.sweep()
    found = chain.leave_one_out()
    grid = np.linspace(-40.0, 40.0, 8001)
    for row, column in ((3, 0), (5, 1)):
        # Completed rows differ from the chain's only in what the datum itself is.
        kept = chain.raw.copy()
        densities = []
        for value in grid[::4]:
            chain.raw[row, column] = value
            chain._whiten()
            chain.missing[row, column] = False
            chain.gaps = Gaps.of(np.where(chain.missing, np.nan, chain.raw))
            densities.append(chain.leave_one_out()[row])
            chain.missing[row, column] = True
        chain.raw[:] = kept
        chain._whiten()
        chain.gaps = Gaps.of(np.where(chain.missing, np.nan, chain.raw))
        integral = np.exp(densities).sum() * (grid[4] - grid[0])
        assert np.log(integral) == pytest.approx(found[row], abs=1e-5)
    np.testing.assert_allclose(chain.leave_one_out(), found)
