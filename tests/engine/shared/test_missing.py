"""Missing entries: their draws against dense conditionals, and trees against the exact posterior.

The observed entries of all rows are jointly normal given the tree, so nothing need be integrated
numerically. All statistical checks have false-alarm rate 1e-4.
"""

import numpy as np
import pytest
from scipy import stats

from sticktree.engine.common.random import random_state
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.datum import datum_sweep
from sticktree.engine.shared.missing import Gaps, impute, reseat
from sticktree.model import Model
from sticktree.processes import enumerate_trees
from sticktree.tree import Tree
from tests.engine.shared.test_geweke import functions
from tests.engine.shared.test_moves import excess_of_stays
from tests.support.statistics import assert_frequencies, assert_law, assert_mean, assert_same_mean

NAN = np.nan
FACTORS = {
    "diag": np.diag([0.5, 2.0, 1.0]),
    "full": np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [-0.5, 1.0, 0.4]]),
}
PATHS = [(1, 1), (1, 1), (1, 2), (2, 1), (2, 1), (2, 1)]
ROWS = {"with others": 4, "alone in its leaf": 2}
PATTERNS = {"one": [1], "two": [0, 2], "all": [0, 1, 2]}


def filled(data):
    return np.where(np.isnan(data), 0.3, data)


def log_observed(tree, data, setting, sigma):
    """Return log p(tree) + log p(observed entries | tree)."""
    seen = ~np.isnan(data).ravel()
    covariance = np.kron(setting.row_covariance(tree), sigma)[np.ix_(seen, seen)]
    law = stats.multivariate_normal(np.zeros(seen.sum()), covariance)
    return setting.law.log_prob(tree) + law.logpdf(data.ravel()[seen])


def conditional(data, row_covariance, sigma):
    """Return mean and covariance of the missing entries given all others."""
    missing = np.isnan(data).ravel()
    covariance = np.kron(row_covariance, sigma)
    across = covariance[np.ix_(missing, ~missing)]
    slope = across @ np.linalg.inv(covariance[np.ix_(~missing, ~missing)])
    mean = slope @ data.ravel()[~missing]
    return mean, covariance[np.ix_(missing, missing)] - slope @ across.T


# ---- the step alone ----------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("form", FACTORS)
def test_missing_entries_of_a_row_have_their_exact_law_given_all_else(form, row, pattern, twin):
    rng = np.random.default_rng(0)
    factor, setting = FACTORS[form], twin.random_setting(rng, 2)
    tree = Tree.from_paths(PATHS)
    data = twin.random_data(rng, 6, 3)
    data[ROWS[row], PATTERNS[pattern]] = NAN
    inverse = np.linalg.inv(factor)
    state = twin.state_of(tree, filled(data) @ inverse.T, setting)
    gaps, words = Gaps.of(data), random_state(rng)
    draws = []
    for _ in range(2_000):  # independent: all else stays
        impute(state, gaps, inverse, words)
        draws.append(state.data @ factor.T)
    draws = np.array(draws)
    missing = np.isnan(data)
    np.testing.assert_allclose(draws[:, ~missing], np.tile(data[~missing], (2_000, 1)), atol=1e-9)
    mean, covariance = conditional(data, setting.row_covariance(tree), factor @ factor.T)
    white = (draws[:, missing] - mean) @ np.linalg.inv(np.linalg.cholesky(covariance)).T
    for values in white.T:
        assert_law(values, stats.norm)
    products = np.einsum("ni,nj->nij", white, white)
    assert_mean(products, np.eye(missing.sum()))
    fresh = twin.from_scratch(state)
    nodes = twin.in_use(state)
    for name in ("total", "weighted", "mean"):
        np.testing.assert_allclose(
            getattr(state, name)[nodes], getattr(fresh, name)[nodes], atol=1e-9
        )


def test_gaps_are_listed_row_by_row():
    gaps = Gaps.of(np.array([[1.0, NAN, NAN], [1.0, 2.0, 3.0], [NAN, 1.0, 1.0]]))
    assert [part.tolist() for part in gaps] == [[0, 2], [0, 2, 3], [1, 2, 0]]
    assert Gaps.of(np.zeros((2, 2))).row.size == 0


# ---- trees -------------------------------------------------------------------------------------


def imputing(state, gaps, inverse, words):
    for _ in range(6):
        datum_sweep(state, words)
        impute(state, gaps, inverse, words)


def reseating(state, gaps, inverse, words):
    for _ in range(3):
        datum_sweep(state, words)
        reseat(state, gaps, inverse, np.arange(gaps.row.size), words)


def reseating_alone(state, gaps, inverse, words):
    for _ in range(3):
        reseat(state, gaps, inverse, np.arange(4), words)


SOME = np.array([[0.0, 0.3], [NAN, -0.2], [2.0, 1.5], [-1.0, 2.0]])
EACH = np.array([[NAN, 0.3], [0.4, NAN], [2.0, NAN], [NAN, NAN]])


