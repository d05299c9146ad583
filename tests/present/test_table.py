"""Rows, columns and classes as people know them, and what is typical of a cluster."""

import numpy as np
import pandas as pd

from sticktree.present.annotations import Classes
from sticktree.present.findings import Findings
from tests.support.made_fits import mixture


def test_classes_are_ordered_as_numbers_or_text():
    assert Classes.of([10, 9, None, np.nan, 9]).names == ["9", "10"]
    assert Classes.of([10, 9, None, np.nan, 9]).code.tolist() == [1, 0, -1, -1, 0]
    assert Classes.of(np.array(["b", "a", "b"])).names == ["a", "b"]
    assert Classes.of(pd.Series(["b", pd.NA], dtype="string")).code.tolist() == [0, -1]
    assert Classes.of([None, None]).names == []


def test_lognormal_columns_are_shown_as_they_came():
    values = np.exp(np.random.default_rng(0).normal(size=(9, 2)))
    table = Findings(mixture(values, columns=["lognormal", "gaussian"]).fit_).table
    np.testing.assert_allclose(table.values, values, rtol=1e-12)


def test_distances_are_standard_scores():
    values = np.random.default_rng(0).normal(5, 3, size=(30, 3))
    values[::4, 1] = np.nan
    values[:, 2] = 2.5
    table = Findings(mixture(values).fit_).table
    expected = (values[:, :2] - np.nanmean(values[:, :2], axis=0)) / np.nanstd(
        values[:, :2], axis=0
    )
    np.testing.assert_allclose(table.distances[:, :2], expected, rtol=1e-10)
    assert (table.distances[:, 2] == 0).all()


def test_what_sets_rows_apart_is_the_most_unusual_first():
    values = np.zeros((20, 4))
    values[10:] = [1.0, -30.0, 5.0, 0.0]
    values[:, 2] += np.tile([0.0, 10.0], 10)
    traits = Findings(mixture(values, labels=np.arange(20) >= 10).fit_).clusters[1].traits
    text = [trait.full() for trait in traits]
    assert text[:2] == ["column 0 1 (others 0: +∞ sd)", "column 1 −30 (others 0: −∞ sd)"]
    assert text[2:] == ["column 2 10 (others 5: +0.9 sd)"]  # column 3 is constant


def test_successes_are_shown_as_shares_of_their_trials():
    frame = pd.DataFrame(
        {"hits": [1, 2, 9, None, 0], "shots": [10, 10, 10, 10, 0], "x": [0.0, 1.0, 2.0, 3.0, 4.0]}
    )
    found = Findings(
        mixture(frame, columns={"hits/shots": "binomial"}, labels=[0, 0, 1, 1, 1]).fit_
    )
    assert found.table.names == ("hits/shots", "x")
    np.testing.assert_array_equal(found.table.values[:, 0], [0.1, 0.2, 0.9, np.nan, np.nan])
    assert "hits/shots 0.9 (high)" in [trait.brief() for trait in found.clusters[1].traits]
    assert found.columns.startswith("5 rows, 3 columns: ")
    one = pd.DataFrame({"rate": ["1/10", "2/10", "9/10"]})
    table = Findings(mixture(one, columns={"rate": "binomial"}, labels=[0, 0, 1]).fit_).table
    assert table.names == ("rate",)
    np.testing.assert_array_equal(table.values[:, 0], [0.1, 0.2, 0.9])
