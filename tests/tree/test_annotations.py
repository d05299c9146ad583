"""Times, supports and names of a tree."""

import pickle

import numpy as np
import pytest

from sticktree import Tree

PARENT, LEAF = [-1, 0, 0, 1, 1, 2, 2], [3, 4, 5, 6, 3]


def annotated(**changes):
    known = {
        "time": [0.0, 0.5, 1.25, 2.0, 2.0, 1.25, 3.0],
        "support": [1.0, 0.4, 0.9, 1.0, 1.0, np.nan, 1.0],
        "transfer": [1.0, 0.8, 0.95, 1.0, 1.0, np.nan, 1.0],
        "names": ["a", "b", "ç", "d'", "(e)"],
    }
    return Tree(PARENT, LEAF, **(known | changes))


def test_times_default_to_levels():
    tree = Tree(PARENT, LEAF)
    np.testing.assert_array_equal(tree.time, tree.level)
    assert not tree.has_times
    assert annotated().has_times
    assert not annotated().time.flags.writeable


def test_annotated_keeps_what_is_not_given():
    tree = Tree(PARENT, LEAF, level=[0, 1, 2, 3, 5, 4, 6])
    named = tree.annotated(names=list("abcde"))
    np.testing.assert_array_equal(named.level, tree.level)
    timed = named.annotated(time=annotated().time).annotated(support=annotated().support)
    timed = timed.annotated(transfer=annotated().transfer)
    assert timed.names == tuple("abcde")
    assert timed == annotated(names=list("abcde"))


@pytest.mark.parametrize("form", ["canonical", "pruned", "compressed", "expanded"])
def test_annotations_follow_their_nodes(form):
    tree = annotated()
    other = getattr(tree, form)()
    assert other == tree
    assert other.names == tree.names
    assert hash(other) == hash(tree)
    for node in range(tree.n_nodes):
        data = tree.data_below(node)
        same = [w for w in range(other.n_nodes) if np.array_equal(other.data_below(w), data)]
        np.testing.assert_array_equal(other.time[same], tree.time[node])


@pytest.mark.parametrize(
    "changes",
    [
        {"time": [0.0, 0.5, 1.25, 2.0, 2.0, 1.25, 3.1]},
        {"support": None},
        {"transfer": None},
        {"transfer": [1.0, 0.8, 0.95, 1.0, 0.99, np.nan, 1.0]},
        {"support": [1.0, 0.4, 0.9, 1.0, 0.99, np.nan, 1.0]},
        {"names": ["a", "b", "ç", "d'", "e"]},
    ],
)
def test_other_annotations_make_another_tree(changes):
    assert annotated(**changes) != annotated()


def test_pickle_keeps_annotations():
    assert pickle.loads(pickle.dumps(annotated())) == annotated()


def test_cut_and_meeting_use_times():
    tree = annotated()
    np.testing.assert_array_equal(tree.cut(0.4), tree.cut(0.5))
    assert np.unique(tree.cut(0.5)).size == 2
    assert np.unique(tree.cut(0.6)).size == 3
    np.testing.assert_array_equal(tree.meeting_time(0, [0, 1, 2, 4]), [2.0, 0.5, 0.0, 2.0])


def test_collapsed_hangs_children_on_the_node_above():
    tree = annotated().collapsed(0.5)
    assert tree.n_nodes == 6
    np.testing.assert_array_equal(tree.data_below(0), range(5))
    assert sorted(tree.time.tolist()) == [0.0, 1.25, 1.25, 2.0, 2.0, 3.0]
    assert annotated().collapsed(0.0) == annotated()
    np.testing.assert_array_equal(tree.level, [0, 1, 1, 1, 2, 2])


def test_compressed_timed_tree_counts_edges():
    tree = Tree([-1, 0, 1, 2, 2], [3, 4], time=[0, 0.2, 0.4, 1, 1])
    small = tree.compressed()
    np.testing.assert_array_equal(small.level, [0, 1, 2, 2])
    np.testing.assert_array_equal(small.time, [0, 0.4, 1, 1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": [0.0] * 6}, "time must have one number for each of 7 nodes"),
        ({"time": [1.0, 0.5, 1, 1, 1, 1, 1]}, r"time\[1\] = 0.5: node 1 must not lie before"),
        ({"time": [0.0, np.nan, 1, 1, 1, 1, 1]}, r"time\[1\] = nan: times must be finite"),
        ({"support": [2.0] * 7}, r"support\[0\] = 2.0: a support lies between 0 and 1"),
        ({"transfer": [1.0] * 6 + [-0.1]}, r"transfer\[6\] = -0.1: a support lies between 0 and 1"),
        ({"names": "abcde"}, "names must be a sequence of strings"),
        ({"names": ["a"]}, "names has 1 entries, and there are 5 data"),
        ({"names": [1, "b", "c", "d", "e"]}, r"names\[0\] must be a string, got 1"),
        ({"level": [0, 1, 1, 2, 2, 2, 2]}, "level and time cannot both be given"),
    ],
)
def test_wrong_annotations_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        annotated(**changes)


