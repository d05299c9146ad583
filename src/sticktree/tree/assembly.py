"""A tree from what another program says of its nodes, in whatever order and form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sticktree.tree.arrays import NULL, renumbered
from sticktree.tree.tree import Tree
from sticktree.tree.validation import check_leaves, check_range, integers, parents_first

__all__ = ["assembled", "numbered"]

_Value = TypeVar("_Value")


def assembled(
    parent: npt.ArrayLike,
    leaf: npt.ArrayLike,
    *,
    place: npt.ArrayLike | None = None,
    support: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Tree:
    """Make a tree of nodes in any order; siblings keep theirs.

    Parameters
    ----------
    parent, leaf, support, names
        As of :class:`Tree`, but a parent may come behind its child.
    place : array, shape (M,), optional
        Levels, if they are integers that start at 0 and grow along every edge; else times.
    """
    parents, leaves = integers("parent", parent), integers("leaf", leaf)
    check_range("parent", parents, parents.size, lowest=NULL)
    check_leaves(leaves, parents.size)
    order = parents_first(parents)
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
    return Tree(
        parents,
        leaves,
        level=level,
        time=time,
        support=None if support is None else np.asarray(support)[order],
        names=names,
    )


def _are_levels(places: npt.NDArray[Any], parent: npt.NDArray[np.int32]) -> bool:
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
