"""Parents of groups as users give them: conditions of patients, days that follow days."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.data.groups import (
    RowGroups,
    in_order,
    labels_of,
    plain_name,
    read_groups,
    take_column,
)
from sticktree.errors import ParameterError
from sticktree.tree.arrays import NULL

MOST_PARENTS = 100  # whose sticks every draw keeps at all nodes


@dataclass(frozen=True, eq=False)
class Kin:
    """Groups whose parents are known, as they are given to `fit`.

    Attributes
    ----------
    groups : object
        The group of each row, or the name of a column.
    parents : object
        The parent of the group of each row, the name of a column, or a dict of groups; None for
        times, which follow one another.
    """

    groups: Any
    parents: Any = None
    column: Any = None
    parent_column: Any = None

    @property
    def parameter(self) -> str:
        """The name by which the groups were given."""
        return "times" if self.parents is None else "groups"


def check_kin(groups: Any, parents: Any, times: Any) -> Any:
    """Return groups as `TrainingData` takes them, with parents if there are any."""
    if times is not None:
        for name, given in (("groups", groups), ("parents", parents)):
            if given is not None:
                expected = "None where times are given: times are groups, and follow one another"
                raise ParameterError(name, given, expected, shown=name)
        return Kin(times)
    if parents is None:
        return groups
    if groups is None:
        expected = "None unless there are groups whose parents they are"
        raise ParameterError("parents", parents, expected, "give groups=, too", shown="parents")
    return Kin(groups, parents)


def take_columns(X: Any, groups: Any) -> tuple[Any, Any, Any]:  # noqa: N803
    """Return a table without the columns of groups and parents, these, and the groups' column."""
    if not isinstance(groups, Kin):
        return take_column(X, groups)
    rest, taken, column = take_column(X, groups.groups, groups.parameter)
    rest, above, other = take_column(rest, groups.parents, "parents")
    return rest, Kin(taken, above, column, other), column


def read_kin(
    groups: Any,
    n_rows: int,
    rows: npt.NDArray[np.int64],
    column: Any = None,
    *,
    more_to_come: bool = False,
) -> RowGroups | None:
    """Return the groups of data as `read_groups` does, and their parents if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.data.parents import Kin, read_kin
    >>> found = read_kin(Kin(["p", "q", "r"], ["new", "old", "new"]), 3, np.arange(3))
    >>> found.parents, found.parent_names
    (array([ 3,  4,  3, -1, -1], dtype=int32), ('new', 'old'))
    >>> read_kin(Kin([7, 9, 8]), 3, np.arange(3)).parents
    array([-1,  0,  1,  2], dtype=int32)
    """
    if not isinstance(groups, Kin):
        return read_groups(groups, n_rows, rows, column, more_to_come=more_to_come)
    found = read_groups(groups.groups, n_rows, rows, column, groups.parameter, have_parents=True)
    if found is None:
        return None
    n_groups = int(found.of_data.max()) + 1
    if groups.parents is None:
        parents = np.full(n_groups + 1, NULL, dtype=np.int32)
        parents[1 : len(found.names)] = np.arange(len(found.names) - 1)
        parents[-1] = len(found.names) - 1  # a time to come
        names: tuple[Any, ...] = ()
    else:
        parents, names = _parents_of(groups, found, n_rows, n_groups)
    n_parents = np.unique(parents[parents != NULL]).size
    if n_parents > MOST_PARENTS:
        word = "times" if groups.parents is None else "parents"
        raise ParameterError(
            word,
            groups.parents,
            f"at most {MOST_PARENTS} different ones",
            "gather them, such as days to weeks" if groups.parents is None else None,
            shown=f"{n_parents}",
        )
    return replace(
        found,
        parents=parents,
        parent_names=names,
        in_order=groups.parents is None,
        parent_column=groups.parent_column,
    )


def _parents_of(
    kin: Kin, found: RowGroups, n_rows: int, n_groups: int
) -> tuple[IntArray, tuple[Any, ...]]:
    """Return the parents of groups by number, and names of those without rows."""
    if isinstance(kin.parents, Mapping):
        above = {plain_name(key): plain_name(value) for key, value in kin.parents.items()}
    else:
        above = _by_rows(kin, found, n_rows)
    above = {key: value for key, value in above.items() if value is not None}
    gone = set(labels_of(kin.groups, n_rows, "groups")) - set(found.names)  # of rows that count 0
    above = {key: value for key, value in above.items() if key not in gone}
    known = set(found.names) | set(above.values())
    unknown = [key for key in above if key not in known]
    if unknown:
        listed = ", ".join(map(repr, found.names[:8])) + ", …" * (len(found.names) > 8)
        expected = f"a dict whose keys are groups or parents of some: {listed}"
        raise ParameterError("parents", kin.parents, expected, shown=f"{unknown[0]!r}")
    if not any(name in above for name in found.names):
        raise ParameterError("parents", kin.parents, "a parent of some group", shown="none at all")
    others = {name for name in above.values() if name not in found.names}
    names = tuple(sorted(others, key=in_order))
    place = {name: k for k, name in enumerate(found.names)}
    place |= {name: n_groups + k for k, name in enumerate(names)}
    parents = np.full(n_groups + len(names), NULL, dtype=np.int32)
    for child, parent in above.items():
        parents[place[child]] = place[parent]
    for member in place.values():
        steps, at = 0, member
        while parents[at] != NULL:
            at, steps = int(parents[at]), steps + 1
            if steps > parents.size:
                raise ParameterError(
                    "parents", kin.parents, "a dict without a circle", shown="one in which a "
                    "group is an ancestor of itself",
                )  # fmt: skip
    return parents, names


def _by_rows(kin: Kin, found: RowGroups, n_rows: int) -> dict[Any, Any]:
    """Return the parent of each group, given those of the rows."""
    of_row = labels_of(kin.groups, n_rows, "groups")
    above: dict[Any, Any] = {}
    for group, parent in zip(of_row, labels_of(kin.parents, n_rows, "parents"), strict=True):
        if group is None or group not in found.names:
            continue
        if above.setdefault(group, parent) != parent:
            raise ParameterError(
                "parents",
                kin.parents,
                "the same for all rows of a group",
                "make groups of both columns together",
                shown=f"{above[group]!r} and {parent!r} in group {group!r}",
            )
    both = [name for name in dict.fromkeys(above.values()) if name in found.names]
    if both:
        raise ParameterError(
            "parents",
            kin.parents,
            "named unlike the groups",
            "where groups with rows are parents of others, give a dict {group: parent}",
            shown=f"{both[0]!r}, which is a group, too",
        )
    return above