def test_collapsed_refuses_what_cannot_be():
    with pytest.raises(ValueError, match="min_support must be between 0 and 1, got 2"):
        annotated().collapsed(2)
    with pytest.raises(ValueError, match="collapsed needs a tree with supports"):
        Tree(PARENT, LEAF).collapsed()
    with pytest.raises(ValueError, match="collapsed needs a tree with transfer supports"):
        Tree(PARENT, LEAF).collapsed(by="transfer")
    with pytest.raises(ValueError, match='by must be "support" or "transfer", got \'exact\''):
        annotated().collapsed(by="exact")


def test_collapsed_by_transfer_support():
    assert annotated().collapsed(0.5, by="transfer") == annotated()
    assert annotated().collapsed(0.9, by="transfer") == annotated().collapsed(0.5)


def test_every_shape_keeps_both_supports():
    tree = annotated()
    other = Tree([-1, 0, 1, 1, 0], [2, 3, 3], support=[1, 0.5, 0.6, 0.7, 0.8]).annotated(
        transfer=[1, 0.6, 0.7, 0.8, 0.9]
    )
    for one in (tree, other):
        for shape in (one.canonical(), one.pruned(), one.compressed(), one.expanded()):
            for below in np.unique(shape.count[shape.count > 0]):
                pairs = {
                    (tuple(t.data_below(w)), t.support[w], t.transfer[w])
                    for t in (one, shape)
                    for w in range(t.n_nodes)
                    if t.count[w] == below and not np.isnan(t.support[w])
                }
                known = {
                    (tuple(one.data_below(w)), one.support[w], one.transfer[w])
                    for w in range(one.n_nodes)
                }
                assert pairs <= known
    moved = tree.with_data(tree.leaf[::-1])
    np.testing.assert_array_equal(moved.transfer, tree.transfer)
    np.testing.assert_array_equal(moved.time, tree.time)
    assert moved.names is None


# ---- the branches that draws have ----------------------------------------------------------------


def chain(transfer, sizes=(12, 8, 7, 4)):
    """Return a tree of branches in each other, of some sizes; all have single rows beside."""
    parent, leaf, node = [-1], [], 0
    for size, below in zip(sizes, (*sizes[1:], 0), strict=True):
        leaf += range(len(parent) + (below > 0), len(parent) + (below > 0) + size - below)
        inner = len(parent)
        parent += [node] * ((below > 0) + size - below)
        node = inner
    known = np.ones(len(parent))
    tree = Tree(parent, leaf)
    inner = np.flatnonzero(tree.n_children > 0)
    known[inner] = transfer
    return tree.annotated(transfer=known)


def sizes(tree):
    return sorted(tree.count[tree.n_children > 0].tolist(), reverse=True)


def test_a_branch_must_be_nearer_to_the_draws_than_the_next_above():
    assert sizes(chain([1, 1, 1, 1])) == [12, 8, 7, 4]
    # All draws have the branch of 8: one row of the 7 moves in nine draws of ten.
    assert sizes(chain([1, 1, 1 - 0.9 / 5, 1]).distinct()) == [12, 8, 4]
    assert sizes(chain([1, 1, 1 - 0.5 / 5, 1]).distinct()) == [12, 8, 7, 4]
    # Where the one above is gone, the next counts.
    assert sizes(chain([1, 0.6, 1 - 0.9 / 5, 1]).distinct()) == [12, 7, 4]
    assert sizes(chain([1, 1, 1, 0.6]).distinct()) == [12, 8, 7]
    assert sizes(chain([1, 1, 1, 0.6]).distinct(0.5)) == [12, 8, 7, 4]
    assert sizes(chain([1, np.nan, 1, 1]).distinct()) == [12, 8, 7, 4]


def test_distinct_refuses_what_cannot_be():
    with pytest.raises(ValueError, match="min_transfer must be between 0 and 1, got 7"):
        annotated().distinct(7)
    with pytest.raises(ValueError, match="distinct needs a tree with transfer supports"):
        Tree(PARENT, LEAF).distinct()
