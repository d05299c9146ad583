"""R-hat and effective sample sizes of many scalars at once, against ArviZ's one by one."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from sticktree.posterior.convergence import convergence


def walks(rng, n_chains, n_draws, memory):
    values = rng.normal(size=(n_chains, n_draws))
    for t in range(1, n_draws):
        values[:, t] += memory * values[:, t - 1]
    return values


def scalars_of_all_sorts(n_chains, n_draws):
    rng = np.random.default_rng(n_draws)
    values = {f"memory {a}": walks(rng, n_chains, n_draws, a) for a in (-0.9, 0, 0.5, 0.9, 0.99)}
    values["whole"] = np.round(values["memory 0.9"]).astype(np.int64)
    values["two values"] = (values["memory 0.5"] > 0.5).astype(np.int32)
    values["stuck"] = np.repeat(np.arange(n_chains), n_draws).reshape(n_chains, n_draws)
    values["outlying"] = values["memory 0"] + 1e9 * (np.arange(n_draws) == 1)
    values["constant"] = np.full((n_chains, n_draws), 3.0)
    return values


@pytest.mark.parametrize("n_chains", [1, 2, 5])
@pytest.mark.parametrize("n_draws", [4, 5, 7, 8, 16, 17, 40, 301])
def test_all_are_what_arviz_makes_of_each(n_chains, n_draws):
    scalars = scalars_of_all_sorts(n_chains, n_draws)
    r_hat, ess = convergence(scalars)
    varying = {name for name, values in scalars.items() if np.ptp(values) > 0}
    assert "constant" not in varying
    assert set(ess) == varying
    assert set(r_hat) == (varying if n_chains > 1 else set())
    for name in varying:
        values = scalars[name].astype(np.float64)
        expected = array_stats.ess(values, chain_axis=0, draw_axis=1)
        np.testing.assert_allclose(ess[name], expected, rtol=1e-9, err_msg=name)
        if n_chains > 1:
            with np.errstate(divide="ignore", invalid="ignore"):
                expected = array_stats.rhat(values, chain_axis=0, draw_axis=1)
            np.testing.assert_allclose(r_hat[name], expected, rtol=1e-9, err_msg=name)


def test_a_scalar_that_is_no_number_somewhere_has_neither():
    rng = np.random.default_rng(0)
    broken, sound = rng.normal(size=(2, 2, 50))
    broken[1, 7] = np.nan
    r_hat, ess = convergence({"broken": broken, "sound": sound})
    assert np.isnan(r_hat["broken"])
    assert np.isnan(ess["broken"])
    assert (r_hat["sound"], ess["sound"]) == tuple(
        part["sound"] for part in convergence({"sound": sound})
    )
