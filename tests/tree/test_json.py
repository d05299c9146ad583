import json

import numpy as np
import pytest
from hypothesis import given, settings

from sticktree import Tree
from sticktree.processes import NestedRestaurant
from tests.support.trees import annotated_trees


@settings(deadline=None, derandomize=True, max_examples=50)
@given(tree=annotated_trees())
def test_what_is_written_is_read_back_equal(tree):
    text = tree.to_json()
    again = Tree.from_json(text)
    assert again == tree
    for name in ("parent", "level", "count", "leaf", "time", "support", "transfer", "names"):
        np.testing.assert_array_equal(getattr(again, name), getattr(tree, name))
    json.loads(text, parse_constant=pytest.fail)  # NaN is none of JSON's numbers


def test_compressed_trees_keep_their_levels():
    tree = NestedRestaurant(1.0, depth=3).sample(40, np.random.default_rng(0)).compressed()
    np.testing.assert_array_equal(Tree.from_json(tree.to_json()).level, tree.level)


def test_files_of_version_1_are_read():
    text = (
        '{"format": "sticktree.tree", "version": 1, "parent": [-1, 0], "level": [0, 2], '
        '"leaf": [1], "count": [1, 1], "locations": [[0.0], [1.0]]}'
    )
    assert Tree.from_json(text) == Tree([-1, 0], [1], level=[0, 2])
    assert Tree.from_json(text.encode()) == Tree.from_json(text)


def test_locations_and_provenance_are_kept():
    text = Tree([-1]).to_json(locations=np.array([[0.1, np.nan]]), provenance={"seed": 3})
    record = json.loads(text)
    assert record["locations"] == [[0.1, None]]
    assert record["provenance"] == {"seed": 3}
    with pytest.raises(ValueError, match="not JSON compliant"):
        Tree([-1]).to_json(provenance={"rate": np.nan})


WHOLE = {
    "format": "sticktree.tree",
    "version": 2,
    "parent": [-1, 0],
    "level": [0, 1],
    "leaf": [1],
    "count": [1, 1],
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a tree"),
        ("[" * 100_000, "nested too deeply"),
        ('{"format": "other"}', "not a tree"),
        ('{"format": "sticktree.tree", "version": 99}', "version 99; this sticktree reads 1 and 2"),
        ('{"format": "sticktree.tree", "version": 1, "leaf": []}', "lacks count, level, parent"),
        (json.dumps(WHOLE | {"count": [2, 1]}), r"count\[0\] = 2"),
        (json.dumps(WHOLE | {"names": 3}), "names must be a list of strings, got 3"),
        (json.dumps(WHOLE | {"names": ["a", "b"]}), "names has 2 entries, and there are 1 data"),
        (json.dumps(WHOLE | {"time": [0, None]}), r"time\[1\] = nan: times must be finite"),
        (json.dumps(WHOLE | {"support": [1.0]}), "support must have one number for each of 2"),
        (json.dumps(WHOLE | {"parent": "x"}), "parent must hold integers"),
    ],
)
def test_a_damaged_file_is_refused_with_the_reason(text, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_json(text)
