"""A page of many rows has some of them, and says how many."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sticktree import Tree
from sticktree.present.findings import Findings
from sticktree.processes import NestedRestaurant
from sticktree.report.branches import Branches
from sticktree.report.content import Content
from sticktree.report.rows import sample
from tests.support.made_fits import mixture
from tests.support.pages import unpacked


def test_sample_is_all_rows_where_there_are_few():
    np.testing.assert_array_equal(sample(np.zeros(50), 50), np.arange(50))


def test_sample_has_some_of_every_cluster():
    label = np.repeat([0, 1, 2, 3], [5_000, 3, 40, 4_957])
    chosen = sample(label, 1_000)
    assert chosen.size == np.unique(chosen).size == 1_000
    assert (np.diff(chosen) > 0).all()
    count = np.bincount(label[chosen])
    assert count[1] == 3
    assert count[2] >= 20
    assert abs(count[0] - count[3]) < 150  # five standard deviations of chance
    np.testing.assert_array_equal(chosen, sample(label, 1_000))


def test_more_clusters_than_room():
    assert sample(np.arange(500), 100).size == 100


@pytest.mark.parametrize("seed", range(5))
def test_branches_of_some_rows_are_those_of_the_pruned_tree(seed):
    rng = np.random.default_rng(seed)
    tree = NestedRestaurant(3.0, 4).sample(60, rng)
    leaf = np.where(rng.random(60) < 0.3, tree.parent[tree.leaf], tree.leaf)  # in inner nodes too
    tree = Tree(tree.parent, leaf, level=tree.level)
    shown = np.sort(rng.choice(60, 25, replace=False))
    found = Branches.of(tree).showing(shown)
    expected = Tree(tree.parent, tree.leaf[shown], level=tree.level).pruned().compressed()
    again = Tree(found.parent, np.repeat(0, 25))
    assert again.n_nodes == expected.n_nodes
    whole = {tuple(tree.data_below(w)): int(tree.count[w]) for w in range(tree.n_nodes)}
    sets = {tuple(expected.data_below(w)) for w in range(expected.n_nodes)}
    mine = set()
    for start, count, total, time in zip(
        found.start, found.count, found.total, found.time, strict=True
    ):
        rows = np.sort(found.order[start : start + count])
        mine.add(tuple(rows))
        # The node of the whole tree that it stands for has these of the rows shown, and more.
        fits = [set(shown[rows]) == set(below) & set(shown) for below in whole]
        assert total in [size for size, fit in zip(whole.values(), fits, strict=True) if fit]
        assert time in tree.time
    assert mine == sets
    for node in range(1, found.parent.size):
        above = found.parent[node]
        assert above < node
        assert found.start[above] <= found.start[node]
        assert found.start[node] + found.count[node] <= found.start[above] + found.count[above]


def test_page_of_many_rows_says_how_many_it_has():
    from benchmarks.summaries import as_fit, made_up

    fitted = as_fit(made_up(2_000, 8))
    names = [f"row {k}" for k in range(2_000)]
    whole = Content.of(Findings(fitted.fit_), {})
    part = Content.of(Findings(fitted.fit_, names=names), {}, most_rows=500)
    assert "This page has 500 of the 2,000 rows" in part.summary
    assert "This page has" not in whole.summary
    assert len(set(part.data["rows"]["names"])) == 500
    sizes = np.bincount(fitted.labels_)
    for k, size in enumerate(sizes):
        assert re.search(rf">{k}</[^>]*></th><td[^>]*><[^>]*>{size}<", part.sections[0].html)


def test_of_rows_that_are_elsewhere_the_page_has_the_sample_that_was_kept():
    values = np.random.default_rng(0).normal(size=(60, 3))
    found = mixture(values).fit_
    kept = np.arange(0, 60, 4)
    elsewhere = replace(found.training, data=values[:0], sampled=(kept, values[kept]))
    part = replace(found, training=elsewhere).with_summaries(found.summaries())
    content = Content.of(Findings(part), {})
    assert "This page has 15 of the 60 rows" in content.summary
    number = unpacked(content.data["rows"]["number"], "<i4")
    assert sorted(number) == kept.tolist()
    shown = unpacked(content.data["columns"][1]["values"], "<f4")
    np.testing.assert_allclose(shown, values[number, 1], rtol=1e-6)
