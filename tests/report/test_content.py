"""What the page is made of, against naive twins."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture, Tree
from sticktree.posterior.draws import ConvergenceWarning
from sticktree.posterior.tree_space import tree_space
from sticktree.present.findings import Findings
from sticktree.report import build_report
from sticktree.report.branches import Branches
from sticktree.report.cloud import axes_of_table
from sticktree.report.markup import packed_column
from tests.support.made_fits import linkage_tree, mixture
from tests.support.pages import Page, unpacked


@pytest.fixture(scope="module")
def fit():
    """Return a quick fit; chains as short as these may well disagree."""

    def quick(data, **parameters):
        given = {
            "covariance_type": "full",
            "leaf_noise": "shared",
            "n_chains": 2,
            "n_warmup": 20,
            "n_draws": 30,
            "random_state": 0,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return DFPMixture(**(given | parameters)).fit(data)

    return quick


# ---- packing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        np.array([0.0, 13.64, np.nan, -2.5e-4]),
        1.7e9 + np.array([0.0, 1.0, 2.0, 86_400.0]),
        np.array([1e300, -1e300, 3e299]),
        np.array([1e-300, 2e-300]),
        np.array([1e308, -1e308, 0.0]),
        np.array([7.0, 7.0]),
        np.array([0.1, 0.1]),
        np.array([np.nan, np.nan]),
        np.array([123_456_789.125, 123_456_789.5]),
    ],
)
def test_columns_come_back_to_six_digits_of_their_spread(column):
    packed = packed_column(column)
    back = packed["centre"] + packed["scale"] * unpacked(packed["values"], "<f4").astype(float)
    assert np.array_equal(np.isnan(back), np.isnan(column))
    seen = ~np.isnan(column)
    if seen.any():
        spread = column[seen].max() / 2 - column[seen].min() / 2
        tolerance = 1e-6 * (spread or abs(column[seen][0]))
        assert (np.abs(back - column)[seen] <= tolerance).all()


# ---- the tree -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree",
    [
        linkage_tree(np.random.default_rng(1).normal(size=(40, 2))),
        Tree([-1], [0, 0, 0]),
        Tree([-1, 0], [1]),
        Tree([-1, 0, 0, 1, 1], [3, 1, 4, 2, 0]),  # data at inner nodes
        Tree([-1, 0, 0, 0], [3, 1]),  # a node without data
        Tree.from_paths([(2, 1), (1, 1), (2, 2), (1, 1), (3, 1)]),
    ],
)
def test_the_rows_of_every_node_are_a_range(tree):
    branches = Branches.of(tree)
    kept = np.flatnonzero((tree.count > 0) | (np.arange(tree.n_nodes) == 0))
    by_position = kept[np.argsort(tree.preorder[kept])]
    assert branches.parent.size == kept.size
    for w, node in enumerate(by_position):
        rows = branches.order[branches.start[w] : branches.start[w] + branches.count[w]]
        assert sorted(rows) == tree.data_below(int(node)).tolist()
        assert branches.time[w] == tree.time[node]
        if w:
            assert by_position[branches.parent[w]] == tree.parent[node]


# ---- rows ---------------------------------------------------------------------------------------


def test_rows_that_weigh_nothing_are_left_out_and_repeated_ones_counted_once():
    data = np.random.default_rng(0).normal(size=(14, 2))
    weight = np.array([1, 2, 0, 1, 3, 1, 1, 0, 1, 1, 1, 2, 1, 1])
    kept = np.flatnonzero(weight)
    labels = np.arange(14) % 3
    estimator = mixture(data, tree=linkage_tree(data[kept]), labels=labels, weights=weight)
    names = [f"r{i}" for i in range(14)]
    page = Page(build_report(estimator, names=names, classes=np.arange(14)))
    assert "Of the rows, 2 have weight 0 and are not in the tree." in page.texts("p")[0]
    rows = page.data["rows"]
    number = unpacked(rows["number"], "<i4")
    assert sorted(number) == kept.tolist()
    assert rows["names"] == [f"r{i}" for i in number]
    assert Findings(estimator.fit_, names=names).tree.names == tuple(f"r{i}" for i in kept)
    known = page.data["annotations"][0]
    assert [known["names"][k] for k in unpacked(known["code"], "<i4")] == [str(i) for i in number]
    columns = [unpacked(column["values"], "<f4") for column in page.data["columns"]]
    np.testing.assert_allclose(np.stack(columns, axis=1), data[number], rtol=1e-6)
    cut = page.data["cuts"][page.data["found"]]
    np.testing.assert_array_equal(unpacked(cut["label"], "u1"), labels[number])
    confidence = unpacked(cut["confidence"], "<u2") / cut["steps"]
    np.testing.assert_allclose(confidence, estimator.confidence_[number], atol=1e-5)


# ---- columns ------------------------------------------------------------------------------------


def test_principal_axes_are_those_of_the_singular_value_decomposition():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    places, explained, weight = axes_of_table(Findings(mixture(values).fit_).table)
    z = (values - values.mean(axis=0)) / values.std(axis=0)
    left, singular, right = np.linalg.svd(z, full_matrices=False)
    np.testing.assert_allclose(np.abs(places), np.abs(left * singular)[:, :2], atol=1e-8)
    np.testing.assert_allclose(explained, (singular**2 / (singular**2).sum())[:2])
    np.testing.assert_allclose(weight, right[:2] ** 2, atol=1e-8)


def test_principal_axes_take_categories_and_gaps():
    frame = pd.DataFrame(
        {"a": [1.0, 2.0, np.nan, 4.0], "b": ["x", "y", "x", None], "c": [0.0, 1.0, 0.0, 1.0]}
    )
    places, explained, weight = axes_of_table(Findings(mixture(frame).fit_).table)
    assert np.isfinite(places).all()
    assert 0.5 < explained.sum() <= 1 + 1e-12
    np.testing.assert_allclose(weight.sum(axis=1), 1.0)


# ---- density ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 2])
def test_the_density_is_the_predictive_one(fit, n_columns):
    data = np.random.default_rng(0).normal(size=(30, n_columns)) * 20.0 + 100.0
    estimator = fit(data)  # 60 draws: all of them are used
    cloud = Page(build_report(estimator)).data["cloud"]
    n_points = cloud["density"]["points"]
    sides = [
        axis["low"] + (np.arange(n_points) + 0.5) / n_points * (axis["high"] - axis["low"])
        for axis in cloud["axes"]
    ]
    grid = np.stack([side.ravel() for side in np.meshgrid(*sides)], axis=1)
    expected = np.exp(estimator.score_samples(grid))
    if n_columns == 1:
        found = unpacked(cloud["density"]["values"], "<f4")
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    else:
        found = unpacked(cloud["density"]["values"], "u1") / 255
        np.testing.assert_allclose(found, np.sqrt(expected / expected.max()), atol=1 / 255)


# ---- words --------------------------------------------------------------------------------------


def test_a_fit_shows_its_chains_models_and_parameters(fit):
    estimator = fit(np.random.default_rng(0).normal(size=(20, 2)))
    row = {"name": "full, own, 3", "elpd": -31.26, "difference": 0.0, "se_difference": 0.0}
    row |= {"weight": 0.75, "n_bad_k": 1, "dropped_after": None}
    worse = row | {"name": "diag", "elpd": -40.0, "difference": -8.74, "dropped_after": 12}
    selection = SimpleNamespace(
        table=[row, worse],
        results=dict.fromkeys("ab"),
        best=row["name"],
        models={row["name"]: estimator.fit_.model},
        weights={row["name"]: 0.75},
        draws={},
    )
    known, sampled = (
        estimator.fit_.summaries(),
        replace(estimator.fit_.sampled, selection=selection),
    )
    estimator.fit_ = replace(estimator.fit_, sampled=sampled).with_summaries(known)
    page = Page(build_report(estimator, provenance={"seed": 7}))
    levels = page.table("Branches at each level of the drawn trees")[1:]
    nodes = estimator.posterior_.scalars()["nodes"].reshape(-1, len(levels))
    assert [line[1] for line in levels] == [f"{mean:.1f}" for mean in nodes.mean(axis=0)]
    assert len(page.table("Convergence of every scalar that varies")) - 1 == len(
        estimator.diagnosis_.ess
    )
    assert page.table("Models compared")[2][:3] == ["diag", "−40.0", "−8.7"]
    assert ["seed", "7"] in page.table("Provenance")
    assert ["n_draws", "30"] in page.table("Parameters of the fit")
    assert "the best of 2 by leave-one-out density" in page.texts("p")[0]
    lines = [attrs["points"].split() for attrs, _ in page.all("polyline")]
    assert {len(line) for line in lines} == {30}
    assert len(lines) % 2 == 0  # a line for each of two chains


def test_convergence_of_whole_trees_is_said(fit):
    estimator = fit(np.random.default_rng(0).normal(size=(12, 1)))
    words = tree_space(estimator.posterior_).in_words()
    assert f"Compared as whole trees, {words}." in Page(build_report(estimator)).texts("p")


def test_the_table_of_clusters_counts_right():
    values = np.random.default_rng(0).normal(size=(9, 2))
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    classes = ["a", "a", "b", "b", "b", "b", "a", None, None]
    estimator = mixture(values, labels=labels)
    lines = Page(build_report(estimator, classes=classes)).table("Flat clusters")[1:]
    assert [line[:3] for line in lines] == [
        ["0", "3", "33.3%"],
        ["1", "4", "44.4%"],
        ["2", "2", "22.2%"],
    ]
    assert [line[4:6] for line in lines] == [["a", "67%"], ["b", "75%"], ["none known", "–"]]
    for k, line in enumerate(lines):
        assert line[3] == f"{estimator.confidence_[labels == k].mean():.2f}"
