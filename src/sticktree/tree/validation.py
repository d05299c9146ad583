"""Checks of the arrays of a tree: errors name the node or datum at fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, as_numbers
from sticktree.errors import ParameterError
from sticktree.tree.arrays import NULL, hops_to_root, renumbered

_Value = TypeVar("_Value")


def integers(name: str, values: npt.ArrayLike, ndim: int | None = 1) -> IntArray:
    """Return ``values`` as a new int32 array; raise if they are not integers."""
    array = np.asarray(values)
    if array.dtype == np.int32 and ndim in (None, array.ndim):
        return array.copy()
    if array.size == 0:
        array = array.astype(np.int32)
    if not np.issubdtype(array.dtype, np.integer):
        raise ParameterError(
            name, values, "integers", verb="hold", shown=f"an array of {array.dtype}"
        )
    if ndim is not None and array.ndim != ndim:
        raise ParameterError(name, values, "one-dimensional", shown=f"shape {array.shape}")
    limit = np.iinfo(np.int32).max
    if array.size:
        furthest = array.max() if array.max() > limit else array.min()
        if abs(int(furthest)) > limit:
            raise ValueError(f"{name} must fit 32-bit integers, got {furthest}")
    return np.array(array, dtype=np.int32)


def check_range(name: str, array: IntArray, n_nodes: int, lowest: int = 0) -> None:
    """Raise if an entry is not a node (or datum)."""
    wrong = np.flatnonzero((array < lowest) | (array >= n_nodes))
    if wrong.size:
        i, value = int(wrong[0]), int(array.flat[wrong[0]])
        raise ValueError(f"{name}[{i}] = {value} must lie between {lowest} and {n_nodes - 1}")


def check_parents(parent: IntArray) -> None:
    """Raise if a node has an impossible parent."""
    if parent.size == 0:
        raise ValueError("parent is empty: a tree has at least its root, parent=[-1]")
    if parent[0] != NULL:
        raise ValueError(f"parent[0] = {parent[0]}: node 0 is the root, its parent must be −1")
    ids = np.arange(parent.size)
    wrong = np.flatnonzero((parent[1:] < 0) | (parent[1:] >= ids[1:])) + 1
    if wrong.size:
        w = int(wrong[0])
        if parent[w] == NULL:
            reason = "node 0 is the root and there can be only one"
        else:
            reason = f"a parent has a smaller number than its child, so it must lie in 0 … {w - 1}"
        raise ValueError(f"parent[{w}] = {parent[w]}: {reason}")


def parents_first(
    parent: npt.ArrayLike, leaf: npt.ArrayLike
) -> tuple[IntArray, IntArray, IntArray]:
    """Return parents and leaves of nodes in any order, and an order of the nodes by level."""
    parents, leaves = integers("parent", parent), integers("leaf", leaf)
    check_range("parent", parents, parents.size, lowest=NULL)
    check_leaves(leaves, parents.size)
    roots = np.flatnonzero(parents == NULL)
    if roots.size != 1:
        raise ParameterError("parent", roots.tolist(), "exactly one root (−1)", verb="have")
    hops = hops_to_root(parents)
    if (hops == NULL).any():
        w = int(np.argmax(hops == NULL))
        raise ValueError(f"parent: node {w} never reaches the root: it hangs on a cycle")
    return parents, leaves, np.argsort(hops, kind="stable").astype(np.int32)


def assembled(
    parent: npt.ArrayLike,
    leaf: npt.ArrayLike,
    *,
    place: npt.ArrayLike | None = None,
    support: npt.ArrayLike | None = None,
    transfer: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the arguments of :class:`Tree` for nodes in any order; siblings keep theirs.

    Parameters
    ----------
    parent, leaf, support, transfer, names
        As of :class:`Tree`, but a parent may come after its child.
    place : array, shape (M,), optional
        Levels, if they are integers that start at 0 and grow along every edge; else times.
    """
    parents, leaves, order = parents_first(parent, leaf)
    if (parents < np.arange(parents.size)).all():
        order = np.arange(parents.size, dtype=np.int32)  # it can stay as it is
    parents, leaves = renumbered(parents, leaves, order)
    level = time = None
    if place is not None:
        places: npt.NDArray[Any] = np.asarray(place)
        if places.shape != parents.shape:
            raise ValueError(f"time has {places.size} entries, parent has {parents.size}")
        places = places[order]
        if _are_levels(places, parents):
            level = places
        else:
            time = places
    return {
        "parent": parents,
        "leaf": leaves,
        "level": level,
        "time": time,
        "support": None if support is None else np.asarray(support)[order],
        "transfer": None if transfer is None else np.asarray(transfer)[order],
        "names": names,
    }


