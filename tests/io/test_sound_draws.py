"""Draws end to end, made by hand: what must hold between their arrays."""

import numpy as np
import pytest

from sticktree.io.sound_draws import check_packed


def packed(n_rows=3):
    """Two draws of three nodes each: a root and two leaves. Groups have parents."""
    values = {
        "stick": np.full((6, 1), 0.5),
        "rest": np.full((6, 1), 0.5),
        "theta": np.full((4, 2), -0.7),
        "theta_rest": np.full((2, 2), -0.7),
    }
    arrays = {f"draw_values_{name}": array.ravel().copy() for name, array in values.items()}
    arrays |= {
        f"draw_shapes_{name}": np.array([(len(array) // 2, *array.shape[1:])] * 2)
        for name, array in values.items()
    }
    return arrays | {
        "draw_sizes": np.array([3, 3]),
        "draw_parent": np.array([0, 0, 0] * 2, dtype=np.uint8),
        "draw_level": np.array([0, 1, 1] * 2, dtype=np.uint8),
        "draw_leaf": np.array([np.arange(n_rows) % 2 + 1] * 2, dtype=np.uint8),
        "draw_traced": np.array([], dtype=np.str_),
        "draw_scalars": np.array([[1.0, 0.0, -3.0]] * 2),
    }


def test_outline_has_what_the_draws_have():
    outline = check_packed([packed()])[0]
    assert outline.names == {"stick", "rest", "theta", "theta_rest"}
    assert outline.n_leaves.tolist() == [2, 2]
    assert outline.n_nodes.tolist() == [3, 3]
    assert outline.deepest.tolist() == [1, 1]
    assert outline.n_data.tolist() == [3, 3]
    assert all((outline.each_level, outline.branching, outline.labelled))


@pytest.mark.parametrize("n_rows", [3, 40_000])
@pytest.mark.parametrize("n_leaves", [2, 31, 60, 200])
def test_rows_sit_in_all_leaves_and_nowhere_else(n_rows, n_leaves):
    """Of trees of few nodes they are bits, of others they are marked one by one."""
    arrays = packed()
    for name in list(arrays):
        if name.startswith(("draw_values", "draw_shapes")):
            del arrays[name]
    n_rows = max(n_rows, n_leaves)
    size = 1 + n_leaves
    arrays["draw_sizes"] = np.array([size, size])
    arrays["draw_parent"] = np.zeros(2 * size, dtype=np.uint8)
    arrays["draw_level"] = np.array(([0] + [1] * n_leaves) * 2, dtype=np.uint8)
    arrays["draw_leaf"] = np.array([1 + np.arange(n_rows) % n_leaves] * 2, dtype=np.uint8)
    assert check_packed([arrays])[0].n_leaves.tolist() == [n_leaves, n_leaves]
    arrays["draw_leaf"][1, :] = 1
    with pytest.raises(ValueError, match="rows do not sit in the leaves"):
        check_packed([arrays])
    arrays["draw_leaf"] = np.array([1 + np.arange(n_rows) % n_leaves] * 2, dtype=np.uint8)
    arrays["draw_leaf"][0, 0] = 0  # the root
    with pytest.raises(ValueError, match="rows do not sit in the leaves"):
        check_packed([arrays])
    arrays["draw_leaf"][0, 0] = size
    with pytest.raises(ValueError, match="a node that is not there"):
        check_packed([arrays])


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("draw_values_theta", lambda x: -x, "theta has entries that are not logs"),
        ("draw_values_theta_rest", lambda x: x * np.inf, "theta_rest has entries"),
        ("draw_shapes_theta", lambda x: x - x[:1], "theta has other shapes"),
        ("draw_shapes_stick", lambda x: x[:, ::-1], "stick has other shapes"),
        ("draw_values_rest", lambda x: 0.0 * x, "must be shares"),
    ],
)
def test_sticks_of_groups_and_of_their_parents_are_shares(name, change, words):
    arrays = packed()
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match=words):
        check_packed([arrays])
