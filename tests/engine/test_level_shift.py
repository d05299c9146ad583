"""The level shift: exact draws must stay exact.

Everything is drawn from the prior, data included; given the data, all the rest is then an exact
draw from the posterior, and a move that keeps the posterior does not change the mean of any
function of both. Differences before and after are independent: z-tests with false-alarm rate 1e-4.
"""

import numpy as np
import pytest

from sticktree.engine.level_shift import (
    _draw_share,
    _log_share,
    level_shift,
    level_shift_sweep,
)
from sticktree.engine.random import random_state
from sticktree.engine.state import tree_of
from sticktree.model import Model

N_DRAWS, N_DATA = 4_000, 7


def noise_prior(model, sigma):
    """Return (A, B) of the law of a factor of Σ."""
    dimension = len(sigma)
    a, b = model.precision_prior
    if model.covariance_type == "spherical":
        return a, b / sigma[0, 0]
    shape = dimension * a
    if model.covariance_type == "full":
        shape += dimension * (dimension - 1) / 2
    return shape, b * np.trace(np.linalg.inv(sigma))


def functions(state, factor, log_distance):
    tree = tree_of(state)
    above = tree.level[tree.parent[1:]]
    nodes = [np.sum((above < j) & (tree.level[1:] >= j)) for j in range(1, tree.depth + 1)]
    scale = np.log(state.levels["scale"])
    meeting = tree.meeting_level_matrix()[0, 1]
    total = np.log(np.cumsum(state.levels["scale"])[meeting] * factor)
    numbers = np.concatenate(
        [nodes, np.square(nodes), scale, scale**2, [np.log(factor), meeting, total]]
    )
    return np.concatenate([numbers, numbers * log_distance])


@pytest.mark.parametrize(
    ("depth", "form", "discount"),
    [(1, "spherical", 0.0), (2, "diag", 0.3), (3, "full", 0.0), (3, "spherical", 0.3)],
)
def test_shifts_keep_exact_draws_exact(depth, form, discount, twin, assert_mean):
    rng = np.random.default_rng([depth, int(10 * discount)])
    words = random_state(rng)
    model = Model(
        np.array([1.0, 0.7, 0.5])[:depth],
        covariance_type=form,
        discount=discount,
        concentration=1.3,
        precision_prior=(3.0, 2.0),
        scale_prior=(3.0, 2.0),
    )
    differences, n_accepted = [], 0
    for _ in range(N_DRAWS):
        _, setting, tree, sigma, data = twin.sample_prior(model, N_DATA, 2, rng)
        white = np.linalg.solve(np.linalg.cholesky(sigma), data.T).T
        state = twin.state_of(tree, white, setting)
        log_distance = np.log(np.linalg.norm(data[0] - data[1]))
        before = functions(state, 1.0, log_distance)
        accepted, change = level_shift_sweep(
            state, words, 3, model.scale_prior, noise_prior(model, sigma)
        )
        n_accepted += accepted
        np.testing.assert_allclose(state.data * np.sqrt(change), white)
        differences.append(functions(state, change, log_distance) - before)
    assert n_accepted > 0.1 * N_DRAWS
    assert_mean(differences, 0.0)


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize(("total", "scale"), [(3.0, 0.7), (0.5, 0.8), (1.0, 0.1)])
def test_share_of_a_step_has_the_density_that_is_reckoned_with(total, scale, noise, assert_law):
    words = random_state(np.random.default_rng(1))
    draws = [_draw_share(words, total, noise, scale) for _ in range(20_000)]
    points = np.linspace(0, total, 40_001)
    middle = (points[1:] + points[:-1]) / 2
    mass = np.exp([_log_share(x, total, noise, scale) for x in middle]) * np.diff(points)
    assert mass.sum() == pytest.approx(1, abs=1e-4)
    sums = np.concatenate([[0.0], np.cumsum(mass)])

    class Law:
        def cdf(self, x):
            return np.interp(x, points, sums)

    assert_law(draws, Law())


@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_shift_leaves_a_state_as_if_made_from_scratch(discount, twin):
    rng = np.random.default_rng(0)
    setting = twin.random_setting(rng, 3, discount)
    words = random_state(rng)
    tree = setting.law.sample(9, rng)
    state = twin.state_of(tree, rng.standard_normal((9, 2)), setting)
    seen = set()
    for _ in range(300):
        source, target = rng.integers(1, 4, size=2)
        before = tree_of(state)
        if level_shift(state, words, source, target, (1.0, 1.0), (2.0, 1.0)) == 0:
            assert tree_of(state) == before
            continue
        seen.add((source, target))
        after = twin.setting_of(state)
        fresh = twin.state_of(tree_of(state), state.data, after)
        old, new = twin.in_use(state), twin.in_use(fresh)
        for field in ("level", "n", "n_children", "precision", "gain", "variance"):
            np.testing.assert_allclose(
                np.sort(state.nodes[field][old]), np.sort(fresh.nodes[field][new]), rtol=1e-9
            )
        np.testing.assert_allclose(state.total[state.leaf], fresh.total[fresh.leaf])
        np.testing.assert_allclose(state.levels["reach"], np.cumsum(after.scale))
    assert len(seen) > 4
