"""What is said of a fit, against the fit."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sticktree import DFPMixture, Tree
from sticktree.posterior.cutting import Cut
from sticktree.present.findings import Findings
from sticktree.present.table import number
from sticktree.present.terminal import drawing, summary
from sticktree.report import build_report
from tests.support.pages import Page

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
    found = Findings(groups.fit_, classes=labels)
    assert found.n_rows == 30
    sizes = np.bincount(groups.labels_).tolist()
    assert [cluster.n_rows for cluster in found.clusters] == sizes
    assert found.sizes == sorted(sizes, reverse=True)
    assert found.result()["strays"] == (groups.cluster(strays="label") == -1).sum()
    assert len(found.result()["clusters_per_level"]) == found.levels
    for cluster in found.clusters:
        members = groups.labels_ == cluster.number
        assert cluster.confidence == pytest.approx(groups.confidence_[members].mean())
        mean, spread = groups.data_[members, 1].mean(), groups.data_[members, 1].std()
        if abs(mean) > 4 and spread < 3:  # of one group
            words = f"high {number(mean)} ({'low' if mean < 0 else 'high'})"
            assert words in [trait.brief() for trait in cluster.traits]
    assert sum(sum(cluster.classes.values()) for cluster in found.clusters) == 29


def test_the_drawing_has_the_branches_with_support(groups):
    words, tree = drawing(groups.tree_).split("\n\n")
    assert "transfer support (1 −" in words
    assert "would have to move" in words
    assert tree.splitlines()[0].endswith(" 30")
    shown = groups.tree_.distinct()
    assert len(tree.splitlines()) == int((shown.n_children > 0).sum())
    assert "datum" not in tree


@pytest.mark.parametrize(
    ("n_strays", "words"),
    [(0, "3 clusters: 10, 10, 10 rows"), (1, "; 1 row is a stray"), (4, "; 4 rows are strays")],
)
def test_strays_are_counted_in_words(n_strays, words, groups):
    labels = np.repeat([0, 1, 2], 10)
    known = groups.fit_.summaries() | {"labels": labels}
    fit = groups.fit_.with_summaries(known)
    vars(fit)["strays"] = np.arange(30) < n_strays
    assert Findings(fit).sizes_in_words.endswith(words)
    mixture = clone(groups)
    mixture.fit_ = fit
    assert ("apart from the rest of" in build_report(mixture)) == (n_strays > 0)


def test_a_drawing_without_transfer_support_has_what_most_draws_have(groups):
    known = groups.tree_
    tree = Tree(known.parent, known.leaf, time=known.time, support=known.support)
    words, text = drawing(tree).split("\n\n")
    assert "50%" in words
    assert len(text.splitlines()) == int((tree.collapsed(0.5).n_children > 0).sum())


def test_few_rows_are_drawn_one_by_one():
    frame = pd.DataFrame({"x": [1.0, 2.0, 9.0]}, index=["é(1)", "b", "c"])
    assert "é(1)" in summary(Findings(fit(frame).fit_))


def test_categories_that_stand_out_are_told():
    frame = pd.DataFrame({"x": [0.0, 0.1] * 6 + [9.0, 9.1] * 6, "sex": ["f"] * 12 + ["m"] * 12})
    quick = {"covariance_type": "diag", "leaf_noise": "own"}
    clusters = Findings(fit(frame, **quick).fit_).result()["clusters"]
    assert any("sex m (100%)" in cluster["typical"] for cluster in clusters)


def test_a_lognormal_column_is_described_in_its_own_units_everywhere():
    income = np.exp(np.r_[np.linspace(7.0, 7.2, 12), np.linspace(11.0, 11.2, 12)])
    frame = pd.DataFrame({"income": income})
    mixture = fit(frame, columns={"income": "lognormal"})
    lines = Page(build_report(mixture)).table("Flat clusters")[1:]
    for cluster, line in zip(Findings(mixture.fit_).clusters, lines, strict=True):
        logs = np.log(income[mixture.labels_ == cluster.number])
        mean = number(np.exp(logs.mean()))  # the geometric one
        side = "low" if cluster.number == mixture.labels_[0] else "high"
        assert f"income {mean} ({side})" in summary(Findings(mixture.fit_))
        assert line[-1].startswith(f"income {mean} (")


def test_columns_that_never_change_and_gaps_are_no_trouble():
    frame = pd.DataFrame({"flat": [5.0] * 6, "x": [1.0, np.nan, 2.0, 8.0, 9.0, np.nan]})
    clusters = Findings(fit(frame).fit_).clusters
    assert not any(trait.column == "flat" for cluster in clusters for trait in cluster.traits)


def test_many_clusters_show_the_largest():
    frame = pd.DataFrame({"x": np.arange(80.0) ** 3})
    mixture = fit(frame, concentration=20.0)
    labels = np.minimum(np.arange(80), 70)
    known = mixture.fit_.summaries() | {"labels": labels}
    known["cut"] = Cut(labels, np.zeros(80, dtype=bool))
    mixture.fit_ = mixture.fit_.with_summaries(known)
    text = summary(Findings(mixture.fit_))
    assert "71 clusters" in text
    assert "the largest have 10, 1, 1" in text
    assert "… 41 more clusters with 41 rows" in text
