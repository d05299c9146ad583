"""What rounding adds to shared noise, against its definition.

The false-alarm rate is 1e-4 a test.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.shared.chain import Chain
from sticktree.model import Column, Model
from tests.support.bulk import rows_of
from tests.support.statistics import assert_law

FORMS = ["spherical", "diag", "full"]
UNITS = np.array([0.5, 2.0])
FLOORS = UNITS**2 / 12.0
SHAPE, RATE = 1.5, 0.3


def model_of(form, units=UNITS, **choices):
    columns = tuple(Column(floor=unit**2 / 12.0) for unit in units)
    choices = {"precision_prior": (SHAPE, RATE)} | choices
    return Model(np.array([1.0, 0.7]), covariance_type=form, columns=columns, **choices)


def chain_of(form, data, units=UNITS, seed=0, **choices):
    chain = Chain(data.copy(), model_of(form, units, **choices), np.random.default_rng(seed))
    for _ in range(3):
        chain.sweep()
    return chain


def rows(n=8, gaps=False):
    data = 2.0 * np.random.default_rng(1).standard_normal((n, 2))
    if gaps:
        data[[1, 2, 4], [0, 1, 1]] = np.nan
    return data


def test_the_density_of_a_rounded_value_is_the_geometric_mean_over_what_it_stands_for():
    # log N is quadratic, so that two points a column give its mean over an interval exactly.
    rng = np.random.default_rng(2)
    root = rng.standard_normal((2, 2)) + 2.0 * np.eye(2)
    law = stats.multivariate_normal(rng.standard_normal(2), root @ root.T)
    y = rng.standard_normal(2)
    points = [y + UNITS * signs / np.sqrt(12.0) for signs in itertools.product([-1, 1], repeat=2)]
    trace = np.trace(np.linalg.solve(root @ root.T, np.diag(FLOORS)))
    assert law.logpdf(points).mean() == pytest.approx(law.logpdf(y) - 0.5 * trace)


@pytest.mark.parametrize("private_step", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_the_likelihood_has_a_factor_for_every_row(form, private_step):
    choices = {"private_step": private_step, "scales": "shared"}
    chain = chain_of(form, rows(), **choices)
    whole = chain.log_likelihood()
    chain.model = model_of(form, [0.0, 0.0], **choices)
    noise = chain.model.noise * chain.covariance
    trace = np.trace(np.linalg.solve(noise, np.diag(FLOORS)))
    assert whole == pytest.approx(chain.log_likelihood() - 0.5 * 8 * trace)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_the_noise_follows_its_law_given_the_tree_and_the_rounding(form, gaps):
    chain = chain_of(form, rows(gaps=gaps), scales="shared")
    covariance = row_covariance(chain, chain.state.levels["scale"], chain.model.noise)
    seen = np.array([7, 6] if gaps else [8, 8])
    squares = np.diag(chain.raw.T @ np.linalg.solve(covariance, chain.raw)) + seen * FLOORS
    found = []
    for _ in range(1500):
        chain.move_scales()
        found.append(np.diag(chain.covariance))
    found = np.array(found)
    # Of an inverse Wishart matrix, numbers on the diagonal are inverse Gamma ones, too.
    shape, added = (SHAPE + 8, [squares.sum()] * 2) if form == "spherical" else (SHAPE + 4, squares)
    for column, square in zip(found.T, added, strict=True):
        assert_law(column, stats.invgamma(shape, scale=RATE + 0.5 * square))


def row_covariance(chain, scale, noise):
    """Return S: the variance that rows share above their last common node, and the noise."""
    tree = chain.tree()
    variance = np.cumsum(scale)
    shared = np.zeros((tree.n_data, tree.n_data))
    for i, j in itertools.product(range(tree.n_data), repeat=2):
        a, b = tree.leaf[i], tree.leaf[j]
        while a != b:  # parents have smaller numbers than their children
            a, b = min(a, b), tree.parent[max(a, b)]
        shared[i, j] = variance[tree.level[a]]
    return shared + noise * np.eye(tree.n_data)


@pytest.mark.parametrize("form", FORMS)
def test_equal_units_are_a_prior_of_another_rate(form):
    # Of N rows in units u it is the rate b + N u²/24, and D as much if all columns share one.
    more = 8 * 0.5**2 / 24 * (2 if form == "spherical" else 1)
    chain = chain_of(form, rows(), [0.5, 0.5])
    other = chain_of(form, rows(), [0.0, 0.0], precision_prior=(SHAPE, RATE + more))
    assert chain.tree() == other.tree()
    np.testing.assert_allclose(chain.covariance, other.covariance)


@pytest.mark.parametrize("gaps", [False, True])
def test_many_rows_have_the_same_squares(gaps):
    data = rows(40, gaps)
    bulk = SharedBulkChain(rows_of(data), model_of("full"), np.random.default_rng(0))
    one_by_one = chain_of("full", data)
    np.testing.assert_array_equal(bulk._n_seen(), one_by_one._n_seen())
    added = bulk._spread_squares() - bulk._squares()
    inverse = np.linalg.inv(bulk.covariance)
    expected = (np.diag(inverse) * FLOORS * bulk._n_seen()).sum()
    assert np.trace(added) == pytest.approx(expected)


@pytest.mark.parametrize("form", ["diag", "full"])
def test_a_column_that_is_nearly_always_the_same_is_no_spike(form):
    rng = np.random.default_rng(3)
    data = np.column_stack([rng.standard_normal((200, 2)), np.zeros(200)])
    data[:2, 2] = 1.0
    spread = data.std(axis=0)
    units = np.array([0.0, 0.0, 1.0]) / spread
    chain = chain_of(form, (data - data.mean(axis=0)) / spread, units, precision_prior=(1.0, None))
    for _ in range(20):
        chain.sweep()
    width = np.sqrt(chain.covariance[2, 2]) * spread[2]
    assert 0.2 < width < 0.5  # of one unit; √(1/12) = .29
