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
    join_groups,
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
    if isinstance(groups, RowGroups):  # of a fit that goes on
        return groups
    if not isinstance(groups, Kin):
        return read_groups(groups, n_rows, rows, column, more_to_come=more_to_come)
    found = read_groups(
        groups.groups,
        n_rows,
        rows,
        column,
        groups.parameter,
        more_to_come=more_to_come,
        have_parents=True,
    )
    if found is None:
        return None
    found = replace(found, parent_column=groups.parent_column)
    if groups.parents is None:
        return _in_a_row(found)
    above = _given_parents(groups.groups, groups.parents, found, n_rows)
    gone = set(labels_of(groups.groups, n_rows, "groups")) - set(
        found.names
    )  # of rows that count 0
    above = {key: value for key, value in above.items() if key not in gone}
    if more_to_come:
        above = _above_these(found.names, above)
    _check_keys(groups.parents, above, {*found.names, *above.values()}, found.names)
    if not any(name in above for name in found.names):
        expected = "a parent of some group"
        shown = "none at all"
        raise ParameterError("parents", groups.parents, expected, verb="have", shown=shown)
    return _with_parents(found, above, groups.parents)


def join_kin(
    known: RowGroups, n_left: npt.NDArray[np.int64], groups: Any, parents: Any, n_rows: int
) -> tuple[RowGroups, npt.NDArray[np.int64]]:
    """Return the groups of new rows together with those known, as `join_groups` does, with parents.

    The new numbers are also those of parents without rows. ``parents`` are as for `Kin`; they may
    be left out where there are no new groups. Parents that nobody has any more are gone, and so is
    a time that is forgotten: the one after it has the one before as its parent.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.data.parents import Kin, join_kin, read_kin
    >>> known = read_kin(Kin(["p", "q"], ["new", "old"]), 2, np.arange(2))
    >>> found, place = join_kin(known, np.array([1, 0]), ["r", "p"], {"r": "new"}, 2)
    >>> found.names, found.parents, found.parent_names, place
    (('p', 'r'), array([ 2,  2, -1], dtype=int32), ('new',), array([ 0, -1,  2, -1]))
    """
    found, place = join_groups(known, n_left, groups, n_rows, known.parameter)
    if known.parents is None:
        return found, place
    if known.in_order:
        return _in_a_row(found), np.append(place, NULL)
    above = _more_parents(known, found, groups, parents, n_rows)
    found = _with_parents(found, _above_these(found.names, above), parents)
    found = replace(found, parent_column=known.parent_column)
    number = {name: k for k, name in enumerate(found.names)}
    number |= {name: found.number + k for k, name in enumerate(found.parent_names)}
    before = {name: k for k, name in enumerate(known.names)}
    before |= {name: known.number + k for k, name in enumerate(known.parent_names)}
    place = np.append(place, np.full(len(known.parent_names), NULL))
    for name, k in before.items():
        place[k] = number.get(name, NULL)
    return found, place


def _above_these(names: tuple[Any, ...], above: dict[Any, Any]) -> dict[Any, Any]:
    """Return the parents of groups, and of these, and no others."""
    kept = dict.fromkeys(names)
    for name in names:
        while name in above and above[name] not in kept:
            name = above[name]
            kept[name] = None
    return {name: above[name] for name in kept if name in above}


def _more_parents(
    known: RowGroups, found: RowGroups, groups: Any, parents: Any, n_rows: int
) -> dict[Any, Any]:
    """Return the parents of groups known and new by name."""
    assert known.parents is not None
    before = [*known.names, *[None] * (known.number - len(known.names)), *known.parent_names]
    above = {
        name: before[parent]
        for name, parent in zip(before, known.parents.tolist(), strict=True)
        if parent != NULL
    }
    new = [name for name in found.names if name not in known.names]
    if parents is None:
        if new:
            expected = "the parent of each group that is new"
            remedy = "one for each row, or a dict {group: parent} of those that have one"
            raise ParameterError("parents", None, expected, remedy, shown=f"none for {new[0]!r}")
        return above
    given = _given_parents(groups, parents, found, n_rows)
    both = [name for name in new if name in known.parent_names]
    if both and not isinstance(parents, Mapping):
        raise _parent_with_rows(parents, both[0])
    for name, parent in given.items():
        if name in before and above.get(name) != parent:
            expected = "the same as in the batches before"
            shown = f"{parent!r} of {name!r}, which had {above.get(name, 'none')!r}"
            raise ParameterError("parents", parents, expected, shown=shown)
    return above | given


