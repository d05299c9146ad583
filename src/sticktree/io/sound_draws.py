"""Whether draws from a file are draws: trees whose nodes are there, parameters that fit the model.

All draws of a chain are looked at together, while they still are end to end; see
:func:`~sticktree.inference.packing.pack_draws` for the arrays. What a model has to say of them is
in their :class:`Outline`, so that they need not be looked at again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.engine.draw import Draw
from sticktree.inference.packing import SHAPES, VALUES, pack_draws
from sticktree.io.laws import (
    DRAW,
    NEEDED,
    NEEDED_OF_GROUPS,
    NEEDED_OF_PARENTS,
    Arrays,
    Entry,
    Sizes,
    check_law,
    check_sticks,
)
from sticktree.model import Model

Integers = npt.NDArray[Any]
Shapes = tuple[int, ...] | Integers
MOST_ROWS = 2**53
AT_ONCE = 1 << 14  # labels: what is made of them is small enough to be made in the same place again


class Outline(NamedTuple):
    """What draws that hold together have in common with a model, or not.

    Attributes
    ----------
    names, traced : set and tuple of str
        Their parameters.
    shapes : dict
        By name, the shape of a parameter: that of all draws, or an array with a row for each.
    n_data, n_nodes, n_leaves, n_edges, deepest : integer arrays
        Rows, nodes, leaves, steps from level to level and the last level of each draw.
    each_level, branching : bool
        Whether every node is one level below its parent, and whether all but the root and the
        leaves have several children.
    labelled : bool
        Whether all draws have kept where each row sits.
    """

    names: frozenset[str]
    traced: tuple[str, ...]
    shapes: dict[str, Shapes]
    n_data: Integers
    n_nodes: Integers
    n_leaves: Integers
    n_edges: Integers
    deepest: Integers
    each_level: bool
    branching: bool
    labelled: bool


class _Trees(NamedTuple):
    """The trees of draws end to end: where each begins, and of every node its parent and level."""

    sizes: Integers
    first: Integers
    place: Integers  # of each node in its own tree
    above: Integers
    level: Integers
    at_end: npt.NDArray[np.bool_]
    outline: dict[str, Any]


def check_packed(arrays: Arrays) -> Outline | None:
    """Raise unless arrays are draws that can be taken apart; return their outline.

    Sizes add up to the bytes that are there; parents come before their children and levels grow
    from them; rows sit in all nodes of the last level, and nowhere else; numbers are what their
    names need. There is no outline of no draws.
    """
    sizes = _integers(arrays, "draw_sizes")
    if not sizes.size:
        return None
    trees = _checked_trees(arrays, sizes)
    shapes, traced = _checked_parameters(arrays, trees)
    n_data, labelled = _checked_rows(arrays, trees)
    scalars = arrays["draw_scalars"]
    _needed(scalars.shape == (sizes.size, 3), f"draw_scalars has the shape {scalars.shape}")
    check_law("draw_scalars", scalars, {"draw_scalars": Entry(None)})
    (c, low, _), high = scalars.min(axis=0), scalars[:, 1].max()
    _needed(c > 0, "a concentration is not positive")
    _needed(low >= 0 and high < 1, f"discounts are from {low} to {high}")
    return Outline(frozenset(shapes), traced, shapes, n_data, labelled=labelled, **trees.outline)


def _checked_trees(arrays: Arrays, sizes: Integers) -> _Trees:
    """Check the trees of all draws."""
    parent, level = _integers(arrays, "draw_parent"), _integers(arrays, "draw_level")
    _needed(sizes.min() >= 1, "a draw has no nodes")
    # As Python adds them: a sum of huge numbers may come out as a small one.
    total = sum(sizes.tolist())
    _needed(parent.size == level.size == total, f"draws have {total} nodes, not {parent.size}")
    sizes, parent, level = (x.astype(np.int64) for x in (sizes, parent, level))
    first = sizes.cumsum() - sizes
    above = first.repeat(sizes)
    place = np.arange(total)
    place -= above
    # The root is its own parent; all others come after theirs.
    right = parent.min() >= 0 and (parent < np.maximum(place, 1)).all()
    _needed(right, "a node comes before its parent")
    _needed(not level[first].any(), "a root is not at level 0")
    above += parent
    step = level - level[above]
    step[first] = 1
    _needed(step.min() >= 1, "a node is not below its parent")
    number = np.bincount(above, minlength=total)  # of children
    number[first] -= 1
    deepest = np.maximum.reduceat(level, first)
    at_end = level == deepest.repeat(sizes)
    _needed(((number > 0) != at_end).all(), "a node without children is not a leaf")
    number[first] = 0
    outline = {
        "n_nodes": sizes,
        "n_leaves": np.add.reduceat(at_end, first, dtype=np.int64),
        "n_edges": np.add.reduceat(level - level[above], first),
        "deepest": deepest,
        "each_level": bool(step.max() == 1),
        "branching": not (number == 1).any(),
    }
    return _Trees(sizes, first, place, above, level, at_end, outline)


def _checked_rows(arrays: Arrays, trees: _Trees) -> tuple[Integers, bool]:
    """Check where rows sit; return how many each draw has, and whether all say where."""
    n_draws, leaf = trees.sizes.size, _integers(arrays, "draw_leaf", ndim=2)
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
        more = _check_counts(arrays, trees, counted) > n_data
    _needed(len(leaf) == max(int(labelled.sum()), 1), "there are labels of other draws")
    which = np.flatnonzero(labelled)
    if which.size and leaf.size:
        if which.size == n_draws:
            sat = _sat_in(leaf, trees.sizes, trees.place)
            wrong = sat != trees.at_end
        else:
            nodes = labelled.repeat(trees.sizes)
            sat = np.zeros(nodes.size, dtype=bool)
            sat[nodes] = _sat_in(leaf, trees.sizes[which], trees.place[nodes])
            wrong = nodes & (sat != trees.at_end)
        if more.any():  # leaves of rows that have left memory may have no others
            wrong &= sat | (~more).repeat(trees.sizes)
        _needed(not wrong.any(), "rows do not sit in the leaves")
    return n_data, which.size == n_draws


def _sat_in(leaf: Integers, sizes: Integers, place: Integers) -> npt.NDArray[np.bool_]:
    """Return of every node whether a row sits there.

    Rows of ``leaf`` are draws of these sizes, and ``place`` has the number of each of their nodes.
    """
    most = sizes.max()
    largest = leaf.max(axis=1) if leaf.max() >= sizes.min() else leaf.max()
    right = leaf.min() >= 0 and (largest < sizes).all()
    _needed(right, "a row sits in a node that is not there")
    n_draws, step = len(leaf), max(AT_ONCE // leaf.shape[1], 1)
    parts = [slice(k, k + step) for k in range(0, n_draws, step)]
    if most > 64:
        first, sat = sizes.cumsum() - sizes, np.zeros(place.size, dtype=bool)
        for part in parts:
            sat[leaf[part] + first[part, None]] = True
        return sat
    kind = np.dtype(np.uint32 if most <= 32 else np.uint64)
    one, bits = np.ones((), kind), np.empty(n_draws, kind)  # a bit for each node of a draw
    for part in parts:
        np.bitwise_or.reduce(one << leaf[part].astype(kind), axis=1, out=bits[part])
    found = bits.repeat(sizes)
    found >>= place.astype(kind)
    found &= one
    return found.astype(bool)


def _check_counts(arrays: Arrays, trees: _Trees, counted: npt.NDArray[np.bool_]) -> Integers:
    """Check that the numbers of rows below nodes add up; return how many each draw has in all."""
    counts = _integers(arrays, "draw_counts")
    _needed(counts.size == int(trees.sizes[counted].sum()), "draw_counts has another size")
    nodes = counted.repeat(trees.sizes)
    of_all = np.zeros(trees.level.size, dtype=np.int64)
    of_all[nodes] = counts
    _needed(counts.min(initial=1) >= 1, "a node has no rows")
    _needed(counts.max(initial=1) < MOST_ROWS, "there are more rows than can be")
    below = np.zeros_like(of_all)
    inner = np.ones(trees.level.size, dtype=bool)
    inner[trees.first] = False
    np.add.at(below, trees.above[inner], of_all[inner])
    parents = nodes & (below > 0)
    _needed(np.array_equal(below[parents], of_all[parents]), "counts of rows do not add up")
    return of_all[trees.first]


def _checked_parameters(arrays: Arrays, trees: _Trees) -> tuple[dict[str, Shapes], tuple[str, ...]]:
    """Check the values of parameters; return the shapes they have, and which are traced."""
    traced = arrays["draw_traced"]
    _needed(traced.ndim == 1 and traced.dtype.kind == "U", "draw_traced is no list of names")
    names = [name.removeprefix(VALUES) for name in arrays if name.startswith(VALUES)]
    of_chains = tuple(traced.tolist())
    unknown = set(of_chains) - set(names)
    _needed(not unknown, f"draws have no parameters {', '.join(sorted(unknown))}")
    found: dict[str, Shapes] = {}
    n_draws = trees.sizes.size
    for name in names:
        values, shapes = arrays[f"{VALUES}{name}"], _integers(arrays, f"{SHAPES}{name}", ndim=2)
        _needed(len(shapes) == n_draws, f"{name} has {len(shapes)} shapes of {n_draws} draws")
        same = bool((shapes == shapes[0]).all())
        if same:
            shape = tuple(shapes[0].tolist())
            least, total = min(shape, default=0), n_draws * math.prod(shape)
            found[name] = shape
        else:
            # As floats beside integers: a product that overflows comes out as a small one.
            least, total = shapes.min(), shapes.prod(axis=1, dtype=np.float64).sum()
            found[name] = shapes
        _needed(least >= 0, f"{name} has a negative size")
        _needed(total == values.size and values.ndim == 1, f"{name} has other shapes")
        check_law(name, values, DRAW)
        if name in of_chains:
            _needed(same, f"{name} is traced, and differs in shape between draws")
    if "stick" in found or "rest" in found:
        _check_sticks(arrays, found, trees)
    if "sums_seated" in found:
        _check_seated(arrays, found)
    return found, of_chains


def _check_sticks(arrays: Arrays, shapes: dict[str, Shapes], trees: _Trees) -> None:
    """Check the sticks of all nodes, if rows belong to groups."""
    deepest = int(trees.level.max())
    sizes = trees.sizes
    for name in ("stick", "rest"):
        right = name in shapes and _have(shapes[name], (sizes, deepest))
        _needed(right, f"{name} has other shapes")
    sticks: dict[str, npt.NDArray[Any]] = {
        name: arrays[f"{VALUES}{name}"].reshape(-1, deepest) for name in ("stick", "rest")
    }
    n_points = points_above_leaves(trees.outline["n_edges"], trees.outline["n_leaves"])
    of_parents = {"theta": trees.outline["n_edges"], "theta_rest": n_points}
    for name, size in of_parents.items():
        if name not in shapes:
            continue
        width = _last_of(shapes[name])
        right = width > 0 and _have(shapes[name], (size, width))
        _needed(right, f"{name} has other shapes")
        sticks[name] = arrays[f"{VALUES}{name}"].reshape(-1, width)
    top = trees.level[trees.above]
    top[trees.first] = -1
    check_sticks(sticks, top, trees.level)


def _check_seated(arrays: Arrays, shapes: dict[str, Shapes]) -> None:
    """Check that rows of all groups are those of the leaves."""
    n, seated = shapes["sums_n"], shapes["sums_seated"]
    n_leaves = n[0] if isinstance(n, tuple) and n else np.asarray(n).reshape(-1, 1)[:, 0]
    width = _last_of(seated)
    right = width > 0 and _have(n, (n_leaves,)) and _have(seated, (n_leaves, width))
    _needed(right, "sums_seated has other shapes")
    parts = arrays[f"{VALUES}sums_seated"].reshape(-1, width).sum(axis=1)
    same = np.array_equal(parts, arrays[f"{VALUES}sums_n"])
    _needed(same, "rows of groups are not all")


def _have(shapes: Shapes, wanted: Sequence[int | Integers]) -> bool:
    """Return whether all draws have a shape; of its sizes, arrays have one for each draw."""
    if isinstance(shapes, tuple):
        return len(shapes) == len(wanted) and all(
            size == one if isinstance(one, int) else (one == size).all()
            for size, one in zip(shapes, wanted, strict=True)
        )
    right = shapes.shape[1] == len(wanted)
    return right and all((shapes[:, k] == one).all() for k, one in enumerate(wanted))


def _last_of(shapes: Shapes) -> int:
    """Return the last size of the first draw's shape; 0 if it has none."""
    first = shapes if isinstance(shapes, tuple) else shapes[0].tolist()
    return first[-1] if first else 0


