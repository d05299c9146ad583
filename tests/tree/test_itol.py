"""Files for iTOL: the tree, and what is dropped onto it."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from sticktree import Tree
from tests.support.trees import annotated_trees, sample_consensus


def cells(text):
    lines = [line.split("\t") for line in text.splitlines()]
    start = lines.index(["DATA"])
    return lines[:start], lines[start + 1 :]


def clade_of(tree, branch):
    """Return the names below the last common ancestor of two tips, as Biopython finds it."""
    ancestor = tree.common_ancestor(*branch.split("|"))
    return frozenset(tip.name for tip in ancestor.get_terminals())


@pytest.fixture(scope="module")
def named():
    return sample_consensus(25).annotated(names=[f"row_{i}" for i in range(25)])


def test_each_branch_has_its_supports(named):
    from Bio import Phylo

    files = named.to_itol()
    assert list(files) == ["tree.nwk", "exact_support.txt", "transfer_support.txt"]
    tree = Phylo.read(io.StringIO(files["tree.nwk"]), "newick")
    inner = [w for w in range(named.n_nodes) if 1 < named.count[w] < 25]
    for kind, file in (("support", "exact_support.txt"), ("transfer", "transfer_support.txt")):
        head, rows = cells(files[file])
        assert head[:2] == [["DATASET_SYMBOL"], ["SEPARATOR TAB"]]
        assert all(len(row) == 7 and row[2] == row[6] for row in rows)
        found = {clade_of(tree, row[0]): float(row[2]) for row in rows}
        assert found.keys() == {
            frozenset(named.names[i] for i in named.data_below(w)) for w in inner
        }
        for w in inner:
            below = frozenset(named.names[i] for i in named.data_below(w))
            assert found[below] == pytest.approx(named.supports_of(kind)[w], abs=1e-3)
    # The labels of the tree are transfer supports, and nothing is in comments or quotes.
    found = {round(node.confidence, 6) for node in tree.get_nonterminals()}
    assert found == set(named.transfer[named.n_children > 0].round(6))
    assert not set("[']") & set(files["tree.nwk"])


def test_clusters_are_a_strip(named):
    files = named.to_itol(labels=np.arange(25) % 3)
    head, rows = cells(files["clusters.txt"])
    assert head[0] == ["DATASET_COLORSTRIP"]
    assert [row[0] for row in rows] == list(named.names)
    assert [row[2] for row in rows] == [str(i % 3) for i in range(25)]
    legend = dict(zip(head[-1][1:], head[-2][1:], strict=True))
    assert all(legend[row[2]] == row[1] for row in rows)
    with pytest.raises(ValueError, match="labels must have one label for each of 25 data"):
        named.to_itol(labels=[0, 1])


def test_annotations_are_strips_of_groups_or_of_numbers(named):
    kinds = ["x", None, "y y\n"] + ["x"] * 22
    ages = [float("nan"), *np.linspace(0, 12, 24)]
    files = named.to_itol(annotations={"kind": kinds, "a ge": ages, "a/ge": [True] * 25})
    names = ["annotation_kind.txt", "annotation_a_ge.txt", "annotation_a_ge_2.txt"]
    assert list(files)[-3:] == names
    head, rows = cells(files[names[0]])
    assert head[0] == ["DATASET_COLORSTRIP"]
    assert ["DATASET_LABEL", "kind"] in head
    assert [row[2] for row in rows] == ["x", "y y"] + ["x"] * 22
    assert "row_1" not in [row[0] for row in rows]  # of which nothing is known
    head, rows = cells(files[names[1]])
    assert head[0] == ["DATASET_GRADIENT"]
    assert [row[0] for row in rows] == list(named.names[1:])
    np.testing.assert_allclose([float(row[1]) for row in rows], ages[1:], rtol=1e-5)
    assert cells(files[names[2]])[0][0] == ["DATASET_COLORSTRIP"]
    with pytest.raises(ValueError, match=r"annotations\['x'\] must have one value for each of 25"):
        named.to_itol(annotations={"x": [1]})


def test_data_are_a_heat_map(named):
    values = np.random.default_rng(0).normal(3, 5, size=(25, 3))
    values[4, 1] = np.nan
    values[:, 2] = 7.0
    files = named.to_itol(data=values, columns=["a", "b\tc", "d"])
    head, rows = cells(files["heatmap.txt"])
    assert head[0] == ["DATASET_HEATMAP"]
    assert ["FIELD_LABELS", "a", "b c", "d"] in head
    assert [row[0] for row in rows] == list(named.names)
    assert rows[4][2] == "X"
    shown = np.array([[np.nan if x == "X" else float(x) for x in row[1:]] for row in rows])
    expected = (values - np.nanmean(values, axis=0)) / np.nanstd(values, axis=0).clip(1e-9)
    np.testing.assert_allclose(shown, expected, atol=1e-3)
    frame = pd.DataFrame(values, columns=list("uvw"))
    assert ["FIELD_LABELS", *"uvw"] in cells(named.to_itol(data=frame)["heatmap.txt"])[0]
    with pytest.raises(ValueError, match="data must have a row for each of 25 data, got shape"):
        named.to_itol(data=values[:3])
    with pytest.raises(ValueError, match="columns must be 3 names"):
        named.to_itol(data=values, columns=["a"])


@pytest.mark.parametrize("names", [["a", "a", "b"], ["a\tb", "c|d", "e\n"], ["it's", "b", "(c)"]])
def test_odd_names_are_in_a_file_of_their_own(names):
    tree = Tree([-1, 0, 0, 1, 1], [3, 4, 2], names=names)
    files = tree.to_itol()
    assert files["tree.nwk"] == "((0:1,1:1):1,2:1);\n"
    head, rows = cells(files["names.txt"])
    assert head[0] == ["LABELS"]
    assert rows == [[str(i), " ".join(name.split())] for i, name in enumerate(names)]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(tree=annotated_trees(min_data=1))
def test_every_tree_has_files(tree):
    files = tree.to_itol(labels=range(tree.n_data))
    assert Tree.from_newick(files["tree.nwk"]).n_data == tree.n_data
    for name, text in files.items():
        if name != "tree.nwk":
            assert cells(text)[0][1] == ["SEPARATOR TAB"]


def test_they_are_written(named, tmp_path):
    paths = named.write_itol(tmp_path / "new", labels=[0] * 25)
    assert sorted(paths) == sorted((tmp_path / "new").iterdir())
    assert {path.name: path.read_text() for path in paths} == named.to_itol(labels=[0] * 25)
