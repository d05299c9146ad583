"""Rates of the noise's precisions that are learned, against their exact laws.

The false-alarm rate is 1e-4 a test.
"""

import numpy as np
import pytest
from scipy import stats

from sticktree.engine.common.sampler import tree_of
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.noise import LEAST_RATE, gamma_above
from sticktree.model import Column, Model
from sticktree.processes import enumerate_trees
from tests.engine.shared.test_moves import excess_of_stays
from tests.support.statistics import assert_frequencies, assert_law

FORMS = ["spherical", "diag", "full"]
DATA = np.array([[0.0, 0.3], [0.4, -0.2], [2.0, 1.5], [-1.0, 2.0]])
SHAPE, PRIOR = 1.5, (0.5, 0.5)


def chain_of(form, data=DATA, seed=0, **choices):
    model = Model(
        np.array([1.0, 0.7]),
        covariance_type=form,
        precision_prior=(SHAPE, None),
        rate_prior=PRIOR,
        **choices,
    )
    return Chain(data.copy(), model, np.random.default_rng(seed))


@pytest.mark.parametrize("form", FORMS)
def test_rates_follow_their_conditional_law_given_the_covariance(form):
    rng = np.random.default_rng(1)
    chain = chain_of(form, rng.standard_normal((7, 3)))
    for _ in range(3):
        chain.sweep()
    draws = []
    for _ in range(2000):
        chain._draw_rates()
        draws.append(chain.rates)
    precision = np.diag(np.linalg.inv(chain.covariance))
    size = {"spherical": 1, "diag": 1, "full": 3}[form]
    shape = PRIOR[0] + 0.5 * (size - 1 + 2 * SHAPE)
    draws = np.array(draws)
    assert draws.shape[1] == (1 if form == "spherical" else 3)
    for d, column in enumerate(draws.T):
        assert_law(column, stats.gamma(shape, scale=1 / (PRIOR[1] + precision[d])))


