"""What makes each cluster, as a table: kinds of columns, order, forms, labels."""

import csv
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from sticktree.data import read_table
from sticktree.data.readable import ReadableTable
from sticktree.posterior.markers import FIELDS, coded_labels, find_markers
from tests.support.made_fits import mixture, nasty_mixture


def readable(frame, columns=None):
    read = read_table(frame, columns)
    return ReadableTable.of(read.columns, np.arange(len(read.values)), read.values)


@pytest.fixture(scope="module")
def mixed():
    """A table of every kind of column, three groups of rows, and its markers."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], [30, 25, 20])
    frame = pd.DataFrame(
        {
            "dose": np.exp(rng.normal(group, 0.5)),
            "cells": rng.poisson(2 + 3 * group),
            "site": np.array(["Bonn", "Kiel", "Ulm"])[(group + (rng.random(75) < 0.2)) % 3],
            "ill": rng.random(75) < 0.2 + 0.3 * group,
            "hits": rng.binomial(10, 0.2 + 0.2 * group),
            "shots": 10,
            "x": rng.normal(size=75),
        }
    )
    kinds = {"dose": "lognormal", "cells": "poisson", "hits/shots": "binomial"}
    frame.loc[3, "x"] = np.nan
    frame.loc[4, "site"] = None
    return frame, group, find_markers(readable(frame, kinds), group)


def line(markers, cluster, column):
    return next(one for one in markers if one.cluster == cluster and one.column == column)


def test_every_kind_is_in_its_own_units(mixed):
    frame, group, markers = mixed
    assert markers.columns == ("dose", "cells", "site", "ill", "hits/shots", "x")
    for k in range(3):
        inside, outside = frame[group == k], frame[group != k]
        dose = line(markers, k, "dose")
        assert dose.inside == pytest.approx(np.exp(np.log(inside["dose"]).mean()))
        assert dose.ratio == pytest.approx(dose.inside / dose.outside)
        logs = np.log(inside["dose"]), np.log(outside["dose"])
        n, m = map(len, logs)
        pooled = ((n - 1) * logs[0].var() + (m - 1) * logs[1].var()) / (n + m - 2)
        assert dose.effect == pytest.approx((logs[0].mean() - logs[1].mean()) / np.sqrt(pooled))
        cells = line(markers, k, "cells")
        assert cells.inside == pytest.approx(inside["cells"].mean())
        assert cells.ratio == pytest.approx(inside["cells"].mean() / outside["cells"].mean())
        rate = line(markers, k, "hits/shots")
        assert rate.outside == pytest.approx(outside["hits"].sum() / outside["shots"].sum())
        assert np.isnan(rate.ratio)
        assert line(markers, k, "x").rows_inside == inside["x"].notna().sum()
        site = line(markers, k, "site")
        known, others = inside["site"].dropna(), outside["site"].dropna()
        above = {name: (known == name).mean() - (others == name).mean() for name in set(known)}
        assert site.category == max(above, key=above.get)
        assert site.inside - site.outside == pytest.approx(max(above.values()))
        assert site.direction == "higher"
        of_all = markers.shares[2]
        assert of_all.inside[k].sum() == pytest.approx(1)
        at = markers.categories[2].index("Ulm")
        assert of_all.outside[k, at] == pytest.approx((others == "Ulm").mean())
    assert line(markers, 0, "dose").direction == "lower"
    assert line(markers, 2, "hits/shots").evidence > 0.999


def test_lines_are_sorted_by_evidence_then_effect(mixed):
    *_, markers = mixed
    for k in range(3):
        lines = list(markers.of(k))
        keys = [(-round(one.evidence, 2), -abs(one.effect)) for one in lines]
        assert keys == sorted(keys)
        assert [one.column for one in markers.top(2).of(k)] == [one.column for one in lines[:2]]
    assert len(markers) == len(list(markers)) == 18
    assert len(markers.top(2)) == len(markers.top(2).table) == 6
    assert len(markers.top(99)) == 18


def test_what_is_not_known_comes_last():
    frame = pd.DataFrame({"flat": 1.0, "gone": [np.nan, np.nan, 1.0, 2.0], "x": [1.0, 2, 3, 5]})
    markers = find_markers(readable(frame), np.array([0, 0, 1, 1]))
    assert [one.column for one in markers.of(0)] == ["x", "flat", "gone"]
    assert [one.note for one in markers.of(0)] == ["", "all values are equal", "no values inside"]
    assert [one.note for one in markers.of(1)] == ["", "all values are equal", "no values outside"]


def test_the_table_in_its_forms(mixed, tmp_path):
    *_, markers = mixed
    frame = markers.to_frame()
    assert list(frame) == list(FIELDS)
    assert len(frame) == 18
    assert ((frame["evidence"] >= 0.5) & (frame["evidence"] <= 1)).all()
    text = markers.to_csv()
    assert markers.to_csv(tmp_path / "markers.csv") is None
    assert (tmp_path / "markers.csv").read_text("utf-8") == text
    lines = list(csv.DictReader(io.StringIO(text)))
    np.testing.assert_allclose([float(one["effect"]) for one in lines], frame["effect"], rtol=1e-5)
    assert {one["ratio"] for one in lines if one["column"] == "x"} == {""}
    assert repr(markers) == "Markers(n_clusters=3, n_columns=6)"
    assert repr(markers.top(2)) == "Markers(n_clusters=3, n_columns=6, n_top=2)"
    shown = str(markers).splitlines()
    assert shown[0].split()[:3] == ["cluster", "column", "inside"]
    assert len(shown) == 1 + 15 + 1
    assert shown[-1] == "… 3 more in to_frame() and to_csv()"
    assert "<table" in markers._repr_html_()


def test_text_from_data_is_inert_in_a_notebook():
    html = nasty_mixture().markers()._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script" in html


@pytest.mark.parametrize(
    "labels", [["b", "a", "b"], np.array([9, 3, 9]), pd.Series([True, False, True])]
)
def test_labels_of_any_kind(labels):
    codes, names = coded_labels(labels, 3)
    assert codes.tolist() == [1, 0, 1]
    assert names == sorted(set(labels))


def test_strays_and_what_is_missing_are_in_no_cluster():
    for labels in (
        [2, -1, 1, 2],
        ["x", None, "a", "x"],
        [2.0, np.nan, 1.0, 2.0],
        ["2", "-1", "1", "2"],
    ):
        codes, names = coded_labels(labels, 4)
        assert codes.tolist() == [1, -1, 0, 1]
        assert len(names) == 2
    assert coded_labels([1, "a", 1], 3)[0].tolist() == [0, 1, 0]  # of two types, in some order
    with pytest.raises(ValueError, match="labels must have a cluster, got strays only"):
        coded_labels([-1, -1], 2)


def test_a_mixture_is_asked(mixed):
    frame, group, _ = mixed
    weights = np.random.default_rng(1).integers(0, 3, 75)
    frame = frame[["dose", "x"]]
    fitted = mixture(frame, labels=group, weights=weights)
    found = fitted.markers()
    again = np.repeat(np.arange(75), weights)
    twin = find_markers(readable(frame.iloc[again]), group[again])
    np.testing.assert_allclose(found.contrast.effect, twin.contrast.effect)
    np.testing.assert_allclose(found.contrast.probability, twin.contrast.probability)
    np.testing.assert_array_equal(found.sizes, np.bincount(group[again]))
    names = np.array(["low", "mid", "top"])[group]
    named = fitted.markers(names, n_top=1)
    assert named.clusters == ("low", "mid", "top")
    assert [one.column for one in named] == [next(found.of(k)).column for k in range(3)]
    with pytest.raises(ValueError, match="labels must have one entry for each of 75 data, got 3"):
        fitted.markers([0, 1, 2])
    with pytest.raises(ValueError, match="n_top must be an integer of at least 1, got 0"):
        fitted.markers(n_top=0)


def test_of_rows_elsewhere_the_sample_is_compared():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [60, 40, 1])
    values = rng.normal(size=(101, 2)) + labels[:, None]
    fitted = mixture(values, labels=labels)
    rows = np.sort(rng.choice(100, 50, replace=False))
    training, known = fitted.fit_.training, fitted.fit_.summaries()
    training = replace(training, data=values[:0], sampled=(rows, values[rows]))
    membership = fitted.membership_
    fitted.fit_ = replace(fitted.fit_, training=training).with_summaries(known)
    vars(fitted.fit_)["membership"] = membership
    found = fitted.markers()
    twin = find_markers(readable(values[rows]), labels[rows])
    np.testing.assert_allclose(found.contrast.effect[:2], twin.contrast.effect)
    assert [one.note for one in found.of(2)] == ["no values inside"] * 2


def test_one_cluster_has_nothing_to_be_compared_with():
    fitted = mixture(np.arange(6.0)[:, None], labels=np.zeros(6, dtype=int))
    (only,) = fitted.markers()
    assert only.note == "no values outside"
    assert only.inside == 2.5
    assert np.isnan(only.evidence)
    assert only.direction == ""
    assert "(no values outside)" in str(fitted.markers())
    with_strays = fitted.markers([0, 0, 0, 0, -1, -1])
    assert next(iter(with_strays)).direction == "lower"


def test_a_membership_that_is_none_is_refused():
    table = readable(np.arange(6.0)[:, None])
    for membership, message in (
        (np.zeros(5, dtype=int), "a row for each of the 6 rows, got an array of shape (5,)"),
        (np.ones((6, 2)), "probabilities that sum to at most 1 in each row, got sums up to 2"),
    ):
        with pytest.raises(ValueError) as raised:  # noqa: PT011
            find_markers(table, membership)
        assert str(raised.value) == f"membership must have {message}"


def test_iris_is_told_apart_by_its_petals():
    iris = load_iris(as_frame=True)
    found = find_markers(readable(iris.data), iris.target.to_numpy(), n_top=1)
    assert [one.column for one in found] == [
        "petal length (cm)",
        "sepal width (cm)",
        "petal width (cm)",
    ]
