"""Newick text: lossless, and what other programs make of it."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from hypothesis import example, given, settings

from sticktree import Tree
from tests.support.trees import annotated_trees, caterpillar, sample_consensus

law = settings(deadline=None, derandomize=True, max_examples=150)


@law
@given(tree=annotated_trees(named=False))
@example(tree=Tree([-1]))
@example(tree=Tree([-1], time=[0.0], support=[np.nan]))
@example(tree=Tree([-1, 0], [1], time=[0.0, 1.0], support=[np.nan, 1.0]))
@example(tree=Tree([-1, 0, 0], [2, 1], time=[0.1, 0.3, 0.7]))
@example(tree=Tree([-1, 0], [1], time=[-1e20, 1.0]))  # no length leads there
@example(tree=Tree([-1, 0], [1], time=[2.0**-53, 1 + 2.0**-52]))  # nor there: ties in rounding
@example(tree=Tree([-1, 0], [1], time=[-1.7e308, 1.7e308]))
def test_what_is_written_is_read_back_equal(tree):
    text = tree.to_newick()
    again = Tree.from_newick(text)
    assert again == tree
    assert again.to_newick() == text


@law
@given(tree=annotated_trees())
def test_names_survive_and_give_the_order(tree):
    named = tree if tree.names else tree.annotated(names=[f"n{i}" for i in range(tree.n_data)])
    again = Tree.from_newick(named.to_newick(), names=named.names)
    assert again.names == named.names
    if len(set(named.names)) == named.n_data:
        assert again == named
    # In order of appearance, each name sits where it sat.
    appeared = Tree.from_newick(named.to_newick())
    if named.n_data:
        assert sorted(appeared.names) == sorted(named.names)
        homes = [sorted(zip(t.names, t.time[t.leaf], strict=True)) for t in (appeared, named)]
        assert homes[0] == homes[1]


def test_lengths_are_as_short_as_exactness_allows():
    tree = Tree([-1, 0, 1], [2, 1], time=[0, 0.7, 1.6])
    assert tree.to_newick() == "((1,0:0.9):0.7);"
    rng = np.random.default_rng(0)
    parent = np.arange(-1, 2000)
    time = np.cumsum(rng.exponential(size=2001) ** 4)
    tree = Tree(parent, [2000], time=time)
    text = tree.to_newick()
    assert "[" not in text
    np.testing.assert_array_equal(Tree.from_newick(text).time, time)


def test_plain_forms():
    tree = Tree([-1, 0, 0, 1, 1], [3, 4, 4, 2], support=[1, 0.9, np.nan, 1, 0.5])
    assert tree.to_newick() == "((0:1,(1,2)0.5:1)0.9:1,3[&support=nan]:1)1.0;"
    assert tree.to_newick(support=False) == "((0:1,(1,2):1):1,3:1);"
    assert tree.to_newick(lengths=False, support=False) == "((0,(1,2)),3);"
    assert tree.to_newick(names=list("a_bc")).startswith("((a:1,('_',b)")
    with pytest.raises(ValueError, match="names has 1 entries, and there are 4 data"):
        tree.to_newick(names=["a"])


def test_a_deep_tree_needs_no_recursion():
    tree = caterpillar(20_000)
    assert Tree.from_newick(tree.to_newick()) == tree


# ---- other programs read it ----------------------------------------------------------------------

ODD = ["it's", "(a,b)", "naïve [x]", "名前", "under_score", "semi;colon", "co:lon", "two  blanks"]


def clusters(nodes):
    """Return support and time of every set of names, from (names, support, time)."""
    return {frozenset(names): (support, time) for names, support, time in nodes}


def own_clusters(tree):
    return clusters(
        ([tree.names[i] for i in tree.data_below(w)], tree.support[w], tree.time[w])
        for w in range(tree.n_nodes)
        if tree.n_children[w]
    )


@pytest.fixture(scope="module")
def consensus():
    tree = sample_consensus(30)
    names = [*ODD, *(f"row {i}" for i in range(len(ODD), 30))]
    return tree.annotated(names=names)


def assert_same_clusters(found, expected):
    assert found.keys() == expected.keys()
    for names, (support, time) in expected.items():
        assert found[names][0] == support
        assert found[names][1] == pytest.approx(time, abs=1e-12)


def test_dendropy_reads_it(consensus):
    import dendropy

    read = dendropy.Tree.get(data=consensus.to_newick(), schema="newick")
    found = clusters(
        (
            [leaf.taxon.label for leaf in node.leaf_iter()],
            float(node.label),
            node.distance_from_root(),
        )
        for node in read.internal_nodes()
    )
    assert_same_clusters(found, own_clusters(consensus))
    for leaf in read.leaf_node_iter():
        assert leaf.distance_from_root() == pytest.approx(consensus.time.max())


def test_biopython_reads_it(consensus):
    from Bio import Phylo

    # Biopython ends a quoted label at the first quote, against the standard.
    tree = consensus.annotated(names=["its", *consensus.names[1:]])
    read = Phylo.read(io.StringIO(tree.to_newick()), "newick")
    depths = read.depths()
    found = clusters(
        ([tip.name for tip in node.get_terminals()], node.confidence, depths[node])
        for node in read.get_nonterminals()
    )
    assert_same_clusters(found, own_clusters(tree))


def test_they_read_transfer_supports_from_comments(consensus):
    import dendropy
    from Bio import Phylo

    tree = consensus.annotated(names=[f"x{i}" for i in range(30)])
    expected = {
        frozenset(tree.names[i] for i in tree.data_below(w)): tree.transfer[w]
        for w in np.flatnonzero(tree.n_children)
    }
    read = dendropy.Tree.get(data=tree.to_newick(), schema="newick", extract_comment_metadata=True)
    assert expected == {
        frozenset(leaf.taxon.label for leaf in node.leaf_iter()): float(
            node.annotations.get_value("transfer")
        )
        for node in read.internal_nodes()
    }
    other = Phylo.read(io.StringIO(tree.to_newick()), "newick")
    assert expected == {
        frozenset(tip.name for tip in node.get_terminals()): float(
            node.comment.removeprefix("&transfer=")
        )
        for node in other.get_nonterminals()
    }


def test_one_support_alone_needs_no_comments(consensus):
    for kind in ("support", "transfer"):
        text = consensus.to_newick(support=kind)
        assert "[&" not in text
        again = Tree.from_newick(text, names=consensus.names, support=kind)
        np.testing.assert_array_equal(
            np.sort(again.supports_of(kind)), np.sort(consensus.supports_of(kind))
        )
        assert again.support_kind == kind
        assert [again.support is None, again.transfer is None].count(True) == 1
    assert "0.99[" not in consensus.to_newick(support=False)
    with pytest.raises(ValueError, match='support must be True, False, "support" or "transfer"'):
        consensus.to_newick(support="exact")
    with pytest.raises(ValueError, match='support must be True, False, "support" or "transfer"'):
        Tree.from_newick("(a,b);", support=1)


def test_comments_of_beast_and_figtree_are_read():
    text = "((a:1.5,b:1.5)0.2[&rate=1,transfer=0.75,support=0.25]:0.5,c:2.0)[&transfer=1];"
    tree = Tree.from_newick(text)
    np.testing.assert_array_equal(tree.transfer, [1, 0.75, 1, 1, 1])
    np.testing.assert_array_equal(tree.support, [np.nan, 0.25, 1, 1, 1])
    assert Tree.from_newick(text, support=False).transfer is None


def test_shared_leaves_and_inner_data_are_fans_elsewhere():
    import dendropy

    tree = Tree([-1, 0, 0, 1], [3, 3, 1, 2, 2], names=list("abcde"))
    read = dendropy.Tree.get(data=tree.to_newick(), schema="newick")
    sets = {frozenset(t.taxon.label for t in n.leaf_iter()) for n in read.internal_nodes()}
    assert sets == {frozenset("abcde"), frozenset("abc"), frozenset("ab"), frozenset("de")}


def test_what_they_write_is_read(consensus):
    import dendropy
    from Bio import Phylo

    read = dendropy.Tree.get(data=consensus.to_newick(), schema="newick", rooting="force-rooted")
    text = read.as_string("newick")
    assert text.startswith("[&R]")
    again = Tree.from_newick(text, names=consensus.names)
    assert_same_clusters(own_clusters(again), own_clusters(consensus))
    plain = consensus.annotated(names=[f"x{i}" for i in range(30)])
    out = io.StringIO()
    Phylo.write(Phylo.read(io.StringIO(plain.to_newick()), "newick"), out, "newick")
    again = Tree.from_newick(out.getvalue(), names=plain.names)
    assert {tuple(again.data_below(w)) for w in range(again.n_nodes)} == {
        tuple(plain.data_below(w)) for w in range(plain.n_nodes)
    }


# ---- what other programs write -------------------------------------------------------------------


def test_percent_labels_comments_and_rooting_marks():
    tree = Tree.from_newick(
        "[&R] ((a:1.5[x],b:1)95:0.5,(c:1,d:1)7[&rate=2]:.5, e:2)root ;\n [end] "
    )
    assert tree.names == tuple("abcde")
    np.testing.assert_array_equal(tree.support, [np.nan, 0.95, 1, 1, 0.07, 1, 1, 1])
    np.testing.assert_array_equal(tree.time, [0, 0.5, 2, 1.5, 0.5, 1.5, 1.5, 2])
    assert Tree.from_newick("((a:1,b:1)95:1,c:1);", support=False).support is None


def test_a_text_without_lengths_has_a_leaf_for_every_tip():
    tree = Tree.from_newick("((a,b),c,(,));")
    assert tree.parent.tolist() == [-1, 0, 1, 1, 0, 0, 5, 5]
    assert tree.leaf.tolist() == [2, 3, 4]
    assert not tree.has_times


def test_whole_lengths_are_levels_unless_they_cannot_be():
    assert not Tree.from_newick("((a:1,b:2):3,c:1);").has_times
    for text in ("((a:1,b:0):3,c:1);", "((a:1,b:2):3,c:1):1;", "((a:1,b:2),c:1);", "(a:1e0);"):
        assert Tree.from_newick(text).has_times


def test_numbers_and_names_of_digits():
    assert Tree.from_newick("(1:1,0:2);").leaf.tolist() == [2, 1]
    assert Tree.from_newick("(1:1,0:2);").names is None
    assert Tree.from_newick("('1':1,'0':2);").names == ("1", "0")
    assert Tree.from_newick("(1:1,2:2);").names == ("1", "2")
    assert Tree.from_newick("(00:1,1:2);").names == ("00", "1")
    tree = Tree([-1, 0, 0], [1, 2], names=["1", "0"])
    assert Tree.from_newick(tree.to_newick()) == tree


def test_underscores_mean_blanks_without_quotes():
    text = "(Homo_sapiens:1,'a_b':1);"
    assert Tree.from_newick(text).names == ("Homo sapiens", "a_b")
    assert Tree.from_newick(text, keep_underscores=True).names == ("Homo_sapiens", "a_b")


def test_equal_names_are_taken_in_order():
    tree = Tree.from_newick("(a:1,(b:1,a:2):1);", names=["a", "a", "b"])
    np.testing.assert_array_equal(tree.time[tree.leaf], [1, 3, 2])


def test_names_must_be_those_of_the_text():
    with pytest.raises(ValueError, match="the tree has 'b'; the tree lacks 'c', 'd'"):
        Tree.from_newick("(a:1,b:1);", names=["a", "c", "d"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: expected a semicolon at the end, got ''"),
        ("(a,b)", "line 1, column 6: expected a semicolon at the end"),
        ("(a,b;", "column 5: expected a comma or a closing bracket: not all brackets are closed"),
        (
            "(a,\nb));",
            r"line 2, column 3: expected a semicolon: all brackets are closed, got '\);'",
        ),
        ("(a,b", "column 5: expected a closing bracket, got ''"),
        ("(a:x);", "column 4: expected a number after the colon, got 'x"),
        ("(a:1,'b:1);", "column 6: expected a quote that closes this one"),
        ("(a,b)[c;", r"column 6: expected a bracket \] that closes this one"),
        ("(a:1,,b:1);", "column 6: a tip needs a name or a length"),
        ("(a:1:2);", "column 5: expected a comma or a closing bracket, got ':2"),
        ("((a)b(c));", "column 6: expected a colon, a comma or a closing bracket"),
        ("(a,b);(c,d);", "column 7: expected nothing after the semicolon: only one tree"),
        ("(a:-1);", "a length must be a finite number of at least 0, got -1"),
        ("(a:1e999);", "a length must be a finite number of at least 0, got 1e999"),
        ("((a,b)101,c);", "label 101 is no support.*support=False ignores"),
        ("(a]);", r"column 3: expected an opening bracket \["),
    ],
)
def test_a_wrong_text_is_refused_with_the_place(text, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_newick(text)


def test_what_is_no_text_is_refused():
    with pytest.raises(ValueError, match="text must be a Newick text, got None"):
        Tree.from_newick(None)


def test_a_byte_order_mark_is_skipped():
    assert Tree.from_newick("\ufeff(a:1,b:1);").names == ("a", "b")
    assert math.isclose(Tree.from_newick("( a : 1.5 );").time[1], 1.5)
