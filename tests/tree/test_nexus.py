"""Trees as NEXUS: there and back, and as Biopython reads them."""

import io

import numpy as np
import pytest
from hypothesis import given, settings

from sticktree import Tree
from tests.support.trees import annotated_trees, sample_consensus


@settings(deadline=None, derandomize=True, max_examples=80)
@given(tree=annotated_trees(min_data=1))
def test_there_and_back(tree):
    again = Tree.from_nexus(tree.to_nexus())
    called = [f"n{i}" for i in range(tree.n_data)]
    expected = Tree.from_newick(tree.to_newick(names=called), names=called)
    assert again.annotated(names=called) == expected
    if tree.names is None:
        assert again.names is None
        return
    ours = [" ".join("".join(c if c.isprintable() else " " for c in n).split()) for n in tree.names]
    if len({name.lower() for name in ours}) == len(ours) and all(ours):
        numbers = [str(i) for i in range(len(ours))]
        assert list(again.names or numbers) == ours


def test_biopython_reads_it():
    from Bio import Phylo

    tree = sample_consensus(20).annotated(names=[f"it's row {i}" for i in range(20)])
    found = Phylo.read(io.StringIO(tree.to_nexus(support="support")), "nexus")
    assert {tip.name.strip("'") for tip in found.get_terminals()} <= {
        *tree.names,
        *(name.replace("'", "''") for name in tree.names),
    }
    sizes = sorted(clade.count_terminals() for clade in found.get_nonterminals())
    assert sizes == sorted(tree.count[tree.n_children > 0].tolist())


def test_equal_names_are_told_apart():
    names = ["a", "A", "a", "", "", "x\ny", "a (2)", "12"]
    text = Tree([-1] + [0] * 8, range(1, 9), names=names).to_nexus()
    found = Tree.from_nexus(text).names
    assert found == ("a", "A (2)", "a (3)", "unnamed", "unnamed (2)", "x y", "a (2) (2)", "12")
    assert len({name.lower() for name in found}) == 8


def test_files_of_other_programs_are_read():
    text = """#NEXUS
    [a comment; with a semicolon]
    BEGIN TAXA; DIMENSIONS NTAX=3; TAXLABELS ape 'sea cow' c_d; END;
    Begin trees;
      Translate 1 ape, 2 'sea; cow, too', 3 c_d ;
      tree 'first one' = [&U] ((1:1.5,2:1.5)0.9:0.5,3:2.0);
      utree * second = (3,(2,1));
    End;
    """
    tree = Tree.from_nexus(text)
    assert tree.names == ("ape", "sea; cow, too", "c d")
    np.testing.assert_allclose(tree.time[tree.leaf], 2.0)
    assert tree.support[tree.parent[tree.leaf[0]]] == 0.9
    other = Tree.from_nexus(text, tree="second")
    assert other.names == tree.names
    assert other.parent[other.leaf[0]] == other.parent[other.leaf[1]]
    plain = "#nexus begin trees; tree t = (b_c:1,'d_e':1); end;"
    assert Tree.from_nexus(plain).names == ("b c", "d_e")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(a,b);", "text is no NEXUS: it must begin with #NEXUS"),
        ("#NEXUS\nbegin taxa; end;", "text has no tree"),
        ("#NEXUS begin trees; tree t = ((a,b); end;", "text is no Newick tree: line 1"),
    ],
)
def test_what_is_no_nexus_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_nexus(text)


def test_a_tree_that_is_not_there_is_named():
    text = Tree([-1, 0, 0], [1, 2]).to_nexus()
    with pytest.raises(ValueError, match="tree must be one of 'consensus', got 'other'"):
        Tree.from_nexus(text, tree="other")
    with pytest.raises(ValueError, match="text must be a NEXUS text, got 3"):
        Tree.from_nexus(3)
