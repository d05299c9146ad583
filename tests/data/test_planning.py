"""What columns of a data frame are taken as, and how that is changed."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sticktree import DFPMixture, plan_table, preferred_kinds
from sticktree.errors import ParameterError

N = 40


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "row": np.arange(1, N + 1),
            "plant": [f"p{k}" for k in range(N)],
            "code": [f"c{k}" for k in range(N)],
            "picked": pd.date_range("2021-03-01", periods=N),
            "notes": [None if k % 9 == 0 else f"text {k // 2}" for k in range(N)],
            "site": "north",
            "empty": np.nan,
            "length": rng.normal(size=N),
            "dose": rng.lognormal(0, 1.5, N),
            "visits": rng.poisson(4.0, N),
            "hit": np.arange(N) % 2,
            "class": np.arange(N) % 3,
            "colour": pd.Categorical(np.where(np.arange(N) % 2, "red", "blue")),
            "ripe": np.arange(N) % 3 == 0,
        }
    )


def test_every_column_gets_what_it_is_for_with_a_reason(frame):
    plan = plan_table(frame)
    assert {column.name: column.taken_as() for column in plan.columns} == {
        "row": "left out: numbers of the rows",
        "plant": "names of the rows: so could code",
        "code": "left out: another text in every row",
        "picked": "left out: dates; as numbers: picked=days",
        "notes": "left out: free text, or almost",
        "site": "left out: always the same",
        "empty": "left out: no values",
        "length": "gaussian",
        "dose": "gaussian",
        "visits": "gaussian",
        "hit": "gaussian",
        "class": "gaussian",
        "colour": "categorical",
        "ripe": "bernoulli",
    }
    assert plan.open == {
        "dose": ("lognormal",),
        "visits": ("poisson", "negative_binomial"),
        "hit": ("bernoulli",),
        "class": ("categorical",),
    }
    text = str(plan)
    assert "gaussian – counts? visits=poisson" in text
    assert "gaussian – classes or codes? class=label or class=categorical" in text
    assert all(column["column"] in text for column in plan.record() if column["asked for"])


def test_whatever_is_asked_for_comes_first(frame):
    asked = {"code": "id", "picked": "days", "visits": "poisson", "class": "label", "site": "drop"}
    plan = plan_table(frame, asked)
    assert plan.of_role("id") == ["code"]
    assert plan.of_role("label") == ["class"]
    assert plan.declared == {"visits": "poisson"}
    assert plan.kinds == {
        "picked": "gaussian",
        "length": "gaussian",
        "dose": "gaussian",
        "visits": "poisson",
        "hit": "gaussian",
        "colour": "categorical",
        "ripe": "bernoulli",
    }
    selected = plan.select(frame)
    assert list(selected) == ["picked", "length", "dose", "visits", "hit", "colour", "ripe"]
    assert selected.index[:2].tolist() == ["c0", "c1"]
    assert np.diff(selected["picked"]).tolist() == [1.0] * (N - 1)
    assert plan.changed({"colour": "drop"}).fitted == [
        name for name in plan.fitted if name != "colour"
    ]


def test_what_cannot_be_is_refused(frame):
    with pytest.raises(ParameterError, match="did you mean 'poisson'"):
        plan_table(frame, {"visits": "poison"})
    with pytest.raises(ParameterError, match="did you mean 'visits'"):
        plan_table(frame, {"visit": "poisson"})


def test_a_selection_is_fitted_and_new_rows_are_read_like_it(frame):
    plan = plan_table(frame, {"class": "label", "hit": "bernoulli"})
    mixture = DFPMixture(
        columns=plan.kinds,
        n_chains=1,
        n_warmup=2,
        n_draws=3,
        covariance_type="diag",
        random_state=0,
    ).fit(plan.select(frame))
    assert mixture.tree_.names[:2] == ("p0", "p1")
    assert mixture.predict(plan.select(frame[5:8])).shape == (3,)


def test_a_frame_of_polars_has_a_plan_too(frame):
    other = pl.DataFrame({name: frame[name].to_list() for name in ("plant", "length", "picked")})
    plan = plan_table(other)
    assert plan.fitted == ["length"]
    assert plan.select(other).columns == ["length"]
    with pytest.raises(ValueError, match="turn dates of polars into numbers first: 'picked'"):
        plan.changed({"picked": "days"}).select(other)


def test_all_that_is_wrong_with_a_frame_is_said_at_once(frame):
    with pytest.raises(ValueError, match="5 things are wrong") as error:
        DFPMixture().fit(frame[["plant", "code", "picked", "site", "empty", "length"]])
    for words in ("'plant'", "'code'", "'picked'", "'site'", "'empty'", "sticktree.plan_table(X)"):
        assert words in str(error.value)


def test_many_columns_that_are_alike_have_one_line():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 30))).add_prefix("g")
    wide.insert(0, "sample", [f"s{k}" for k in range(12)])
    lines = str(plan_table(wide)).splitlines()
    assert len(lines) == 2
    assert lines[1].split("  ")[1] == "g0, … (30 columns)"


def test_leave_one_out_prefers_the_kind_that_made_the_column():
    rng = np.random.default_rng(1)
    made = pd.DataFrame(
        {
            "poisson": rng.poisson(3.0, 120),
            "lognormal": rng.lognormal(0.0, 1.2, 120),
            "gaussian": rng.normal(size=120),
        }
    )
    found = preferred_kinds(made, random_state=0)
    assert {name: one.kind for name, one in found.items()} == {
        "poisson": "poisson",
        "lognormal": "lognormal",
    }
    assert found["lognormal"].elpd["lognormal"] > found["lognormal"].elpd["gaussian"]
    again = preferred_kinds(made, random_state=0)
    assert again == found
