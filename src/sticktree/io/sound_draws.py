"""Whether draws from a file are draws: trees whose nodes are there, numbers that are what they say.

All draws of a chain are looked at together, while they still are end to end; see
:func:`~sticktree.inference.packing.pack_draws` for the arrays. Short lists of several chains are
put end to end, too: what takes time is to look at all, however few there are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.engine.draw import Draw
from sticktree.inference.packing import SHAPES, VALUES, pack_draws
from sticktree.io.laws import DRAW, Arrays, Entry, check_law, check_sticks
from sticktree.io.outlines import Integers, Outline, have, points_above_leaves

MOST_ROWS = 2**53
AT_ONCE = 1 << 15  # labels: what is made of them is small enough to be made in the same place again
LONG = 300_000  # bytes, above which lists are looked at by themselves: what is small stays near
SIZES, LABELS, TRACED = "draw_sizes", "draw_leaf", "draw_traced"


class _Lists:
    """Lists of draws that have the same parameters, end to end.

    Attributes
    ----------
    arrays : dict
        Those of all lists.
    begins : list of int
        The number of the first draw of each list.
    """

    def __init__(self, lists: Sequence[Arrays]) -> None:
        self._lists, self.arrays = lists, lists[0]
        if len(lists) > 1:
            self.arrays = {
                name: array if name == TRACED else np.concatenate([one[name] for one in lists])
                for name, array in lists[0].items()
            }
        self._n_draws = [len(one[SIZES]) for one in lists]
        self.begins = [0, *accumulate(self._n_draws)][:-1]

    def one_each(self, name: str) -> bool:
        """Return whether each list has as many rows of an array as it has draws."""
        return self._n_draws == [len(one[name]) for one in self._lists]

    def have(self, name: str, sizes: npt.NDArray[Any]) -> bool:
        """Return whether what the draws take of an array is what each list has of it."""
        # As floats: a sum of integers that overflows comes out as a small one.
        wanted = np.add.reduceat(sizes, self.begins, dtype=np.float64).tolist()
        return bool(wanted == [len(one[name]) for one in self._lists])

    def parts(self) -> list[slice]:
        """Return where the draws of each list are."""
        return [slice(k, k + n) for k, n in zip(self.begins, self._n_draws, strict=True)]


class _Trees(NamedTuple):
    """The trees of draws end to end: where each begins, and of every node its parent and level."""

    sizes: Integers
    first: Integers
    place: Integers  # of each node in its own tree
    above: Integers
    level: Integers
    at_end: npt.NDArray[np.bool_]
    n_leaves: Integers  # of each draw, as the two that follow
    n_edges: Integers
    deepest: Integers
    each_level: npt.NDArray[np.bool_]  # of each list, as what follows
    branching: npt.NDArray[np.bool_]


def check_packed(lists: Sequence[Arrays]) -> list[Outline | None]:
    """Raise unless arrays are lists of draws that can be taken apart; return their outlines.

    Sizes add up to the bytes that are there; parents come before their children and levels grow
    from them; rows sit in all nodes of the last level, and nowhere else; numbers are what their
    names need. There is no outline of no draws.
    """
    found: list[Outline | None] = [None] * len(lists)
    for some in _alike(lists):
        outlines = _checked(_Lists([lists[k] for k in some]))
        for k, outline in zip(some, outlines, strict=True):
            found[k] = outline
    return found


def _alike(lists: Sequence[Arrays]) -> list[list[int]]:
    """Return the numbers of lists with draws, those together that can be put end to end."""
    groups: list[list[int]] = []
    opened: dict[Hashable, tuple[list[int], int]] = {}  # by form, a group and how much it has
    for k, arrays in enumerate(lists):
        if not _integers(arrays, SIZES).size:
            continue
        size = sum(array.nbytes for array in arrays.values())
        form = _form(arrays) if size < LONG and len(lists) > 1 else None
        group, so_far = opened.get(form, ([], LONG))
        if form is None or so_far + size > LONG:
            group, so_far = [], 0
            groups.append(group)
        group.append(k)
        opened[form] = group, so_far + size
    return groups


def _form(arrays: Arrays) -> Hashable:
    """Return what lists have the same of that can be put end to end; None, if one stays alone.

    Types are the same, or a smaller number would pass for a larger one; so are shapes of which all
    draws have to have the same.
    """
    if "draw_labelled" in arrays:
        return None
    traced = arrays[TRACED]
    names = traced.tolist()
    form: list[Hashable] = [traced.dtype.str, traced.shape, tuple(np.atleast_1d(names).tolist())]
    for name, array in arrays.items():
        if name == TRACED:
            continue
        if not array.ndim:
            return None
        kind = array.dtype.kind
        form.append((name, kind if kind == "u" else array.dtype.str, array.shape[1:]))
        if name.startswith(SHAPES):
            if array.ndim != 2 or not len(array):
                return None
            first = array[0].tolist()
            form.append(tuple(first if name.removeprefix(SHAPES) in names else first[1:]))
    return tuple(form)


def _checked(lists: _Lists) -> list[Outline]:
    """Check lists that are alike, and return the outline of each."""
    trees = _checked_trees(lists)
    shapes, traced = _checked_parameters(lists, trees)
    n_data, labelled = _checked_rows(lists, trees)
    scalars, n_draws = lists.arrays["draw_scalars"], trees.sizes.size
    right = scalars.shape == (n_draws, 3) and lists.one_each("draw_scalars")
    _needed(right, f"draw_scalars has the shape {scalars.shape}")
    check_law("draw_scalars", scalars, {"draw_scalars": Entry(None)})
    _needed((scalars[:, 0] > 0).all(), "a concentration is not positive")
    low, high = scalars[:, 1].min(), scalars[:, 1].max()
    if not 0 <= low <= high < 1:
        raise ValueError(f"discounts are from {low} to {high}")
    names = frozenset(shapes)
    return [
        Outline(
            names,
            traced,
            {name: rows[part] for name, rows in shapes.items()},
            n_data[part],
            trees.sizes[part],
            trees.n_leaves[part],
            trees.n_edges[part],
            trees.deepest[part],
            each_level=bool(trees.each_level[k]),
            branching=bool(trees.branching[k]),
            labelled=labelled,
        )
        for k, part in enumerate(lists.parts())
    ]


def _checked_trees(lists: _Lists) -> _Trees:
    """Check the trees of all draws."""
    sizes = _integers(lists.arrays, SIZES)
    parent, level = (_integers(lists.arrays, name) for name in ("draw_parent", "draw_level"))
    _needed(sizes.min() >= 1, "a draw has no nodes")
    for name in ("draw_parent", "draw_level"):
        _needed(lists.have(name, sizes), f"{name} is of other nodes than draws have")
    total = parent.size
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
    number[first] = step[first] = 0
    roots = first[lists.begins]
    return _Trees(
        sizes,
        first,
        place,
        above,
        level,
        at_end,
        n_leaves=np.add.reduceat(at_end, first, dtype=np.int64),
        n_edges=np.add.reduceat(step, first),
        deepest=deepest,
        each_level=np.maximum.reduceat(step, roots) <= 1,
        branching=~np.logical_or.reduceat(number == 1, roots),
    )


def _checked_rows(lists: _Lists, trees: _Trees) -> tuple[Integers, bool]:
    """Check where rows sit; return how many each draw has, and whether all say where."""
    arrays = lists.arrays
    n_draws, leaf = trees.sizes.size, _integers(arrays, LABELS, ndim=2)
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
    which = np.flatnonzero(labelled)
    kept = labelled if which.size else np.arange(n_draws) == 0  # there is a row of no labels
    _needed(lists.have(LABELS, kept), "there are labels of other draws")
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
        first, sat = sizes.cumsum() - sizes, np.zeros(place.size, dtype=np.int32)
        room = np.empty((step, leaf.shape[1]), dtype=np.int64)
        for part in parts:
            nodes = room[: len(leaf[part])]
            nodes[...] = leaf[part]  # apart from the sum: this is what numpy does fast
            nodes += first[part, None]
            sat[nodes.ravel()] = 1
        return np.not_equal(sat, 0)
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


def _checked_parameters(
    lists: _Lists, trees: _Trees
) -> tuple[dict[str, Integers], tuple[str, ...]]:
    """Check the values of parameters; return the shapes they have, and which are traced."""
    arrays = lists.arrays
    traced = arrays[TRACED]
    _needed(traced.ndim == 1 and traced.dtype.kind == "U", "draw_traced is no list of names")
    names = [name.removeprefix(VALUES) for name in arrays if name.startswith(VALUES)]
    of_chains = tuple(traced.tolist())
    unknown = set(of_chains) - set(names)
    _needed(not unknown, f"draws have no parameters {', '.join(sorted(unknown))}")
    found: dict[str, Integers] = {}
    for name in names:
        values = arrays[f"{VALUES}{name}"]
        found[name] = shapes = _integers(arrays, f"{SHAPES}{name}", ndim=2)
        _needed(
            lists.one_each(f"{SHAPES}{name}"),
            f"{name} has {len(shapes)} shapes of {trees.sizes.size} draws",
        )
        _needed(shapes.min(initial=0) >= 0, f"{name} has a negative size")
        entries = shapes.prod(axis=1, dtype=np.float64)
        right = values.ndim == 1 and lists.have(f"{VALUES}{name}", entries)
        _needed(right, f"{name} has other shapes")
        check_law(name, values, DRAW)
        if name in of_chains:
            same = (shapes == shapes[0]).all()
            _needed(same, f"{name} is traced, and differs in shape between draws")
    if "stick" in found or "rest" in found:
        _check_sticks(arrays, found, trees)
    if "sums_seated" in found:
        _check_seated(arrays, found)
    return found, of_chains


def _check_sticks(arrays: Arrays, shapes: dict[str, Integers], trees: _Trees) -> None:
    """Check the sticks of all nodes, if rows belong to groups."""
    deepest = int(trees.level.max())
    sizes = trees.sizes
    for name in ("stick", "rest"):
        right = name in shapes and have(shapes[name], (sizes, deepest))
        _needed(right, f"{name} has other shapes")
    sticks: dict[str, npt.NDArray[Any]] = {
        name: arrays[f"{VALUES}{name}"].reshape(-1, deepest) for name in ("stick", "rest")
    }
    n_points = points_above_leaves(trees.n_edges, trees.n_leaves)
    of_parents = {"theta": trees.n_edges, "theta_rest": n_points}
    for name, size in of_parents.items():
        if name not in shapes:
            continue
        width = _last_of(shapes[name])
        right = width > 0 and have(shapes[name], (size, width))
        _needed(right, f"{name} has other shapes")
        sticks[name] = arrays[f"{VALUES}{name}"].reshape(-1, width)
    top = trees.level[trees.above]
    top[trees.first] = -1
    check_sticks(sticks, top, trees.level)


def _check_seated(arrays: Arrays, shapes: dict[str, Integers]) -> None:
    """Check that rows of all groups are those of the leaves."""
    n, seated = shapes["sums_n"], shapes["sums_seated"]
    width = _last_of(seated)
    right = width > 0 and n.shape[1] == 1 and have(seated, (n[:, 0], width))
    _needed(right, "sums_seated has other shapes")
    parts = arrays[f"{VALUES}sums_seated"].reshape(-1, width).sum(axis=1)
    same = np.array_equal(parts, arrays[f"{VALUES}sums_n"])
    _needed(same, "rows of groups are not all")


def _last_of(shapes: Integers) -> int:
    """Return the last size of the first draw's shape; 0 if it has none."""
    return int(shapes[0, -1]) if shapes.shape[1] else 0


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
    return check_packed([pack_draws(draws)])[0]


def _needed(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(what)
