"""Cuts, colours and columns of the page, against naive twins."""

from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import leaves_list

from sticktree.data.readable import ReadableTable
from sticktree.present.annotations import Annotation
from sticktree.present.findings import Findings
from sticktree.report.columns import column_tree
from sticktree.report.content import Content
from sticktree.report.cuts import PageCut, class_slots, cuts_of, inherited
from tests.support.made_fits import mixture
from tests.support.pages import unpacked


def test_cuts_are_those_of_the_fit(cut_fit):
    own, cuts = cuts_of(Findings(cut_fit.fit_))
    np.testing.assert_array_equal(own.labels, cut_fit.labels_)
    numbers = [len(cut.slot) for cut in cuts]
    assert numbers == list(range(1, max(numbers) + 1))
    assert len(own.slot) in numbers
    assert max(numbers) == 20
    for k, cut in zip(numbers, cuts, strict=True):
        np.testing.assert_array_equal(cut.labels, cut_fit.cluster(n_clusters=k))
        expected = cut_fit.fit_.membership_in(k)[np.arange(60), cut.labels]
        np.testing.assert_allclose(cut.confidence, expected, atol=1e-12)
        assert len(set(cut.slot)) == k  # no two of a cut are of one colour


def test_of_few_different_rows_there_are_few_cuts(quick_fit):
    rows = np.repeat([[0.0, 0.0], [9.0, 1.0], [0.5, 8.0], [9.0, 9.5]], 8, axis=0)
    own, cuts = cuts_of(Findings(quick_fit(rows).fit_))
    assert [len(cut.slot) for cut in cuts] == list(range(1, len(cuts) + 1))
    assert len(cuts) <= 4
    assert own in cuts


def test_clusters_that_stay_keep_their_colours(cut_fit):
    _, cuts = cuts_of(Findings(cut_fit.fit_))
    for before, after in pairwise(cuts):
        for k, slot in enumerate(before.slot):
            rows = before.labels == k
            same = [j for j in range(len(after.slot)) if np.array_equal(after.labels == j, rows)]
            assert [after.slot[j] for j in same] in ([], [slot])


def test_the_page_has_the_cuts_of_its_rows_only(cut_fit):
    content = Content.of(Findings(cut_fit.fit_), {}, most_rows=30)
    number = unpacked(content.data["rows"]["number"], "<i4")
    assert number.size == 30
    for cut in content.data["cuts"]:
        labels = cut_fit.cluster(n_clusters=cut["k"])
        np.testing.assert_array_equal(unpacked(cut["label"], "u1"), labels[number])
        assert cut["sizes"] == np.bincount(labels).tolist()  # of all rows


@pytest.mark.parametrize("seed", range(3))
def test_of_all_ways_to_pass_colours_on_the_one_with_most_in_common_is_taken(seed):
    rng = np.random.default_rng(seed)
    labels, others = rng.integers(3, size=40), rng.integers(3, size=40)
    slots = inherited(labels, 3, others, [4, 1, 7])

    def alike(order):
        pairs = zip(range(3), order, strict=True)
        sets = [(labels == k, others == j) for k, j in pairs]
        return sum(2 * (a & b).sum() / (a.sum() + b.sum()) for a, b in sets)

    best = max(permutations(range(3)), key=alike)
    assert slots == [[4, 1, 7][j] for j in best]


def test_a_class_that_is_a_cluster_of_any_cut_has_its_colour():
    species = np.repeat([0, 1, 2], 20)
    no = np.zeros(60, dtype=bool)
    two = PageCut(np.where(species == 0, 1, 0), no, None, [0, 1])
    three = PageCut(np.array([1, 0, 2])[species], no, None, [0, 1, 2])
    assert class_slots(species, 3, [two, three], two) == [1, 0, 2]
    # What is no cluster has a colour that no cluster of those found has.
    halves = np.arange(60) % 2
    assert not set(class_slots(halves, 2, [two, three], two)) & {0, 1}
    unknown = np.full(60, -1)
    assert class_slots(unknown, 0, [two], two) == []


def test_more_groups_than_colours_have_shades():
    labels = np.arange(45)
    slots = inherited(labels, 45, labels % 3, [0, 1, 2])
    assert len(set(slots)) == 45


def test_columns_are_ordered_by_what_goes_together():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(2, 80))
    frame = pd.DataFrame(
        {
            "a": factor[0] + 0.1 * rng.normal(size=80),
            "b": factor[1] + 0.1 * rng.normal(size=80),
            "c": np.exp(factor[0] + 0.1 * rng.normal(size=80)),
            "d": np.where(factor[1] > 0, "high", "low"),
        }
    )
    estimator = mixture(frame, columns={"c": "lognormal"}, labels=np.zeros(80))
    rows = ReadableTable.of(estimator.fit_.columns, *estimator.fit_.training.at_hand())
    found = column_tree(rows, factor[1])
    order = unpacked(found["order"], "<i4").tolist()
    joins = unpacked(found["joins"], "<i4").reshape(-1, 2)
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset([0, 2]), frozenset([1, 3])}
    height = unpacked(found["height"], "<f4")
    linkage = np.column_stack([joins, height, [2, 2, 4]]).astype(float)
    assert leaves_list(linkage).tolist() == order
    logs = np.corrcoef(frame["a"], np.log(frame["c"]))[0, 1]
    assert height.min() == pytest.approx(1 - logs, abs=1e-6)


def test_annotations_are_classes_or_numbers():
    many = Annotation.of("age", [str(k) for k in range(39)] + [""])
    assert np.isnan(many.values[-1])
    assert Annotation.of("grade", [1.0, 2.0, None]).classes.names == ["1", "2"]
    assert Annotation.of("flag", [True, False] * 20).classes.names == ["False", "True"]
    assert Annotation.of("mixed", [*range(30), "none"]).classes is not None
    assert Annotation.of("endless", [float("inf"), *range(30)]).classes is not None


def test_the_first_classes_are_those_compared_with():
    values = np.random.default_rng(0).normal(size=(30, 2))
    found = Findings(
        mixture(values).fit_,
        annotations={"age": np.arange(30) * 1.5, "sex": ["f", "m"] * 15, "site": ["x"] * 30},
    )
    assert found.classes.names == ["f", "m"]
    data = Content.of(found, {}).data["annotations"]
    assert [one["name"] for one in data] == ["age", "sex", "site"]
    assert "code" not in data[0]
