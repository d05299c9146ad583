"""Numbers too large for their squares: kernels that met them went round and round."""

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture
from sticktree.chunks import open_table
from sticktree.errors import ParameterError

QUICK = {"n_chains": 1, "n_warmup": 2, "n_draws": 2, "random_state": 0, "progress": False}


def rows(value, n_rows=6):
    x = np.random.default_rng(0).standard_normal((n_rows, 3))
    x[:, 1] = value
    return x


@pytest.mark.parametrize("noise", ["own", "shared"])
@pytest.mark.parametrize("algorithm", ["gibbs", "parallel"])
def test_numbers_whose_squares_are_none_are_refused(noise, algorithm):
    mixture = DFPMixture(
        2,
        standardize=False,
        leaf_noise=noise,
        covariance_type="full",
        algorithm=algorithm,
        **QUICK,
    )
    with pytest.raises(ParameterError, match=r"within 1e\+100 .* got 1e\+300 in column 1; pass"):
        mixture.fit(rows(-1e300))


def test_the_column_is_named():
    frame = pd.DataFrame(rows(1e200), columns=["a", "b", "c"])
    with pytest.raises(ParameterError, match="column 'b'"):
        DFPMixture(2, standardize=False, **QUICK).fit(frame)


def test_so_are_those_in_a_file(tmp_path):
    np.save(tmp_path / "it.npy", rows(1e200, 60))
    mixture = DFPMixture(2, standardize=False, covariance_type="full", **QUICK)
    with pytest.raises(ParameterError, match=r"1e\+200 in column 1"):
        mixture.fit(open_table(tmp_path / "it.npy"))


def test_so_are_batches_far_from_all_others():
    mixture = DFPMixture(2, covariance_type="full", leaf_noise="shared", **QUICK)
    mixture.fit(rows(0.0, 30) + rows(0.0, 30)[::-1])
    with pytest.raises(ParameterError, match="within"):
        mixture.partial_fit(rows(1e200, 30), n_warmup=1, n_draws=1)


@pytest.mark.parametrize("algorithm", ["gibbs", "parallel"])
def test_so_is_rounding_of_huge_numbers(algorithm):
    x = rows(1e300)
    x[:, 1] *= 1.0 + 1e-13 * np.arange(6)  # constant, but for rounding: it has no spread
    with pytest.raises(ParameterError, match="in column 1"):
        DFPMixture(2, algorithm=algorithm, **QUICK).fit(x)
