import json

import numpy as np
import pytest

from sticktree import Tree
from sticktree.processes import NestedRestaurant
from sticktree.tree.json import tree_from_json, tree_to_json


def test_what_is_written_is_read_back_equal():
    tree = NestedRestaurant(1.0, depth=3).sample(40, np.random.default_rng(0))
    for form in (tree, tree.compressed(), Tree([-1])):
        again = tree_from_json(tree_to_json(form))
        for name in ("parent", "level", "count", "leaf"):
            np.testing.assert_array_equal(getattr(again, name), getattr(form, name))


def test_locations_and_provenance_are_kept():
    text = tree_to_json(Tree([-1]), locations=np.array([[0.1, 2.0]]), provenance={"seed": 3})
    record = json.loads(text)
    assert record["locations"] == [[0.1, 2.0]]
    assert record["provenance"] == {"seed": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a tree"),
        ('{"format": "other"}', "not a tree"),
        ('{"format": "sticktree.tree", "version": 99}', "version 99; this sticktree reads 1"),
        ('{"format": "sticktree.tree", "version": 1, "leaf": []}', "lacks count, level, parent"),
        (
            '{"format": "sticktree.tree", "version": 1, "parent": [-1, 0], "level": [0, 1], '
            '"leaf": [1], "count": [2, 1]}',
            r"count\[0\] = 2",
        ),
    ],
)
def test_a_damaged_file_is_refused_with_the_reason(text, message):
    with pytest.raises(ValueError, match=message):
        tree_from_json(text)
