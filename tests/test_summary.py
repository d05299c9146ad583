"""What is said of a fit, against the fit."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture
from sticktree.present.summary import summarise

QUICK = {"covariance_type": "full", "leaf_noise": "shared", "n_chains": 2, "random_state": 0}


def fit(frame, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DFPMixture(**QUICK | {"n_warmup": 30, "n_draws": 30} | parameters).fit(frame)


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    centre = np.repeat([-8.0, 0.0, 8.0], 10)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["same", "high"])
    frame["high"] += centre
    return fit(frame)


def test_clusters_are_counted_and_described(groups):
    labels = ["a"] * 10 + ["b"] * 9 + [None] + ["a"] * 10
    summary = summarise(groups, labels=labels)
    assert summary.rows == 30
    assert [cluster.rows for cluster in summary.clusters] == np.bincount(groups.labels_).tolist()
    assert summary.clusters_per_level[groups.level_ - 1] == len(summary.clusters)
    for cluster in summary.clusters:
        members = groups.labels_ == cluster.cluster
        assert cluster.confidence == pytest.approx(groups.confidence_[members].mean())
        mean = groups.data_[members, 1].mean()
        if abs(mean) > 4:
            told = f"high {mean:.4g} ({'low' if mean < 0 else 'high'})"
            assert told in cluster.typical
    assert sum(sum(cluster.labels.values()) for cluster in summary.clusters) == 29


def test_the_drawing_has_the_branches_with_support(groups):
    words, tree = summarise(groups).tree.split("\n\n")
    assert "50%" in words
    assert tree.splitlines()[0].endswith(" 30")
    collapsed = groups.tree_.collapsed(0.5)
    assert len(tree.splitlines()) == int((collapsed.n_children > 0).sum())
    assert "datum" not in tree


def test_few_rows_are_drawn_one_by_one():
    frame = pd.DataFrame({"x": [1.0, 2.0, 9.0]}, index=["é(1)", "b", "c"])
    assert "é(1)" in summarise(fit(frame)).tree


def test_categories_that_stand_out_are_told():
    frame = pd.DataFrame({"x": [0.0, 0.1] * 6 + [9.0, 9.1] * 6, "sex": ["f"] * 12 + ["m"] * 12})
    quick = {"covariance_type": "diag", "leaf_noise": "own"}
    summary = summarise(fit(frame, **quick))
    assert any("sex m (100%)" in cluster.typical for cluster in summary.clusters)


def test_columns_that_never_change_and_gaps_are_no_trouble():
    frame = pd.DataFrame({"flat": [5.0] * 6, "x": [1.0, np.nan, 2.0, 8.0, 9.0, np.nan]})
    summary = summarise(fit(frame))
    assert not any("flat" in text for cluster in summary.clusters for text in cluster.typical)


def test_many_clusters_show_the_largest():
    frame = pd.DataFrame({"x": np.arange(80.0) ** 3})
    mixture = fit(frame, concentration=20.0)
    labels = np.minimum(np.arange(80), 70)
    mixture.fit_ = mixture.fit_.with_summaries(mixture.fit_.summaries() | {"labels": labels})
    text = summarise(mixture).text()
    assert "71 clusters" in text
    assert "the largest have 10, 1, 1" in text
    assert "… 41 more clusters with 41 rows" in text
