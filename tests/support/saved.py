"""Estimators for tests of files, each fitted once."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture, DirichletDiffusionTree, DPMixture, PitmanYorDiffusionTree
from sticktree.estimators.reading import ColumnsWarning
from sticktree.posterior.draws import ConvergenceWarning

QUICK = {"n_chains": 2, "n_warmup": 6, "n_draws": 8, "random_state": 0, "n_jobs": 1}


def rows(n_rows=24):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n_rows, 2)) + np.repeat([0.0, 9.0], n_rows // 2)[:, None]


def with_gaps():
    x = rows()
    x[::5, 0] = np.nan
    return x


def frame():
    """Return a data frame with columns of most kinds, and gaps in all."""
    rng, size = np.random.default_rng(1), 24
    group = np.repeat([0, 1], size // 2)
    table = pd.DataFrame(
        {
            "length": group * 6.0 + rng.standard_normal(size),
            "width, mm": rng.standard_normal(size) - 4.0 * group,
            "price": np.exp(rng.standard_normal(size)),
            "name “ü”": np.array(["ape", "bee's", "co(w)\n"])[group + rng.integers(2, size=size)],
            "size": pd.Categorical.from_codes(
                rng.integers(3, size=size), ["small", "middling", "large"], ordered=True
            ),
            "grown": rng.integers(2, size=size).astype(bool),
            "visits": rng.poisson(2.0 + 3.0 * group),
        }
    )
    table.loc[::7, "length"] = np.nan
    table.loc[3, "name “ü”"] = None
    table.loc[5, "size"] = None
    return table


CASES = {
    "shared": lambda: (DFPMixture(3, covariance_type="full", **QUICK), with_gaps(), None),
    "weighted": lambda: (
        DFPMixture(3, covariance_type="diag", discount=None, thin=2, level=1, **QUICK),
        rows(),
        np.arange(24) % 3,
    ),
    "mixed": lambda: (
        DFPMixture(
            3,
            covariance_type="full",
            columns={"price": "lognormal", 6: "poisson"},
            resolution=np.full(7, 0.01),
            **QUICK,
        ),
        frame(),
        None,
    ),
    "flat": lambda: (DPMixture(leaf_noise="own", **QUICK), rows(), None),
    "fine": lambda: (DirichletDiffusionTree(6, **QUICK), rows(), None),
    "multifurcating": lambda: (PitmanYorDiffusionTree(6, **QUICK), rows(), None),
    "chosen": lambda: (DFPMixture(2, **QUICK), rows(), None),
}


def fit(mixture, x, weights=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ColumnsWarning)
        return mixture.fit(x, sample_weight=weights)


def made(case):
    """Return an estimator that is fitted afresh, and its data."""
    mixture, x, weights = CASES[case]()
    return fit(mixture, x, weights), x, weights


@pytest.fixture(scope="session")
def fitted():
    """Return estimators with their data, each fitted once."""
    known = {}

    def get(case):
        if case not in known:
            known[case] = made(case)
        return known[case]

    return get
