"""Data as they are found: skewed, rounded, repeated, too wide, in odd units."""

import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sticktree import DFPMixture
from sticktree.posterior.draws import ConvergenceWarning

SETTINGS = {
    "default": {},
    "shared": {"covariance_type": "full"},
    "one level": {"depth": 1, "divergence": "constant", "covariance_type": "full"},
    "own diag": {"covariance_type": "diag", "leaf_noise": "own"},
    "own full": {"covariance_type": "full", "leaf_noise": "own", "depth": 3},
    "own spherical": {"covariance_type": "spherical", "leaf_noise": "own"},
    "diag": {"covariance_type": "diag"},
    "spherical, shared scales": {"covariance_type": "spherical", "scales": "shared"},
}
"""Parameters that all data here should do with."""


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Let BLAS use one thread: on a busy machine two take twenty times as long for wide data."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(params=SETTINGS)
def parameters(request):
    return SETTINGS[request.param]


def fit(data, **parameters):
    quick = {"n_chains": 1, "n_warmup": 20, "n_draws": 20, "random_state": 0, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DFPMixture(**quick | parameters).fit(data)


def groups(n_rows=60, dimension=4):
    rng = np.random.default_rng(0)
    shift = np.repeat([0.0, 6.0, 12.0], -(-n_rows // 3))[:n_rows, None]
    return rng.normal(size=(n_rows, dimension)) + shift


def ugly():
    rng = np.random.default_rng(1)
    plain = groups()
    flat = np.column_stack([plain, np.full(60, 7.3)])
    alone = plain.copy()
    alone[0, 0] = 1e8
    return {
        "skewed": np.exp(2 * rng.normal(size=(60, 3))),
        "heavy tails": rng.standard_cauchy((60, 3)),
        "a constant column": flat,
        "all columns constant": np.full((20, 3), -4.2),
        "each row twice": np.repeat(plain[::2], 2, axis=0),
        "one row many times": np.vstack([plain[:20], np.tile(plain[:1], (40, 1))]),
        "integers": np.round(plain),
        "two values": (plain > 6).astype(float),
        "mostly zero": np.where(rng.random((60, 3)) < 0.8, 0.0, rng.normal(size=(60, 3))),
        "units": plain * [1e6, 1e-6, 1.0, 1.0],
        "far from zero": plain + 1e9,
        "a row far away": alone,
        "columns that add up": np.column_stack([plain, plain.sum(axis=1)]),
        "columns that are almost the same": np.column_stack([plain, plain + 1e-9]),
        "wide": rng.normal(size=(5, 200)),
        "long": rng.normal(size=(200, 5)),
        "one row": plain[:1],
        "two rows": plain[[0, -1]],
        "one column": plain[:, :1],
    }


DATA = ugly()


@pytest.mark.parametrize("name", DATA)
def test_ugly_data_are_fitted(name, parameters):
    data = DATA[name]
    mixture = fit(data, **parameters)
    assert mixture.labels_.shape == (len(data),)
    assert all(np.isfinite(draw.log_joint) for draw in mixture.posterior_.draws)
    new = mixture.sample(10, random_state=0)
    assert new.shape == (10, data.shape[1])
    for rows in (data, new):
        assert np.isfinite(mixture.score_samples(rows)).all()
    proba = mixture.predict_proba(data)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert proba.min() >= 0


@pytest.mark.parametrize("name", ["heavy tails", "each row twice", "integers"])
def test_the_same_seed_gives_the_same_answer(name, parameters):
    first, second = (fit(DATA[name], **parameters) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.score_samples(DATA[name]), second.score_samples(DATA[name]))


def test_units_shift_log_densities(parameters):
    # Powers of two, so that numbers inside are the same to the last bit.
    factor = 2.0 ** np.array([20, -20, 0, 20])
    plain, scaled = fit(groups(), **parameters), fit(groups() * factor, **parameters)
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)
    np.testing.assert_allclose(
        scaled.score_samples(groups() * factor),
        plain.score_samples(groups()) - np.log(factor).sum(),
        atol=1e-6,
    )


def test_an_offset_changes_nothing(parameters):
    # Steps of 2⁻²⁰ survive the offset, so that both tables are the same but for it.
    data = np.round(groups() * 2**20) / 2**20
    plain, far = fit(data, **parameters), fit(data + 1e9, **parameters)
    if parameters.get("leaf_noise") == "own":
        # Rounding decides some choice sooner or later, and then chains part.
        assert far.score(data + 1e9) == pytest.approx(plain.score(data), abs=0.3)
        return
    np.testing.assert_array_equal(plain.labels_, far.labels_)
    np.testing.assert_allclose(far.score_samples(data + 1e9), plain.score_samples(data), atol=1e-4)


@pytest.mark.parametrize(
    "rows", [[[1.0, "high"], [2.0, "low"]], np.array([["a", "b"], ["c", "d"]])]
)
def test_text_is_refused(rows):
    with pytest.raises(ValueError, match="could not convert string to float"):
        fit(rows)


def test_rows_beyond_all_numbers_of_their_densities_have_a_place():
    # Squares of 1e16 beside noise of 1: rates cancel out, and sampling went on for ever.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(24, 2))
    x[rng.random(x.shape) < 0.7] = 1e8
    mixture = DFPMixture(
        1,
        divergence="constant",
        standardize=False,
        leaf_noise="own",
        covariance_type="full",
        n_chains=1,
        n_warmup=5,
        n_draws=5,
        random_state=0,
        progress=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert mixture.fit(x).labels_.size == 24
