"""Tables of mixed columns through the estimator."""

import warnings

import numpy as np
import pytest

from sticktree import DFPMixture
from sticktree.estimators.reading import ColumnsWarning
from sticktree.posterior.draws import ConvergenceWarning

pd = pytest.importorskip("pandas")

QUICK = {"n_chains": 2, "n_warmup": 60, "n_draws": 40, "random_state": 0, "progress": False}
KINDS = {"dose": "lognormal", "cells": "poisson", "sex": "categorical", "ill": "bernoulli"}


def table(n=60, seed=0):
    """Make two groups that differ in every column."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1], n // 2)
    return pd.DataFrame(
        {
            "age": rng.normal(30 + 30 * group, 3),
            "dose": np.exp(rng.normal(2 * group, 0.2)),
            "cells": rng.poisson(np.where(group, 30, 3)),
            "sex": np.where(rng.random(n) < 0.1 + 0.8 * group, "f", "m"),
            "ill": rng.random(n) < 0.9 - 0.8 * group,
        }
    )


def fit(data, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DFPMixture(**QUICK | parameters).fit(data)


@pytest.fixture(scope="module")
def mixture():
    return fit(table(), columns=KINDS | {"age": "gaussian"}, covariance_type="diag", depth=3)


def test_groups_are_found(mixture):
    labels = mixture.labels_
    assert not set(labels[:30]) & set(labels[30:])
    assert mixture.leaf_noise_ == "own"


def test_density_is_in_the_users_units(mixture):
    """Units are powers of two, so that all numbers inside are the same to the last bit."""
    data = table(seed=1)
    before = mixture.score_samples(data)
    scaled = table().assign(age=table()["age"] * 1024)
    columns = KINDS | {"age": "gaussian"}
    other = fit(scaled, columns=columns, covariance_type="diag", depth=3)
    now = other.score_samples(data.assign(age=data["age"] * 1024))
    np.testing.assert_allclose(now - before, -np.log(1024), atol=1e-9)
    logs = table().assign(dose=np.log(table()["dose"]))
    other = fit(logs, columns=columns | {"dose": "gaussian"}, covariance_type="diag", depth=3)
    now = other.score_samples(data.assign(dose=np.log(data["dose"])))
    np.testing.assert_allclose(before - now, -np.log(data["dose"]), atol=1e-9)


def test_probabilities_of_all_values_of_a_column_add_up_to_one(mixture):
    row = table().iloc[:1]
    rest = row.assign(sex=None)
    both = pd.concat([row.assign(sex="f"), row.assign(sex="m")])
    assert np.exp(mixture.score_samples(both)).sum() == pytest.approx(
        np.exp(mixture.score_samples(rest))[0]
    )
    counts = pd.concat([row.assign(cells=k) for k in range(400)])
    none = row.assign(cells=np.nan)
    assert np.exp(mixture.score_samples(counts)).sum() == pytest.approx(
        np.exp(mixture.score_samples(none))[0], rel=1e-4
    )


def test_what_is_missing_is_filled_in_by_the_group(mixture):
    data = table(seed=2)
    gappy = data.copy()
    gappy["cells"] = gappy["cells"].astype(float)
    gappy.loc[0, ["sex"]] = None
    gappy.loc[40, ["sex", "cells", "dose"]] = [None, np.nan, np.nan]
    filled = mixture.impute(gappy)
    assert isinstance(filled, pd.DataFrame)
    assert filled.loc[0, "sex"] == "m"
    assert filled.loc[40, "sex"] == "f"
    assert filled.loc[40, "cells"] > 20
    assert 3 < filled.loc[40, "dose"] < 15
    assert list(filled["age"]) == list(data["age"])
    draws = mixture.impute(gappy, n_draws=20, random_state=0)
    assert len(draws) == 20
    assert {draw.loc[40, "sex"] for draw in draws} <= {"f", "m"}


def test_a_missing_category_is_the_likeliest_and_never_one_between():
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {"x": rng.normal(size=80), "code": ["a"] * 39 + ["b"] * 2 + ["c"] * 39}
    ).sample(80, random_state=0)
    columns = {"x": "gaussian", "code": "categorical"}
    mixture = fit(data, columns=columns, covariance_type="diag", depth=2)
    filled = mixture.impute(pd.DataFrame({"x": rng.normal(size=10), "code": [None] * 10}))
    assert set(filled["code"]) <= {"a", "c"}


def test_new_rows_look_like_the_table(mixture):
    new = mixture.sample(200, random_state=0)
    assert list(new.columns) == list(table().columns)
    assert set(new["sex"]) == {"f", "m"}
    assert (new["dose"] > 0).all()
    assert (new["cells"] >= 0).all()
    high = new["cells"] > 15
    assert (new.loc[high, "age"] > 45).mean() > 0.9


def test_kinds_are_inferred_from_types_and_said_aloud():
    with pytest.warns(ColumnsWarning, match=r"1 bernoulli \(ill: False or True\)"):
        mixture = fit(table().drop(columns=["cells"]), covariance_type="diag", depth=2)
    assert mixture.columns_.kinds == ("gaussian", "gaussian", "categorical", "categorical")
    assert "1 categorical (sex: 2 categories)" in str(mixture.columns_)


def test_the_data_choose_for_mixed_columns_too():
    mixture = fit(table(), columns=KINDS | {"age": "gaussian"}, depth=3)
    assert all(row["name"].startswith("own") for row in mixture.selection_.table)
    assert np.isfinite(mixture.loo().elpd)


def test_shared_noise_is_refused_for_mixed_columns():
    with pytest.raises(
        ValueError,
        match="leaf_noise must be own or auto unless all columns are gaussian, got shared with cat",
    ):
        fit(table(), columns=KINDS | {"age": "gaussian"}, leaf_noise="shared")


def test_unknown_category_is_named(mixture):
    with pytest.raises(ValueError, match="'x'"):
        mixture.score_samples(table().assign(sex="x"))


def test_text_in_an_array_is_refused_with_advice():
    with pytest.raises(ValueError, match="could not convert string to float"):
        fit(np.array([["a", 1.0], ["b", 2.0]], dtype=object))


def test_mixed_fit_resumes_from_a_checkpoint(tmp_path):
    parameters = {"columns": KINDS | {"age": "gaussian"}, "covariance_type": "full", "depth": 3}
    data = table()
    data.loc[3, "age"] = np.nan
    whole = fit(data, **parameters)
    part = fit(data, **parameters | {"checkpoint": tmp_path, "n_draws": 15})
    assert len(part.posterior_) == 30
    resumed = fit(data, **parameters | {"checkpoint": tmp_path})
    np.testing.assert_array_equal(
        [draw.log_joint for draw in resumed.posterior_.draws],
        [draw.log_joint for draw in whole.posterior_.draws],
    )