@pytest.mark.parametrize("shape", [0.7, 1.0, 12.0])
@pytest.mark.parametrize("bound", [0.01, 2.0, 25.0, 500.0])
def test_numbers_above_a_bound_follow_the_law_given_that_they_are(shape, bound):
    rate, rng = 50.0, np.random.default_rng(2)
    drawn = gamma_above(shape, np.full(4_000, rate), bound / rate, rng)
    assert drawn.min() >= bound / rate
    # P(X > x | X > bound) is uniform; by quadrature, as survival functions end at 1e-300.
    excess = np.linspace(0.0, 60.0, 60_001)
    log_density = (shape - 1.0) * np.log1p(excess / bound) - excess
    area = np.concatenate([[0.0], np.cumsum(np.exp(log_density[1:]) + np.exp(log_density[:-1]))])
    share = np.interp(rate * drawn - bound, excess, area / area[-1])
    assert stats.kstest(share, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("form", ["diag", "full"])
def test_a_column_that_never_varies_keeps_some_noise(form):
    data = np.column_stack([np.random.default_rng(3).standard_normal((30, 2)), np.zeros(30)])
    chain = chain_of(form, data)
    sizes = []
    for _ in range(300):
        chain.sweep()
        sizes.append(np.sqrt(chain.covariance[2, 2]))
    assert min(sizes) > 1e-4
    assert np.median(sizes[:150]) == pytest.approx(np.median(sizes[150:]), rel=0.5)


def log_evidence(quadratic, log_det, n_data, form, b):
    """Return log p(Y | S, b) with Σ integrated out, up to a constant; b is (…, D) or (…, 1)."""
    dimension = len(quadratic)
    if form == "full":
        degrees = dimension - 1 + 2 * SHAPE
        scale = 2.0 * b[..., None] * np.eye(dimension)
        value = 0.5 * degrees * np.log(2.0 * b).sum(axis=-1)
        value -= 0.5 * (degrees + n_data) * np.linalg.slogdet(scale + quadratic)[1]
    elif form == "diag":
        rate = b + 0.5 * np.diag(quadratic)
        value = (SHAPE * np.log(b) - (SHAPE + 0.5 * n_data) * np.log(rate)).sum(axis=-1)
    else:
        rate = b[..., 0] + 0.5 * np.trace(quadratic)
        value = SHAPE * np.log(b[..., 0]) - (SHAPE + 0.5 * n_data * dimension) * np.log(rate)
    return value - 0.5 * dimension * log_det


def posterior(trees, setting, form, units=None):
    """Return the probabilities of trees, with b integrated out by quadrature on its logarithm.

    ``units`` are those that values were rounded to.
    """
    rounding = len(DATA) * np.diag(np.square(units if units is not None else [0.0, 0.0])) / 12.0
    grid = np.exp(np.linspace(np.log(LEAST_RATE), 5.0, 100))
    log_prior = stats.gamma.logpdf(grid, PRIOR[0], scale=1 / PRIOR[1]) + np.log(grid)
    if form == "spherical":
        b = grid[:, None]
    else:
        b = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
        log_prior = log_prior[:, None] + log_prior
    logs = []
    for tree in trees:
        rows = setting.row_covariance(tree)
        quadratic = DATA.T @ np.linalg.solve(rows, DATA) + rounding
        evidence = log_evidence(quadratic, np.linalg.slogdet(rows)[1], len(DATA), form, b)
        logs.append(
            setting.law.log_prob(tree) + np.logaddexp.reduce((evidence + log_prior).ravel())
        )
    return np.exp(logs - np.logaddexp.reduce(logs))


@pytest.mark.parametrize(
    ("form", "units"), [*((form, None) for form in FORMS), ("diag", [2.0, 0.5]), ("full", [0.5, 2])]
)
def test_all_trees_of_four_rows_are_visited_as_quadrature_over_the_rates_says(form, units, twin):
    columns = None if units is None else tuple(Column(floor=u**2 / 12.0) for u in units)
    chain = chain_of(form, scales="shared", concentration=1.0, discount=0.2, columns=columns)
    trees = list(enumerate_trees(4, 2))
    probabilities = posterior(trees, twin.setting_of(chain.state), form, units)
    census = twin.Census(trees)
    for sweep in range(4_500):
        chain.sweep()
        if sweep % 3 == 0:  # three sweeps leave nothing of the one before
            census.add(chain.state)
    assert excess_of_stays(np.array(census.visits), probabilities) < 0.05
    assert_frequencies(census.counts, probabilities)


@pytest.mark.parametrize("form", FORMS)
def test_log_prior_is_that_of_scipy(form):
    chain = chain_of(form, scales="shared")
    chain.sweep()
    b, sigma = chain.rates, chain.covariance
    law = stats.gamma(PRIOR[0], scale=1 / PRIOR[1])
    expected = chain._log_prior_of_tree() + (law.logpdf(b) - law.logsf(LEAST_RATE)).sum()
    if form == "full":
        expected += stats.invwishart(1 + 2 * SHAPE, 2 * np.diag(b)).logpdf(sigma)
    else:
        variances = np.diag(sigma)[: b.size]
        expected += stats.invgamma.logpdf(variances, SHAPE, scale=b).sum()
    assert chain.log_prior() == pytest.approx(expected)


def test_a_single_column_has_the_same_chain_in_every_form():
    chains = [chain_of(form, DATA[:, :1]) for form in FORMS]
    for chain in chains:
        for _ in range(5):
            chain.sweep()
    joint = [chain.log_joint() for chain in chains]
    assert joint == pytest.approx([joint[0]] * 3)
    assert [chain.factor.shape for chain in chains] == [(1,), (1,), (1, 1)]


@pytest.mark.parametrize("form", FORMS)
def test_a_restored_chain_goes_on_with_its_rates(form):
    data = DATA.copy()
    data[1, 0] = np.nan
    chain = chain_of(form, data)
    for _ in range(3):
        chain.sweep()
    kept = chain.snapshot()
    rng = np.random.default_rng()
    rng.bit_generator.state = chain.rng.bit_generator.state
    other = Chain.restored(data, chain.model, rng, kept)
    np.testing.assert_array_equal(other.rates, chain.rates)
    for _ in range(3):
        chain.sweep()
        other.sweep()
    assert other.log_joint() == chain.log_joint()
    np.testing.assert_array_equal(chain.draw().parameters["rates"], other.rates)


@pytest.mark.parametrize("form", FORMS)
def test_chains_of_older_files_go_on_with_their_fixed_rate(form):
    # They have a matrix for any form of the covariance, and no rates.
    model = Model(np.array([1.0, 0.7]), covariance_type=form, precision_prior=(1.0, 0.01))
    chain = Chain(DATA.copy(), model, np.random.default_rng(0))
    chain.sweep()
    kept = chain.snapshot()
    assert "rates" not in kept
    kept["factor"] = np.diag(chain.factor) if chain.factor.ndim == 1 else chain.factor
    other = Chain.restored(DATA.copy(), model, np.random.default_rng(1), kept)
    assert other.log_joint() == pytest.approx(chain.log_joint())
    assert (other.rates == 0.01).all()
    assert other.factor.shape == chain.factor.shape
    assert "rates" not in other.draw().parameters
    assert tree_of(other.state) == tree_of(chain.state)
