"""What goes into an estimator: any container of numbers, and clear words where it is wrong."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sticktree import DFPMixture
from sticktree.data import read_table
from sticktree.errors import ParameterError
from sticktree.posterior.draws import ConvergenceWarning

ASKING = ["score_samples", "score", "predict", "predict_proba", "transform", "impute"]


def rows(n_rows=24, dimension=2, seed=0):
    """Return two groups of rows with whole numbers, which any type of number holds."""
    rng = np.random.default_rng(seed)
    shift = np.repeat([0.0, 60.0], n_rows // 2)[:, None]
    return np.round(8 * rng.standard_normal((n_rows, dimension)) + shift)


def fit(data, **parameters):
    quick = {
        "covariance_type": "full",
        "depth": 3,
        "n_chains": 2,
        "n_warmup": 20,
        "n_draws": 15,
        "random_state": 0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DFPMixture(**quick | parameters).fit(data)


@pytest.fixture(scope="module")
def mixture():
    return fit(rows())


@pytest.fixture(scope="module")
def named():
    return fit(pd.DataFrame(rows(), columns=["x", "y"]))


# ---- containers --------------------------------------------------------------------------------


def every_other(data):
    padded = np.zeros((2 * len(data), 3 * data.shape[1]))
    padded[::2, ::3] = data
    return padded[::2, ::3]


CONTAINERS = {
    "int64": lambda x: x.astype(np.int64),
    "int16": lambda x: x.astype(np.int16),
    "float32": lambda x: x.astype(np.float32),
    "object": lambda x: x.astype(object),
    "Fortran": np.asfortranarray,
    "reversed": lambda x: x[::-1].copy()[::-1],
    "strided": every_other,
    "list": lambda x: x.tolist(),
    "big-endian": lambda x: x.astype(">f8"),
    "pandas": lambda x: pd.DataFrame(x, columns=["x", "y"]),
    "polars": lambda x: pl.DataFrame(x, schema=["x", "y"]),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_container_of_the_numbers_makes_no_difference(mixture, name):
    data, new = CONTAINERS[name](rows()), CONTAINERS[name](rows(10, seed=1))
    other = fit(data)
    for a, b in zip(mixture.posterior_.draws, other.posterior_.draws, strict=True):
        np.testing.assert_array_equal(a.leaf, b.leaf)
        np.testing.assert_array_equal(a.parameters["factor"], b.parameters["factor"])
        assert a.log_joint == b.log_joint
    np.testing.assert_array_equal(mixture.labels_, other.labels_)
    for method in ASKING:
        np.testing.assert_array_equal(
            getattr(other, method)(new), getattr(mixture, method)(rows(10, seed=1))
        )


def test_data_are_not_changed():
    data = rows()
    fit(data, standardize=False)
    fit(data).score_samples(data)
    np.testing.assert_array_equal(data, rows())


def test_fit_does_not_change_with_the_array_it_was_given():
    data = rows()
    other = fit(data, standardize=False)
    before = other.score_samples(rows(seed=1))
    data[:] = 0
    np.testing.assert_array_equal(other.score_samples(rows(seed=1)), before)


@pytest.mark.parametrize(
    "frame",
    [
        lambda x, names: pd.DataFrame(x, columns=names),
        lambda x, names: pl.DataFrame(x, schema=names),
    ],
    ids=["pandas", "polars"],
)
@pytest.mark.parametrize("names", [["y", "x"], ["x", "z"]], ids=["order", "name"])
def test_columns_must_be_those_of_the_fit(named, frame, names):
    assert named.feature_names_in_.tolist() == ["x", "y"]
    for method in ASKING:
        with pytest.raises(ValueError, match="feature names should match"):
            getattr(named, method)(frame(rows(), names))


def test_columns_without_names_leave_none(mixture):
    assert not hasattr(mixture, "feature_names_in_")
    assert mixture.n_features_in_ == 2


# ---- wrong parameters --------------------------------------------------------------------------

PAIRS = ["concentration_prior", "precision_prior", "scale_prior", "discount_prior"]
WRONG = [
    ({"depth": 0}, "depth must be an integer of at least 1, got 0"),
    ({"depth": 1.5}, "depth must be an integer of at least 1, got 1.5"),
    ({"divergence": "exp"}, 'divergence must be "log", "constant", "diffusion", an array'),
    ({"divergence": None}, "divergence must be"),
    ({"divergence": [1.0, -0.5, 1.0]}, "divergence must be greater than 0 at every level"),
    ({"divergence": [1.0, 1.0]}, "depth is 3, but divergence has 2 steps"),
    ({"concentration": -1}, "concentration must be a finite number greater than 0, got -1"),
    ({"concentration": 0.0}, "concentration must be a finite number greater than 0, got 0.0"),
    ({"concentration": np.nan}, "concentration must be a finite number greater than 0, got nan"),
    ({"concentration": np.inf}, "concentration must be a finite number greater than 0, got inf"),
    ({"concentration": "a"}, "concentration must be a finite number greater than 0, got 'a'"),
    ({"discount": 1}, "discount must be a number in [0, 1), got 1"),
    ({"discount": -0.1}, "discount must be a number in [0, 1), got -0.1"),
    ({"discount": np.nan}, "discount must be a number in [0, 1), got nan"),
    (
        {"covariance_type": "tied"},
        "covariance_type must be one of ('auto', 'full', 'diag', 'spherical')",
    ),
    ({"leaf_noise": "mine"}, "leaf_noise must be one of ('auto', 'shared', 'own')"),
    ({"resolution": -1.0}, 'resolution must be "auto", or a number of at least 0'),
    ({"resolution": "fine"}, 'resolution must be "auto", or a number of at least 0'),
    ({"node_prior": (1.0,)}, "node_prior must be two numbers greater than 0"),
    ({"covariance_type": None}, "got None"),
    ({"scales": "free"}, "scales must be one of ('per_level', 'shared'), got 'free'"),
    ({"n_chains": 0}, 'n_chains must be "auto" or an integer of at least 1, got 0'),
    ({"n_draws": 0}, 'n_draws must be "auto" or an integer of at least 1, got 0'),
    ({"n_draws": 2.5}, 'n_draws must be "auto" or an integer of at least 1, got 2.5'),
    ({"n_warmup": -1}, 'n_warmup must be "auto" or an integer of at least 0, got -1'),
    ({"thin": 0}, "thin must be an integer of at least 1, got 0"),
    ({"n_jobs": 0}, "n_jobs must be an integer of at least 1, got 0"),
    ({"n_jobs": 1.5}, "n_jobs must be an integer of at least 1, got 1.5"),
    ({"level": 3}, "level must be an integer between 0 and 2, got 3"),
    ({"level": -1}, "level must be an integer between 0 and 2, got -1"),
    ({"level": 1.5}, "level must be an integer between 0 and 2, got 1.5"),
    ({"random_state": -1}, "random_state must be"),
    ({"random_state": "seed"}, "'seed'"),
    *(({name: (1.0,)}, "two numbers greater than 0") for name in PAIRS),
    *(({name: (1.0, 2.0, 3.0)}, "two numbers greater than 0") for name in PAIRS),
    *(({name: 1.0}, "two numbers greater than 0") for name in PAIRS),
    ({"concentration_prior": 1.0}, "concentration_prior must be two numbers greater than 0, got"),
    ({"concentration_prior": (1.0, None)}, "concentration_prior[1] must be a finite number"),
    ({"precision_prior": 1.0}, "the second of which may be None, got 1.0"),
    ({"precision_prior": (None, 1.0)}, "precision_prior[0] must be a finite number"),
    ({"scale_prior": (0.0, 1.0)}, "scale_prior[0] must be a finite number greater than 0"),
    ({"scale_prior": "wide"}, 'scale_prior must be "auto" or two numbers greater than 0'),
    ({"precision_prior": "wide"}, 'precision_prior must be "auto", or two numbers'),
    *(({name: (-1.0, 1.0)}, f"{name}[0] must be a finite number greater") for name in PAIRS),
    *(({name: (1.0, 0.0)}, f"{name}[1] must be a finite number greater") for name in PAIRS),
    *(({name: (1.0, np.nan)}, f"{name}[1] must be a finite number greater") for name in PAIRS),
]


@pytest.mark.parametrize(
    ("parameters", "words"), WRONG, ids=[f"{k}={v}" for case, _ in WRONG for k, v in case.items()]
)
def test_wrong_parameter_is_named_with_what_came_and_what_is_right(parameters, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are the match
        fit(rows(), **parameters)
    assert words in str(caught.value)


@pytest.mark.parametrize("level", [3, -1, 1.5, "1"])
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_level_beyond_the_tree_is_refused_when_asking(mixture, method, level):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are the match
        getattr(mixture, method)(rows(), level=level)
    assert f"level must be an integer between 0 and 2, got {level!r}" in str(caught.value)


# ---- wrong data --------------------------------------------------------------------------------


def spoilt(value):
    data = rows()
    data[3, 1] = value
    return data


WRONG_DATA = {
    "infinity": (spoilt(np.inf), "Input X contains infinity in row 3"),
    "minus infinity": (spoilt(-np.inf), "Input X contains infinity in row 3"),
    "infinity in many rows": (np.full((8, 2), np.inf), "in rows 0, 1, 2, 3, 4 and 3 more"),
    "sparse": (sparse.csr_matrix(rows()), "a dense array"),
    "text": ([["a", "b"], ["c", "d"]], "could not convert string to float"),
    "one dimension": ([1.0, 2.0, 3.0], "Expected 2D array"),
    "three dimensions": (np.zeros((2, 2, 2)), "dim 3"),
    "no rows": (np.empty((0, 2)), "0 sample(s)"),
    "no columns": (np.empty((3, 0)), "0 feature(s)"),
    "number": (5.0, "Expected 2D array"),
    "complex": (np.ones((3, 2)) * 1j, "Complex data not supported"),
}


@pytest.mark.parametrize("name", WRONG_DATA)
def test_wrong_data_are_refused_in_fitting_and_asking(mixture, name):
    data, words = WRONG_DATA[name]
    for call in (fit, *(getattr(mixture, method) for method in ASKING)):
        with pytest.raises((ValueError, TypeError)) as caught:
            call(data)
        assert words in str(caught.value)


@pytest.mark.parametrize("shape", [(20, 3), (20, 60)])
def test_values_too_far_apart_are_refused(shape):
    data = np.random.default_rng(0).normal(size=shape)
    assert np.isfinite(fit(data * 1e300).score_samples(data * 1e300)).all()
    data[3:5, 1] = -1.7e308, 1.7e308
    with pytest.raises(ParameterError, match=r"less than 4e307 apart, got more in column"):
        fit(data)


@pytest.mark.parametrize("method", ASKING)
def test_other_number_of_columns_is_refused(mixture, method):
    for dimension in (1, 3):
        with pytest.raises(ValueError, match=f"X has {dimension} features, .* expecting 2"):
            getattr(mixture, method)(rows(dimension=dimension))


@pytest.mark.parametrize("method", [*ASKING, "sample", "get_feature_names_out"])
def test_asking_before_fitting_is_refused(method):
    ask = getattr(DFPMixture(), method)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ask(rows()) if method in ASKING else ask()


# ---- odd data that work ------------------------------------------------------------------------

ODD = {
    "one row": rows()[:1],
    "one number": np.array([[3.0]]),
    "two rows": rows()[[0, -1]],
    "one column": rows(dimension=1),
    "more columns than rows": rows(6, 20)[:5],
    "rows many times": np.repeat(rows(6), 4, axis=0),
    "a constant column": np.column_stack([rows(), np.full(24, 1 / 3)]),
    "the same column twice": rows()[:, [0, 1, 0]],
    "all rows equal": np.full((10, 2), 1 / 3),
    "all zero": np.zeros((10, 2)),
    "huge": rows() * 1e150,
    "tiny": rows() * 1e-150,
    "huge and tiny": rows() * [1e150, 1e-150],
    "far from zero": rows() + 1e9,
    "gaps": np.where(rows() % 5 == 0, np.nan, rows()),
    "a row of gaps": np.vstack([rows(), [[np.nan, np.nan]]]),
    "one value in a column": np.column_stack([rows(), [3.0] + 23 * [np.nan]]),
    "nothing but gaps in one row of two": np.array([[1.0, 2.0], [np.nan, np.nan]]),
    "a far row": np.vstack([rows(), [[1e12, 0.0]]]),
}


@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
@pytest.mark.parametrize("name", ODD)
def test_odd_data_give_finite_answers(name, form):
    data = ODD[name]
    other = fit(data, covariance_type=form, n_warmup=15, n_draws=8)
    assert other.labels_.shape == (len(data),)
    assert all(np.isfinite(draw.log_joint) for draw in other.posterior_.draws)
    assert np.isfinite(other.score_samples(data)).all()
    proba = other.predict_proba(data)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.isfinite(other.transform(data)).all()
    assert np.isfinite(other.sample(20, random_state=0)).all()


@pytest.mark.parametrize("distance", [1e3, 1e6, 1e10, 1e12, 1e100])
def test_rows_far_from_all_data_have_a_small_but_finite_density(mixture, distance):
    nearer, farther = mixture.score_samples([[distance, 0.0], [2 * distance, 0.0]])
    assert np.isfinite([nearer, farther]).all()
    assert farther < nearer < -30


@pytest.mark.parametrize("distance", [1e3, 1e10, 1e100, 1e200])
def test_rows_far_from_all_data_have_memberships(mixture, distance):
    for method in ("predict_proba", "transform"):
        assert np.isfinite(getattr(mixture, method)([[distance, 0.0]])).all()
    assert mixture.predict_proba([[distance, -distance]]).sum() == pytest.approx(1)


def test_equal_rows_are_together(mixture):
    data = np.repeat([[0.0, 0.0], [50.0, 50.0]], 10, axis=0)
    labels = fit(data).labels_
    assert labels.tolist() == np.repeat([labels[0], labels[-1]], 10).tolist()
    assert labels[0] != labels[-1]


def test_a_table_that_was_read_before_is_taken_as_it_is():
    frame = pd.DataFrame(rows(), columns=["x", "y"], index=[f"r{k}" for k in range(len(rows()))])
    table = replace(read_table(frame), names=tuple(frame.index))
    first, again = fit(frame), fit(table)
    assert [d.log_joint for d in first.posterior_.draws] == [
        d.log_joint for d in again.posterior_.draws
    ]
    assert again.feature_names_in_.tolist() == ["x", "y"]
    assert again.tree_.names == first.tree_.names == table.names
    np.testing.assert_array_equal(again.score_samples(table), first.score_samples(frame))
    other = read_table(pd.DataFrame({"x": rows()[:, 0], "y": np.arange(len(rows())) % 2 == 0}))
    with pytest.raises(ValueError, match="X must be a table with the kinds and categories of the"):
        again.score_samples(other)