class Outlines:
    """The outlines of lists of draws that have been read."""

    def __init__(self) -> None:
        # Lists are kept with their outlines: the id of one that is gone would be given again.
        self._known: dict[int, tuple[Outline | None, list[Draw]]] = {}

    def add(self, draws: list[Draw], outline: Outline | None) -> None:
        """Take note of the outline of a list."""
        self._known[id(draws)] = outline, draws

    def of(self, draws: list[Draw]) -> Outline | None:
        """Return the outline of a list; one that was not read as a whole is looked at now."""
        return self._known[id(draws)][0] if id(draws) in self._known else _outline_of(draws)


def _outline_of(draws: list[Draw]) -> Outline | None:
    for draw in draws:
        same = (
            draw.parameters.keys() == draws[0].parameters.keys() and draw.traced == draws[0].traced
        )
        _needed(same, "draws have different parameters")
    return check_packed(pack_draws(draws))


def check_alike(outlines: Sequence[Outline | None]) -> None:
    """Raise unless all draws have the same parameters: the first tells what they have."""
    kinds = {(one.names, one.traced) for one in outlines if one is not None}
    _needed(len(kinds) <= 1, "draws have different parameters")


def check_draws(outline: Outline | None, model: Model, sizes: Sizes) -> None:
    """Raise unless draws are of this model: levels, parameters and their shapes are as it says."""
    if outline is None:
        return
    (n_rows,) = sizes["rows"]
    _needed((outline.n_data == n_rows).all(), f"draws have other rows than {n_rows}")
    right = (outline.deepest == model.depth).all()
    _needed(right, f"a draw has other levels than {model.depth}")
    if model.leaf_noise == "own":
        _needed(outline.each_level, "a branch skips a level")
    else:
        # Nodes that have one child would need more room than there is.
        _needed(outline.branching, "a node has a single child")
    names = outline.names
    needed = NEEDED[model.leaf_noise] + NEEDED_OF_GROUPS * (model.groups is not None)
    if model.groups is not None and model.groups.line is not None:
        needed += NEEDED_OF_PARENTS
    absent = [name for name in needed if name not in names]
    _needed(not absent, f"a draw lacks {', '.join(absent)}")
    _check_shapes(outline, sizes)
    n_sums = sum(name.startswith("sums_") for name in names)
    wanted = 4 if model.groups is None else 5
    _needed(n_sums in (0, wanted), "a draw lacks sums of its leaves")
    _needed(n_sums > 0 or outline.labelled, "neither labels nor sums")
    _needed(not sizes["gaps"][0] or "imputed" in names, "a draw lacks imputed")


def _check_shapes(outline: Outline, sizes: Sizes) -> None:
    """Check that parameters have a shape that follows from the model and from each draw's tree."""
    of_trees = {
        "leaves": outline.n_leaves,
        "inner": outline.n_nodes - outline.n_leaves,
        "nodes": outline.n_nodes,
        "edges": outline.n_edges,
        "points": points_above_leaves(outline.n_edges, outline.n_leaves),
    }
    for name, shapes in outline.shapes.items():
        axes = DRAW[name].axes if name in DRAW else None
        if axes is None:
            continue
        expected: list[int | Integers] = []
        for axis in axes:
            if axis in of_trees:
                expected.append(of_trees[axis])
            else:
                expected.extend(sizes[axis])
        if not _have(shapes, expected):
            one = list(shapes) if isinstance(shapes, tuple) else shapes[0].tolist()
            raise ValueError(f"{name} must have the axes {', '.join(axes)}, got {one}")


def points_above_leaves(n_edges: Integers, n_leaves: Integers) -> Integers:
    """Return how many points trees have above the last level, on which all leaves are."""
    return n_edges + 1 - n_leaves


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
