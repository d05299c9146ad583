"""Scales drawn by eigenvalues are those drawn by a determinant for every point of a slice."""

import numpy as np
import pytest

from sticktree.engine.common.random import random_state
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.scales import scale_sweep
from sticktree.engine.shared.spectrum import _spectra, _ways, wide_scale_sweep
from sticktree.model import Model

CASES = [(12, 3, 1), (40, 6, 3), (30, 20, 6), (10, 14, 2)]  # rows, columns, levels


def chain_of(n_data, dimension, depth, twin, **choices):
    rng = np.random.default_rng([n_data, dimension])
    data = twin.random_data(rng, n_data, dimension)
    model = Model(np.ones(depth), covariance_type="full", precision_prior=(1.0, None), **choices)
    chain = Chain(data, model, rng)
    for _ in range(4):
        chain.sweep()
    return chain


@pytest.mark.parametrize("case", CASES)
def test_both_ways_draw_the_same_numbers(case, twin):
    chain = chain_of(*case, twin)
    squares, rate = chain._squares(), chain._prior_rate()
    few = []
    for seed in range(5):
        states = [twin.copied(chain.state) for _ in range(2)]
        for state, sweep in zip(states, (scale_sweep, wide_scale_sweep), strict=True):
            words = random_state(np.random.default_rng(seed))
            sweep(state, words, squares.copy(), (1.5, 0.8), 1.2, rate)
        first, second = (state.levels["scale"] for state in states)
        np.testing.assert_allclose(first, second, rtol=1e-6)
        few += [_ways(chain.state, level).size <= case[1] for level in range(case[2] + 1)]
    assert any(few)


@pytest.mark.parametrize("case", CASES)
def test_spectra_give_the_dense_determinants(case, twin):
    chain = chain_of(*case, twin)
    state, dimension = chain.state, case[1]
    rows, tree = twin.setting_of(state), twin.tree_of(state)
    rate, white = chain._prior_rate(), state.data
    for level in range(case[2] + 1):
        below, with_data = _spectra(state, level, _ways(state, level), chain._squares(), rate)
        found, dense = [], []
        for v in (0.05, 0.6, 9.0):
            scale = rows.scale.copy()
            scale[level] = v
            s = rows._replace(scale=scale).row_covariance(tree)
            quadratic = white.T @ np.linalg.solve(s, white)
            of_rows = np.linalg.slogdet(s)[1]
            of_columns = np.linalg.slogdet(2.0 * rate + quadratic)[1]
            dense.append((of_rows, of_columns))
            without = np.log(below + v).sum()
            found.append((without, np.log(with_data + v).sum() - without))
        # They may differ by constants.
        np.testing.assert_allclose(np.diff(found, axis=0), np.diff(dense, axis=0), rtol=1e-7)
    assert dimension == rate.shape[0]
