"""Which columns carry the clusters, as a table: draws, kinds of columns, forms, bad input."""

import csv
import io
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture
from sticktree.data import read_table
from sticktree.data.readable import ReadableTable
from sticktree.posterior.clusterings import labels_at
from sticktree.posterior.draws import ConvergenceWarning
from sticktree.posterior.relevance import FIELDS, find_relevance, gathered, relevance_of
from tests.support.made_fits import mixture, nasty_mixture


def readable(frame, columns=None):
    read = read_table(frame, columns)
    return ReadableTable.of(read.columns, np.arange(len(read.values)), read.values)


def share_of(values, labels):
    """Return the share of one column, from its definition."""
    labels, values = labels[np.isfinite(values)], values[np.isfinite(values)]
    means = np.array([values[labels == k].mean() for k in labels])
    return ((means - values.mean()) ** 2).sum() / ((values - values.mean()) ** 2).sum()


@pytest.fixture(scope="module")
def fitted():
    """A fit of two groups, apart in two of five columns, with gaps and a row of weight 0."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 5)), columns=list("abcde"))
    frame.loc[25:, ["b", "d"]] += [4.0, 5.0]
    frame.loc[::9, "d"] = np.nan
    weights = np.where(np.arange(50) % 10 == 3, 2, 1)
    weights[7] = 0
    mixture = DFPMixture(
        covariance_type="diag", leaf_noise="shared", n_chains=2, n_warmup=60, n_draws=40,
        random_state=1,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # chains are short
        return frame, weights, mixture.fit(frame, sample_weight=weights)


def test_it_is_of_the_clusters_of_every_draw(fitted):
    frame, weights, fit = fitted
    found = fit.relevance(n_clusters=2)
    again = np.repeat(np.arange(50), weights)
    values = frame.to_numpy()[again]
    clusters = fit.fit_.cut_into(2).labels
    shares, part = np.zeros((0, 5)), []
    for level, share in fit.fit_.level_shares.items():
        branches = labels_at(fit.posterior_.draws, level)
        # The naive twin: every branch goes where most of its rows are.
        of_draws = []
        for labels in branches:
            home = {b: np.bincount(clusters[labels == b]).argmax() for b in set(labels.tolist())}
            of_draws.append(np.array([home[b] for b in labels.tolist()]))
        rows = [[share_of(values[:, d], z) for d in range(5)] for z in of_draws]
        shares = np.concatenate([shares, rows])
        part += [share / len(branches)] * len(branches)
    np.testing.assert_allclose(found.share, np.array(part) @ shares)
    assert found.n_draws == len(fit.posterior_)
    assert ((found.low <= found.share + 1e-12) & (found.share <= found.high + 1e-12)).all()
    if len(fit.fit_.level_shares) == 1:
        low, high = np.quantile(shares, [0.03, 0.97], axis=0, method="inverted_cdf")
        np.testing.assert_allclose([found.low, found.high], [low, high])
    assert [line.column for line in found.top(2)] == ["d", "b"]
    np.testing.assert_array_equal(found.values, np.isfinite(values).sum(axis=0))


def test_what_has_nothing_to_do_with_the_clusters_is_near_chance(fitted):
    *_, fit = fitted
    found = fit.relevance(n_clusters=2)
    assert found.chance[0] == pytest.approx(1 / (found.values[0] - 1))
    # Of two clusters of n values shares are Beta(1/2, n/2 − 1): above 13 times their mean is one
    # of the three columns in 4 of 10,000 tables.
    noise = [0, 2, 4]
    assert (found.share[noise] < 13 * found.chance[noise]).all()
    assert (found.beyond[[1, 3]] > 0.4).all()


def test_branches_of_a_level_as_they_are(fitted):
    frame, weights, fit = fitted
    found = fit.relevance(level=1)
    values = np.repeat(frame["b"].to_numpy(), weights)
    shares = [share_of(values, labels) for labels in labels_at(fit.posterior_.draws, 1)]
    assert found.share[1] == pytest.approx(np.mean(shares))
    top = fit.relevance(level=0)
    assert (top.share == 0).all()
    assert {line.note for line in top} == {"there is one cluster"}


def test_rows_count_as_often_as_they_occur(fitted):
    frame, weights, fit = fitted
    labels = np.arange(50) % 3
    again = np.repeat(np.arange(50), weights)
    twin = find_relevance(readable(frame.iloc[again]), labels[again][None])
    found = fit.relevance(labels)
    np.testing.assert_allclose(found.share, twin.share)
    np.testing.assert_allclose(found.chance, twin.chance)
    assert np.isnan(found.low).all()
    assert found.n_draws == 0
    some = labels.astype(float)
    some[::2] = np.nan
    others = again[again % 2 == 1]
    twin = find_relevance(readable(frame.iloc[others]), labels[others][None])
    np.testing.assert_allclose(fit.relevance(some).share, twin.share)


def test_columns_that_were_not_fitted(fitted):
    frame, *_ = fitted
    labels = np.where(np.arange(50) < 5, -1, np.arange(50) // 25)
    twin = find_relevance(readable(frame.iloc[5:]), labels[5:][None])
    found = relevance_of(frame, labels, n_top=2)
    np.testing.assert_allclose(found.share, twin.share)
    assert len(found) == 2
    with pytest.raises(ValueError, match="labels must have one entry for each of 50 data, got 3"):
        relevance_of(frame, [0, 1, 2])
    frame = frame.assign(a=np.inf)
    with pytest.raises(ValueError, match=r"infinit"):
        relevance_of(frame, labels)


def test_every_kind_of_column():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], [30, 25, 20])
    frame = pd.DataFrame(
        {
            "dose": np.exp(rng.normal(group, 0.5)),
            "cells": rng.poisson(2 + 3 * group),
            "site": np.array(["Bonn", "Kiel", "Ulm"])[(group + (rng.random(75) < 0.2)) % 3],
            "hits": rng.binomial(10, 0.2 + 0.2 * group),
            "shots": 10,
        }
    )
    kinds = {"dose": "lognormal", "cells": "poisson", "hits/shots": "binomial"}
    found = find_relevance(readable(frame, kinds), group[None])
    assert found.columns == ("dose", "cells", "site", "hits/shots")
    assert found.share[0] == pytest.approx(share_of(np.log(frame["dose"].to_numpy()), group))
    assert found.share[1] == pytest.approx(share_of(frame["cells"].to_numpy(float), group))
    assert found.share[3] == pytest.approx(share_of(frame["hits"].to_numpy(float), group))
    order = [line.beyond_chance for line in found]
    assert order == sorted(order, reverse=True)


def test_units_do_not_matter(fitted):
    frame, *_ = fitted
    labels = np.arange(50) // 25
    found = find_relevance(readable(frame), labels[None])
    scaled = find_relevance(readable(frame * [1e-6, 30, -1, 1e9, 4] + 12), labels[None])
    np.testing.assert_allclose(scaled.share, found.share, rtol=1e-6)
    assert scaled.order.tolist() == found.order.tolist()


def test_the_table_in_its_forms(fitted, tmp_path):
    *_, fit = fitted
    found = fit.relevance()
    frame = found.to_frame()
    assert list(frame) == list(FIELDS)
    assert len(frame) == len(found) == 5
    text = found.to_csv()
    assert found.to_csv(tmp_path / "r.csv") is None
    assert (tmp_path / "r.csv").read_text("utf-8") == text
    lines = list(csv.DictReader(io.StringIO(text)))
    np.testing.assert_allclose([float(one["share"]) for one in lines], frame["share"], rtol=1e-5)
    assert repr(found.top(2)) == f"Relevance(n_columns=5, n_draws={found.n_draws}, n_top=2)"
    assert len(found.top(2).table) == 2
    assert str(found).splitlines()[0].split()[:2] == ["column", "share"]
    assert "<table" in found._repr_html_()
    given = list(csv.DictReader(io.StringIO(fit.relevance(np.arange(50) % 2).to_csv())))
    assert {one["share_low"] for one in given} == {""}
    html = nasty_mixture().relevance()._repr_html_()
    assert "<script" not in html
    assert "&lt;script" in html


def test_thousands_of_columns_are_listed_in_part():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 20_000))
    labels = np.arange(30) // 10
    values[:, 123] += 9 * labels
    found = mixture(values, labels=labels).relevance()
    assert found.order[0] == 123
    shown = str(found).splitlines()
    assert len(shown) == 1 + 20 + 1
    assert shown[-1] == "… 19,980 more in to_frame() and to_csv()"


def test_what_does_not_vary_comes_last_and_is_named():
    frame = pd.DataFrame({"flat": 1.0, "gone": [np.nan] * 3 + [2.0], "x": [1.0, 2, 3, 5]})
    found = find_relevance(readable(frame), [[0, 0, 1, 1]])
    notes = {line.column: line.note for line in found}
    assert list(notes) == ["x", "flat", "gone"]
    assert notes == {"x": "", "flat": "all values are equal", "gone": "fewer than two values"}
    apart = find_relevance(readable(frame[["x"]]), [[0, 1, 2, 3]])
    assert apart.beyond == [0.0]
    assert next(iter(apart)).note == "every value is in a cluster of its own"
    two = find_relevance(readable(frame[["x"]].iloc[:2]), [[0, 1]])
    assert two.share == [1.0]
    assert two.beyond == [0.0]


def test_duplicated_columns_have_the_same_relevance(fitted):
    frame, *_ = fitted
    doubled = pd.concat([frame, frame.add_prefix("again ")], axis=1)
    found = find_relevance(readable(doubled), (np.arange(50) // 25)[None])
    np.testing.assert_array_equal(found.share[:5], found.share[5:])


def test_of_rows_elsewhere_the_sample_is_compared(fitted):
    frame, *_ = fitted
    values = frame.fillna(0.0).to_numpy()
    labels = np.arange(50) // 25
    made = mixture(values, labels=labels)
    rows = np.arange(0, 50, 2)
    training = replace(made.fit_.training, data=values[:0], sampled=(rows, values[rows]))
    made.fit_ = replace(made.fit_, training=training).with_summaries(made.fit_.summaries())
    twin = find_relevance(readable(values[rows]), labels[rows][None])
    np.testing.assert_allclose(made.relevance().share, twin.share)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_top": 0}, "n_top must be an integer of at least 1, got 0"),
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"level": 99}, "level must be an integer"),
        ({"n_clusters": 2, "level": 1}, "level must be left out where n_clusters is given, got 1"),
        ({"labels": [0, 1]}, "labels must have one entry for each of 50 data, got 2"),
        ({"labels": [-1] * 50}, "labels must have a cluster, got strays only"),
    ],
)
def test_bad_input_is_named(fitted, options, message):
    *_, fit = fitted
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        fit.relevance(**options)


def test_partitions_and_shares_that_are_none_are_refused():
    table = readable(np.arange(4.0)[:, None])
    for partitions in (
        [0, 0, 1, 1],
        [[0, 0, 1]],
        [[0, 0, -1, 1]],
        [[0.5, 0, 0, 1]],
        np.empty((0, 4)),
    ):
        with pytest.raises(ValueError, match="partitions must be integers from 0"):
            find_relevance(table, partitions)
    with pytest.raises(ValueError, match="shares must have a share of each of the 1 partitions"):
        find_relevance(table, [[0, 0, 1, 1]], [0.5, 0.5])


def test_equal_partitions_count_together():
    table = readable(np.random.default_rng(0).normal(size=(6, 2)))
    one, two = [0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]
    found = find_relevance(table, [one, two, one], [0.2, 0.5, 0.3], n_draws=3)
    alone = [find_relevance(table, [z]).share for z in (one, two)]
    np.testing.assert_allclose(found.share, np.mean(alone, axis=0))


def test_a_branch_goes_where_most_of_its_rows_are():
    branches = np.array([[0, 0, 0, 1, 1, 2]])
    assert gathered(branches, np.array([1, 1, 0, 0, 1, 2])).tolist() == [[1, 1, 1, 0, 0, 2]]
