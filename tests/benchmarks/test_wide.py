import numpy as np
import pytest

from benchmarks import wide_density
from benchmarks.__main__ import PARTS, asked_for
from benchmarks.wide_data import Answer, among_factors, by_bic, on_axes, peers, plain_classes


def test_they_run_when_asked_for():
    assert not any(part.startswith("wide") for part in asked_for([]))
    assert asked_for(["wide"]) == [part for part in PARTS if part.startswith("wide_")]
    parts = ["wide_genes", "wide_1000x2000", "wide_rates_ccle_gaps", "wide_density_glass"]
    assert asked_for(parts) == parts


def test_splits_can_be_named(monkeypatch):
    assert wide_density.splits_asked_for(quick=False) == list(range(10))
    for named, splits in (("0:3", [0, 1, 2]), ("7", [7])):
        monkeypatch.setenv(wide_density.SPLITS, named)
        assert wide_density.splits_asked_for(quick=False) == splits
    monkeypatch.setenv(wide_density.SPLITS, "some")
    with pytest.raises(ValueError, match="must be a split or a range such as 0:3, got 'some'"):
        wide_density.splits_asked_for(quick=False)


def test_tables_are_the_same_for_a_seed():
    for make in (plain_classes, among_factors):
        first, again, other = (make(30, 50, 5, seed=seed).data for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        assert (first != other).all()


def test_classes_are_in_so_many_columns():
    made = plain_classes(4_000, 30, 6)
    means = np.array([made.data[made.classes == k].mean(axis=0) for k in range(3)])
    apart = np.ptp(means, axis=0)
    assert (apart[6:] < 0.3).all()
    assert (apart[:6] > 0.3).sum() >= 5


def test_factors_drown_the_classes():
    made = among_factors(200, 400, 40, 5, 4)
    centred = made.data - made.data.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False) ** 2
    assert values[:5].sum() > values[5:].sum()
    own = np.array([made.data[made.classes == k].mean(axis=0) for k in range(4)])
    assert ((own[made.classes] - made.data.mean(axis=0)) ** 2).sum() < 0.1 * (centred**2).sum()
    alone = among_factors(50, 60, n_classes=1)
    assert alone.n_classes == 1


def test_peers_that_should_find_classes_do():
    made = plain_classes(90, 40, 30)
    found = {name: (own, answer.agreement(made.classes)) for name, own, answer in peers(made)}
    assert set(found) >= {"Ward", "k-means", "GMM tied by BIC on PCA", "HDBSCAN on PCA"}
    assert found["k-means"] == (False, 1.0)
    assert found["Ward"] == (False, 1.0)
    scores = made.data[:, :3]
    more = {name: own for name, own, _ in peers(made, scores) if name.endswith("on our scores")}
    assert {name for name, own in more.items() if own} == {
        "GMM tied by BIC on our scores",
        "GMM diag by BIC on our scores",
        "HDBSCAN on our scores",
    }
    assert {name for name, own in more.items() if not own} == {
        "Ward on our scores",
        "k-means on our scores",
    }
    labels = by_bic(on_axes(made.data)[:, :3], "tied")
    assert np.unique(labels).size == 3


def test_noise_is_no_cluster_but_counts_in_the_index():
    answer = Answer(np.array([0, 0, 1, 1, -1]), 0.1)
    assert answer.n_clusters == 2
    assert answer.agreement(np.array([0, 0, 1, 1, 1])) < 1


def test_densities_are_judged_by_pairs():
    mine = np.array([1.0, 2.0, 3.0])
    alone = wide_density._density_row("what", mine, None, 1.0, ahead=True)
    assert (alone.target, alone.verdict[:16]) == ("", "STICKTREE_BEFORE")
    rows = [
        wide_density._density_row("what", mine, theirs, 1.0, ahead=ahead).verdict
        for theirs, ahead in (
            ([0.9, 1.9, 2.9], True),
            ([1.1, 2.1, 3.1], True),
            ([1.2, 1.9, 3.1], False),
            ([1.1, 2.1, 3.1], False),
        )
    ]
    assert rows == ["ok", "MISSED", "ok", "MISSED"]


def test_rows_that_are_held_out_are_those_of_the_table_of_densities():
    splits = pytest.importorskip("sticktree_paper.splits")
    for name in ("CCLE", "CCLE with gaps", "Glass"):
        held = wide_density.SETS[name]
        known = [
            one
            for one in splits.SETS.values()
            if (one.dataset, one.preparation, one.dequantised) == held[:3]
        ]
        assert len(known) == 1, name
