"""Geweke's joint test of the columns model.

Alternate a sweep of the chain with new data given all the rest: that is a chain whose law is the
prior, if and only if the sweep keeps the posterior. Means of many functions are compared with draws
from the prior; the false-alarm rate is 1e-4 over all functions of a case.
"""

import numpy as np
import pytest

from sticktree.engine.common.sampler import tree_of
from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.densities import recount
from tests.engine.own.test_chain import engine_model
from tests.engine.own.test_twin import model_of
from tests.support.own import engine, twin
from tests.support.statistics import assert_same_mean

N_DATA, N_SWEEPS, N_DRAWS = 4, 3_000, 1_200
MIXED = ("gaussian", "categorical", "poisson", "negative_binomial")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "form", "depth", "choices"),
    [
        (MIXED, "diag", 2, {}),
        (("gaussian", "poisson", "gaussian"), "spherical", 3, {}),
        (("gaussian", "gaussian", "categorical"), "full", 2, {}),
        (("gaussian", "poisson"), "diag", 1, {"discount": 0.3, "concentration": 0.7}),
        (("binomial", "trials", "poisson"), "diag", 2, {}),
    ],
    ids=["diag", "spherical", "full", "flat", "binomial"],
)
def test_sweeps_and_new_data_together_keep_the_prior(kinds, form, depth, choices):
    rng = np.random.default_rng([depth, len(kinds)])
    floor = np.where([kind == "gaussian" and form != "full" for kind in kinds], 0.2, 0.0)
    priors = model_of(kinds, form, depth, floor=floor, **choices)
    # Which entries are missing stays the same; the first two rows are complete but for one.
    missing = np.zeros((N_DATA, len(kinds)), dtype=bool)
    missing[[1, 2, 3], [0, len(kinds) - 1, 0]] = True
    missing[3, 1] = True
    missing[:, [kind == "trials" for kind in kinds]] = False  # they are given

    def shown(data):
        return np.where(missing, np.nan, data)

    draws = [twin.sample_prior(priors, N_DATA, rng) for _ in range(N_DRAWS)]
    independent = np.array(
        [twin.statistics(tree, phi, s, shown(data)) for s, tree, phi, data in draws]
    )
    chain = ColumnsChain(shown(draws[0].data), engine_model(priors), rng)
    imputed = np.zeros_like(missing) if chain.gaps is None else chain.gaps
    state, chained = chain.state, []
    for sweep in range(N_SWEEPS + 200):
        chain.sweep()
        tree, phi = tree_of(state), engine.phi_of(state)
        setting = engine.setting_in(state, draws[0].setting)
        data = twin.sample_data(tree, phi, setting, rng)
        # What is imputed is part of the state: it is drawn anew along with the rest.
        state.data[:] = np.where(missing & ~imputed, np.nan, data)
        recount(state)
        if sweep >= 200:
            chained.append(twin.statistics(tree, phi, setting, shown(data)))
    chained = np.array(chained)
    varies = np.ptp(independent, axis=0) > 0
    np.testing.assert_allclose(chained[:, ~varies], independent[:1, ~varies].repeat(N_SWEEPS, 0))
    assert_same_mean(chained[:, varies], independent[:, varies])