@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize(
    ("move", "data"),
    [(imputing, SOME), (reseating, SOME), (reseating_alone, EACH)],
    ids=["imputing", "reseating", "reseating alone"],
)
def test_trees_are_visited_as_the_posterior_given_what_is_observed_says(move, data, discount, twin):
    setting = twin.Setting(np.array([1.0, 0.7]), discount, np.array([1.0, 1.5, 0.7]), 0.5)
    factor = FACTORS["full"][:2, :2]
    inverse = np.linalg.inv(factor)
    trees = list(enumerate_trees(4, 2))
    logs = np.array([log_observed(tree, data, setting, factor @ factor.T) for tree in trees])
    probabilities = np.exp(logs - np.logaddexp.reduce(logs))
    words = random_state(np.random.default_rng(3))
    state = twin.state_of(trees[0], filled(data) @ inverse.T, setting)
    gaps, census = Gaps.of(data), twin.Census(trees)
    for _ in range(3_000):
        move(state, gaps, inverse, words)
        census.add(state)
    assert excess_of_stays(np.array(census.visits), probabilities) < 0.03
    assert_frequencies(census.counts, probabilities)


# ---- the whole chain ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("form", ["diag", "full"])
def test_sweeps_and_new_data_together_keep_the_prior(form, twin):
    rng = np.random.default_rng(1)
    priors = {f"{name}_prior": (3.0, 3.0) for name in ("concentration", "precision", "scale")}
    if form == "diag":
        priors["precision_prior"] = (3.0, None)  # rates are learned
    model = Model(np.array([1.0, 0.7]), covariance_type=form, **priors)
    draws = [twin.sample_prior(model, 4, 2, rng) for _ in range(1_500)]
    data = draws[0].data.copy()
    data[0, 0] = data[1] = NAN
    chain = Chain(data, model, rng)
    chained = []
    for sweep in range(2_600):
        chain.sweep()
        sigma, tree = chain.covariance, tree_of(chain.state)
        scale = chain.state.levels["scale"].copy()
        values = functions(chain.concentration, 0.0, scale, sigma, tree, chain.raw)
        # All entries are new, also those that the next sweep takes as missing.
        chain.raw[:] = twin.sample_data(tree, twin.setting_of(chain.state), sigma, rng)
        chain._whiten()
        if sweep >= 200:
            chained.append(values)
    chained = np.array(chained)
    independent = np.array(
        [
            functions(draw.c, 0.0, draw.setting.scale, draw.sigma, draw.tree, draw.data)
            for draw in draws
        ]
    )
    varies = np.ptp(independent, axis=0) > 0
    assert_same_mean(chained[:, varies], independent[:, varies])


def chain_with_gaps(n_rows=20, seed=0, **choices):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((n_rows, 3)) + np.repeat([0.0, 4.0], n_rows // 2)[:, None]
    data[rng.random(data.shape) < 0.2] = NAN
    data[0] = NAN
    return Chain(data, Model(np.ones(2), **choices), rng), data


@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
def test_chain_keeps_what_is_observed_and_goes_on_from_a_snapshot(form):
    chain, data = chain_with_gaps(covariance_type=form)
    before = data.copy()
    for _ in range(10):
        chain.sweep()
    np.testing.assert_array_equal(data, before)
    seen = ~np.isnan(data)
    np.testing.assert_array_equal(chain.raw[seen], data[seen])
    parameters = chain.parameters()
    places = np.argwhere(~seen)
    np.testing.assert_array_equal(parameters["imputed"], chain.raw[tuple(places.T)])
    rng = np.random.default_rng()
    rng.bit_generator.state = chain.rng.bit_generator.state
    other = Chain.restored(data, chain.model, rng, chain.snapshot())
    for _ in range(10):
        chain.sweep()
        other.sweep()
        assert chain.log_joint() == other.log_joint()
        np.testing.assert_array_equal(chain.raw, other.raw)


@pytest.mark.parametrize("share", [0.1, 0.6], ids=["some rows", "every row"])
def test_chain_starts_with_entries_that_fit_what_is_observed(share):
    rng = np.random.default_rng(2)
    common = 3 * rng.integers(-1, 2, size=(60, 1))
    truth = common + 0.1 * rng.standard_normal((60, 6))
    data = np.where(rng.random(truth.shape) < share, NAN, truth)
    data[:, 0] = truth[:, 0] if share < 0.5 else np.where(np.arange(60) % 6, truth[:, 0], NAN)
    chain = Chain(data / 2.5, Model(np.ones(1), covariance_type="diag"), rng)
    error = 2.5 * chain.raw - truth
    assert np.median(np.abs(error[np.isnan(data)])) < 1.5


def test_row_that_is_all_there_is_may_have_gaps():
    chain = Chain(np.array([[1.0, NAN]]), Model(np.ones(2)), np.random.default_rng(0))
    for _ in range(20):
        chain.sweep()
    assert np.isfinite(chain.log_joint())


def test_rows_go_where_what_is_observed_says():
    rng = np.random.default_rng(0)
    data = 0.1 * rng.standard_normal((40, 4)) + np.repeat([-1.0, 1.0], 20)[:, None]
    data[0, 1:] = data[20, :3] = NAN
    chain = Chain(data, Model(np.ones(1), covariance_type="diag"), rng)
    together, off = [], []
    for sweep in range(150):
        chain.sweep()
        if sweep >= 50:
            leaf = chain.state.leaf
            together.append([np.mean(leaf[1:20] == leaf[0]), np.mean(leaf[21:] == leaf[20])])
            off.append([*np.abs(chain.raw[0, 1:] + 1), *np.abs(chain.raw[20, :3] - 1)])
    assert (np.mean(together, axis=0) > 0.8).all()
    assert np.median(off, axis=0).max() < 0.3
