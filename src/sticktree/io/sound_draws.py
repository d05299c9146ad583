"""Whether draws from a file are draws: trees whose nodes are there, parameters that fit the model.

What is between draws end to end is looked at for all of them at once; see
:func:`~sticktree.inference.packing.pack_draws` for the arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.engine.draw import Draw
from sticktree.inference.packing import SHAPES, VALUES
from sticktree.io.laws import (
    DRAW,
    NEEDED,
    NEEDED_OF_GROUPS,
    NEEDED_OF_PARENTS,
    Arrays,
    Entry,
    Sizes,
    check_law,
    check_shape,
    check_sticks,
)
from sticktree.model import Model

Integers = npt.NDArray[Any]
MOST_ROWS = 2**53


def check_packed(arrays: Arrays) -> None:
    """Raise unless arrays are draws that can be taken apart.

    Sizes add up to the bytes that are there; parents come before their children and levels grow
    from them; rows sit in all nodes of the last level, and nowhere else; numbers are what their
    names need.
    """
    sizes = _integers(arrays, "draw_sizes")
    if not sizes.size:
        return
    parent, level = _integers(arrays, "draw_parent"), _integers(arrays, "draw_level")
    _needed(sizes.min() >= 1, "a draw has no nodes")
    # As Python adds them: a sum of huge numbers may come out as a small one.
    total = sum(sizes.tolist())
    _needed(parent.size == level.size == total, f"draws have {total} nodes, not {parent.size}")
    sizes = sizes.astype(np.int64)
    first = np.cumsum(sizes) - sizes
    _check_trees(parent.astype(np.int64), level.astype(np.int64), sizes, first)
    _check_parameters(arrays, sizes.size)
    _check_rows(arrays, level, sizes, first)
    scalars = arrays["draw_scalars"]
    _needed(scalars.shape == (sizes.size, 3), f"draw_scalars has the shape {scalars.shape}")
    check_law("draw_scalars", scalars, {"draw_scalars": Entry(None)})
    _needed(scalars[:, 0].min() > 0, "a concentration is not positive")
    low, high = scalars[:, 1].min(), scalars[:, 1].max()
    _needed(low >= 0 and high < 1, f"discounts are from {low} to {high}")


def _check_trees(parent: Integers, level: Integers, sizes: Integers, first: Integers) -> None:
    """Check the trees of all draws: ``first`` is where each begins."""
    own = np.arange(parent.size) - np.repeat(first, sizes)
    root = own == 0
    _needed((level[root] == 0).all(), "a root is not at level 0")
    inner = ~root
    wrong = (parent < 0) | (parent >= own)
    wrong[root] = parent[root] != 0
    _needed(not wrong.any(), "a node comes before its parent")
    above = parent + np.repeat(first, sizes)
    _needed((level[inner] > level[above[inner]]).all(), "a node is not below its parent")
    is_parent = np.zeros(parent.size, dtype=bool)
    is_parent[above[inner]] = True
    last = np.maximum.reduceat(level, first)
    at_end = level == np.repeat(last, sizes)
    _needed((is_parent != at_end).all(), "a node without children is not a leaf")


def _check_rows(arrays: Arrays, level: Integers, sizes: Integers, first: Integers) -> None:
    """Check where rows sit, and how many are below each node."""
    n_draws, leaf = sizes.size, _integers(arrays, "draw_leaf", ndim=2)
    labelled, n_data = np.ones(n_draws, dtype=bool), np.full(n_draws, leaf.shape[1])
    more = np.zeros(n_draws, dtype=bool)  # draws with rows that have left memory
    if "draw_labelled" in arrays:
        labelled = _flags(arrays, "draw_labelled", n_draws)
        counted = _flags(arrays, "draw_counted", n_draws)
        n_data = _integers(arrays, "draw_n_data")
        _needed(n_data.size == n_draws and n_data.min() >= 1, "a draw has no rows")
        _needed(n_data.max() < MOST_ROWS, "there are more rows than can be")
        _needed((n_data[labelled] == leaf.shape[1]).all(), "draws have labels of other rows")
        _needed((labelled | counted).all(), "a draw has neither labels nor counts")
        meeting = arrays["draw_meeting_level"]
        _needed(meeting.shape == (n_draws,) and meeting.dtype.kind == "f", "meeting levels")
        _needed(not np.isinf(meeting).any(), "a meeting level is infinite")
        _needed(not np.isnan(meeting[~labelled]).any(), "a draw without labels meets nowhere")
        more = _check_counts(arrays, level, sizes, first, counted) > n_data
    _needed(len(leaf) == max(int(labelled.sum()), 1), "there are labels of other draws")
    which = np.flatnonzero(labelled)
    if not (which.size and leaf.size):
        return
    least, most = leaf.min(), leaf.max(axis=1)
    _needed(least >= 0 and (most < sizes[which]).all(), "a row sits in a node that is not there")
    sat = np.zeros(level.size, dtype=bool)
    for row, start, size in zip(leaf, first[which], sizes[which], strict=True):
        sat[start : start + size] = np.bincount(row, minlength=size) > 0
    last = np.repeat(np.maximum.reduceat(level, first), sizes)
    wrong = sat != (level == last)
    wrong &= np.repeat(labelled, sizes)
    if more.any():  # leaves of rows that have left memory may have no others
        wrong &= sat | np.repeat(~more, sizes)
    _needed(not wrong.any(), "rows do not sit in the leaves")


def _check_counts(
    arrays: Arrays,
    level: Integers,
    sizes: Integers,
    first: Integers,
    counted: npt.NDArray[np.bool_],
) -> Integers:
    """Check that the numbers of rows below nodes add up; return how many each draw has in all."""
    counts = _integers(arrays, "draw_counts")
    _needed(counts.size == int(sizes[counted].sum()), "draw_counts has another size")
    nodes = np.repeat(counted, sizes)
    of_all = np.zeros(level.size, dtype=np.int64)
    of_all[nodes] = counts
    _needed(counts.min(initial=1) >= 1, "a node has no rows")
    _needed(counts.max(initial=1) < MOST_ROWS, "there are more rows than can be")
    below = np.zeros_like(of_all)
    above = arrays["draw_parent"].astype(np.int64) + np.repeat(first, sizes)
    inner = np.ones(level.size, dtype=bool)
    inner[first] = False
    np.add.at(below, above[inner], of_all[inner])
    parents = nodes & (below > 0)
    _needed(np.array_equal(below[parents], of_all[parents]), "counts of rows do not add up")
    return of_all[first]


def _check_parameters(arrays: Arrays, n_draws: int) -> None:
    """Check that the values of parameters have the sizes that their shapes say."""
    traced = arrays["draw_traced"]
    _needed(traced.ndim == 1 and traced.dtype.kind == "U", "draw_traced is no list of names")
    names = [name.removeprefix(VALUES) for name in arrays if name.startswith(VALUES)]
    unknown = set(traced.tolist()) - set(names)
    _needed(not unknown, f"draws have no parameters {', '.join(sorted(unknown))}")
    for name in names:
        values, shapes = arrays[f"{VALUES}{name}"], _integers(arrays, f"{SHAPES}{name}", ndim=2)
        _needed(len(shapes) == n_draws, f"{name} has {len(shapes)} shapes of {n_draws} draws")
        _needed(shapes.size == 0 or shapes.min() >= 0, f"{name} has a negative size")
        # As floats beside integers: a product that overflows comes out as a small one.
        sizes = shapes.prod(axis=1, dtype=np.float64)
        _needed(sizes.sum() == values.size and values.ndim == 1, f"{name} has other shapes")
        check_law(name, values, DRAW)
        if name in traced:
            same = bool((shapes == shapes[0]).all())
            _needed(same, f"{name} is traced, and differs in shape between draws")


def check_draws(draws: Sequence[Draw], model: Model, sizes: Sizes) -> None:
    """Raise unless draws are of this model: levels, parameters and their shapes are as it says."""
    if not draws:
        return
    check_alike(draws)
    n_data = {draw.n_data for draw in draws}
    _needed(n_data == {sizes["rows"][0]}, f"draws have {n_data} rows")
    n_nodes = np.array([draw.parent.size for draw in draws])
    first = np.cumsum(n_nodes) - n_nodes
    level = np.concatenate([draw.level for draw in draws]).astype(np.int64)
    parent = np.concatenate([draw.parent for draw in draws]) + np.repeat(first, n_nodes)
    deepest = np.maximum.reduceat(level, first)
    _needed((deepest == model.depth).all(), f"a draw has other levels than {model.depth}")
    inner = np.ones(level.size, dtype=bool)
    inner[first] = False
    if model.leaf_noise == "own":
        step = level[inner] - level[parent[inner]]
        _needed((step == 1).all(), "a branch skips a level")
    else:
        # Nodes that have one child would need more room than there is.
        number = np.bincount(parent[inner], minlength=level.size)
        _needed((number[inner] != 1).all(), "a node has a single child")
    n_leaves = np.add.reduceat((level == model.depth).astype(np.int64), first)
    _check_shapes(draws, model, sizes, n_leaves.tolist(), (n_nodes - n_leaves).tolist())


def _check_shapes(
    draws: Sequence[Draw], model: Model, sizes: Sizes, n_leaves: list[int], n_inner: list[int]
) -> None:
    names = draws[0].parameters
    needed = NEEDED[model.leaf_noise] + NEEDED_OF_GROUPS * (model.groups is not None)
    if model.groups is not None and model.groups.line is not None:
        needed += NEEDED_OF_PARENTS
    absent = [name for name in needed if name not in names]
    _needed(not absent, f"a draw lacks {', '.join(absent)}")
    for name in names:
        if name not in DRAW:
            continue
        shapes = [draw.parameters[name].shape for draw in draws]
        for shape, leaves, inner in set(zip(shapes, n_leaves, n_inner, strict=True)):
            here = sizes | {"leaves": (leaves,), "inner": (inner,), "nodes": (leaves + inner,)}
            check_shape(name, shape, DRAW[name], here)
    if model.groups is not None:
        for draw in draws:
            deep = draw.level.astype(np.int64)
            top = deep[draw.parent]
            top[0] = -1
            check_sticks(draw.parameters, top, deep)
    n_sums = sum(name.startswith("sums_") for name in names)
    wanted = 4 if model.groups is None else 5
    _needed(n_sums in (0, wanted), "a draw lacks sums of its leaves")
    if n_sums and model.groups is not None:
        _check_seated(draws)
    _needed(n_sums > 0 or all(draw.labelled for draw in draws), "neither labels nor sums")
    _needed(not sizes["gaps"][0] or "imputed" in names, "a draw lacks imputed")


def _check_seated(draws: Sequence[Draw]) -> None:
    """Check that rows of all groups are those of the leaves."""
    for draw in draws:
        parts = draw.parameters["sums_seated"].sum(axis=1)
        _needed(np.array_equal(parts, draw.parameters["sums_n"]), "rows of groups are not all")


def check_alike(draws: Sequence[Draw]) -> None:
    """Raise unless draws have the same parameters: the first tells what they have."""
    for draw in draws:
        same = (
            draw.parameters.keys() == draws[0].parameters.keys() and draw.traced == draws[0].traced
        )
        _needed(same, "draws have different parameters")


def _integers(arrays: Arrays, name: str, ndim: int = 1) -> Integers:
    array = arrays[name]
    if array.ndim != ndim or array.dtype.kind not in "iu":
        raise ValueError(f"{name} is no array of whole numbers with {ndim} axes")
    return array


def _flags(arrays: Arrays, name: str, size: int) -> npt.NDArray[np.bool_]:
    array = arrays[name]
    if array.shape != (size,) or array.dtype != np.bool_:
        raise ValueError(f"{name} is no array of {size} truth values")
    return array


def _needed(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(what)
