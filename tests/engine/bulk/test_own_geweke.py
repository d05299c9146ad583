"""Geweke's joint test of the sampler for many rows with own noise; see tests/engine/own.

Sweeps alternate with new rows given all the rest. The false-alarm rate is 1e-4 for each case.
"""

import os

import numpy as np
import pytest

from sticktree.engine.bulk.own import OwnBulkChain
from sticktree.engine.bulk.partition import partition
from sticktree.engine.bulk.placement import ThreadPlacement
from sticktree.engine.bulk.rows import Rows
from tests.engine.own.test_chain import engine_model
from tests.engine.own.test_twin import model_of
from tests.support.own import engine, twin
from tests.support.own_chains import replace_rows
from tests.support.statistics import assert_same_mean

N_ROWS, N_DRAWS = 5, 1000
N_SWEEPS = int(os.environ.get("STICKTREE_SWEEPS", "1000"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "depth", "gaps"),
    [("diag", 1, True), ("spherical", 2, False), ("full", 2, True)],
    ids=["diag with gaps", "spherical", "full with gaps"],
)
def test_sweeps_and_new_rows_together_keep_the_prior(form, depth, gaps):
    rng = np.random.default_rng([depth, gaps])
    floor = np.full(2, 0.0 if form == "full" else 0.2)
    priors = model_of(("gaussian",) * 2, form, depth, floor=floor)
    missing = np.zeros((N_ROWS, 2), dtype=bool)
    if gaps:
        missing[[1, 2, 3, 4, 4], [0, 1, 0, 0, 1]] = True

    def shown(data):
        return np.where(missing, np.nan, data)

    draws = [twin.sample_prior(priors, N_ROWS, rng) for _ in range(N_DRAWS)]
    independent = np.array(
        [twin.statistics(tree, phi, s, shown(data)) for s, tree, phi, data in draws]
    )
    rows = Rows(ThreadPlacement(partition(shown(draws[0].data), 0)))
    chain = OwnBulkChain(rows, engine_model(priors), rng)
    chain.n_rounds, chained = 1, []
    for sweep in range(N_SWEEPS + 100):
        chain.sweep()
        tree, phi = chain.tree(), engine.phi_of(chain.state)
        setting = engine.setting_in(chain.state, draws[0].setting)
        data = twin.sample_data(tree, phi, setting, rng)
        # What is imputed is part of the state: it is drawn anew along with the rest.
        replace_rows(chain, tree, shown(data), data if chain.impute else shown(data))
        if sweep >= 100:
            chained.append(twin.statistics(tree, phi, setting, shown(data)))
    chained = np.array(chained)
    varies = np.ptp(independent, axis=0) > 0
    assert_same_mean(chained[:, varies], independent[:, varies], n_batches=25)