def _are_levels(places: npt.NDArray[Any], parent: IntArray) -> bool:
    if not np.issubdtype(places.dtype, np.integer) or places[0] != 0:
        return False
    return bool((places[1:] > places[parent[1:]]).all())


def numbered(numbers: Sequence[int], values: Sequence[_Value], source: str) -> list[_Value]:
    """Return the values in the order of their numbers, which are 0 … N − 1 in any order."""
    by_number = dict(zip(numbers, values, strict=True))
    if len(by_number) != len(values) or any(i not in by_number for i in range(len(values))):
        raise ValueError(
            f"{source} must number its {len(values)} data 0 to {len(values) - 1}, each once, "
            f"got {sorted(map(str, numbers))[:10]}"
        )
    return [by_number[i] for i in range(len(values))]


def check_levels(level: IntArray, parent: IntArray) -> None:
    """Raise if a node does not lie below its parent."""
    if level.size != parent.size:
        raise ValueError(f"level has {level.size} entries, parent has {parent.size}")
    if level[0] != 0:
        raise ValueError(f"level[0] = {level[0]}: the root has level 0")
    wrong = np.flatnonzero(level[1:] <= level[parent[1:]]) + 1
    if wrong.size:
        w, above = int(wrong[0]), int(parent[wrong[0]])
        raise ValueError(
            f"level[{w}] = {level[w]}: node {w} must lie below its parent {above}, "
            f"which has level {level[above]}"
        )


def check_leaves(leaf: IntArray, n_nodes: int) -> None:
    """Raise if a datum sits in a node that does not exist."""
    wrong = np.flatnonzero((leaf < 0) | (leaf >= n_nodes))
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(
            f"leaf[{i}] = {leaf[i]}: datum {i} must sit in a node from 0 to {n_nodes - 1}"
        )


def check_counts(given: IntArray, counted: IntArray) -> None:
    """Raise if a node has another number of data than ``given``."""
    if given.size != counted.size:
        raise ValueError(f"count has {given.size} entries, parent has {counted.size}")
    wrong = np.flatnonzero(given != counted)
    if wrong.size:
        w = int(wrong[0])
        raise ValueError(f"count[{w}] = {given[w]}: {counted[w]} data sit at or below node {w}")


def check_times(time: npt.ArrayLike, parent: IntArray) -> FloatArray:
    """Return times as floats; raise if a node lies before its parent."""
    times = _of_nodes("time", time, parent.size)
    wrong = np.flatnonzero(~np.isfinite(times))
    if wrong.size:
        raise ValueError(f"time[{wrong[0]}] = {times[wrong[0]]}: times must be finite")
    wrong = np.flatnonzero(times[1:] < times[parent[1:]]) + 1
    if wrong.size:
        w, above = int(wrong[0]), int(parent[wrong[0]])
        raise ValueError(
            f"time[{w}] = {times[w]}: node {w} must not lie before its parent {above}, "
            f"which has time {times[above]}"
        )
    return times


def check_support(support: npt.ArrayLike, n_nodes: int, name: str = "support") -> FloatArray:
    """Return supports as floats; raise if one is not between 0 and 1, nor NaN (unknown)."""
    supports = _of_nodes(name, support, n_nodes)
    wrong = np.flatnonzero((supports < 0) | (supports > 1))
    if wrong.size:
        w = int(wrong[0])
        raise ValueError(f"{name}[{w}] = {supports[w]}: a support lies between 0 and 1, or is NaN")
    return supports


def check_names(names: Sequence[str], n_data: int) -> tuple[str, ...]:
    """Return names as a tuple; raise if there are too few or if one is not a string."""
    if isinstance(names, str):
        raise ParameterError("names", names, "a sequence of strings, one for each datum")
    texts = tuple(names)
    if len(texts) != n_data:
        raise ValueError(f"names has {len(texts)} entries, and there are {n_data} data")
    wrong = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise ParameterError(f"names[{wrong}]", texts[wrong], "a string")
    return tuple(map(str, texts))


def _of_nodes(name: str, values: npt.ArrayLike, n_nodes: int) -> FloatArray:
    array = np.array(as_numbers(name, values), dtype=np.float64)
    if array.shape != (n_nodes,):
        expected = f"one number for each of {n_nodes} nodes"
        raise ParameterError(name, values, expected, verb="have", shown=f"shape {array.shape}")
    return array
