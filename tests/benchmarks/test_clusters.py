from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from benchmarks import clusters
from benchmarks.__main__ import PARTS, asked_for


def test_they_run_when_asked_for():
    assert not any(part.startswith("clusters") for part in asked_for([]))
    assert asked_for(["clusters"]) == [part for part in PARTS if part.startswith("clusters_")]


def test_draws_are_of_clusters_that_exchange_some_rows():
    draws, truth = clusters.made_up_draws(2_000, 5, 4)
    moved = [(one.leaf != two.leaf).mean() for one, two in pairwise(draws)]
    assert all(0.0 < share < clusters.WANDERING for share in moved)
    assert {np.unique(one.leaf).size for one in draws} == {4}
    assert adjusted_rand_score(truth, draws[0].leaf) > 0.9


def test_the_clusters_of_the_draws_come_out():
    seconds, megabytes, agreement = clusters.answered(3_000, 8, 6)
    assert seconds > 0
    assert megabytes >= 0
    assert agreement > 0.95


def test_without_the_suite_scores_are_skipped(tmp_path, monkeypatch):
    pytest.importorskip("sticktree_paper")
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path))
    (row,) = clusters.clusters_scores(quick=True)
    assert row.verdict == "skipped: set STICKTREE_DATA to a folder with the clustering suite"


def test_scores_are_of_every_program_and_question(tmp_path):
    programs = pytest.importorskip("sticktree_paper.clustering_programs")
    from sticktree.datasets import SuiteSet

    rng = np.random.default_rng(0)
    reference = np.repeat([1, 2], 15).astype(np.int32)
    one = SuiteSet("wut-far", rng.normal(size=(30, 2)) + 9.0 * reference[:, None], (reference,))

    def program(data, seed):
        labels = (data[:, 0] > data[:, 0].mean()).astype(int)
        return programs.Clustering(given=lambda k: labels, free=labels)

    found, seconds = clusters.scored({"half": program}, [one, one])
    assert found == {("half", "given"): [1.0, 1.0], ("half", "free"): [1.0, 1.0]}
    assert seconds["half"] > 0