def _in_a_row(found: RowGroups) -> RowGroups:
    """Return groups that are times, each with the one before as its parent."""
    n_times = len(found.names)
    parents = np.full(found.number + 1, NULL, dtype=np.int32)
    parents[1:n_times] = np.arange(n_times - 1)
    parents[-1] = n_times - 1  # a time to come
    _check_few(parents, "times", "gather them, such as days to weeks")
    return replace(found, parents=parents, in_order=True)


def _check_few(parents: IntArray, parameter: str, remedy: str | None) -> None:
    n_parents = np.unique(parents[parents != NULL]).size
    if n_parents > MOST_PARENTS:
        expected = f"at most {MOST_PARENTS} different ones"
        shown = f"{n_parents}"
        raise ParameterError(parameter, None, expected, remedy, verb="have", shown=shown)


def _given_parents(groups: Any, parents: Any, found: RowGroups, n_rows: int) -> dict[Any, Any]:
    """Return the parents of groups by name, as they are given for each row or as a dict."""
    if isinstance(parents, Mapping):
        above = {plain_name(key): plain_name(value) for key, value in parents.items()}
    else:
        above = _by_rows(groups, parents, found, n_rows)
    return {key: value for key, value in above.items() if value is not None}


def _check_keys(given: Any, above: dict[Any, Any], known: set[Any], names: tuple[Any, ...]) -> None:
    """Raise an error if a parent is given of what is neither a group nor a parent of some."""
    unknown = [key for key in above if key not in known]
    if unknown:
        listed = ", ".join(map(repr, names[:8])) + ", …" * (len(names) > 8)
        expected = f"a dict whose keys are groups or parents of some: {listed}"
        raise ParameterError("parents", given, expected, shown=f"{unknown[0]!r}")


def _with_parents(found: RowGroups, above: dict[Any, Any], given: Any) -> RowGroups:
    """Return groups with their parents, ``{child: parent}`` by name; ``given`` is what was."""
    n_groups, others = found.number, {name for name in above.values() if name not in found.names}
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
                shown = "one in which a group is an ancestor of itself"
                raise ParameterError("parents", given, "a dict without a circle", shown=shown)
    _check_few(parents, "parents", None)
    return replace(found, parents=parents, parent_names=names)


def _by_rows(groups: Any, parents: Any, found: RowGroups, n_rows: int) -> dict[Any, Any]:
    """Return the parent of each group, given those of the rows."""
    of_row = labels_of(groups, n_rows, "groups")
    above: dict[Any, Any] = {}
    for group, parent in zip(of_row, labels_of(parents, n_rows, "parents"), strict=True):
        if group is None or group not in found.names:
            continue
        if above.setdefault(group, parent) != parent:
            raise ParameterError(
                "parents",
                parents,
                "the same for all rows of a group",
                "make groups of both columns together",
                shown=f"{above[group]!r} and {parent!r} in group {group!r}",
            )
    both = [name for name in dict.fromkeys(above.values()) if name in found.names]
    if both:
        raise _parent_with_rows(parents, both[0])
    return above


def _parent_with_rows(parents: Any, name: Any) -> ParameterError:
    expected, shown = "named unlike the groups", f"{name!r}, which is a group, too"
    remedy = "where groups with rows are parents of others, give a dict {group: parent}"
    return ParameterError("parents", parents, expected, remedy, verb="be", shown=shown)
