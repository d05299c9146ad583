"""The groups of rows as users give them: names, a column of the table, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.engine.numbering import renumbered
from sticktree.errors import ParameterError, warn_caller
from sticktree.tree.arrays import NULL


class GroupsWarning(UserWarning):
    """Groups that say little, or too much."""


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The groups of the rows of a fit.

    Attributes
    ----------
    names : tuple
        Names of the groups, text or numbers, in their order.
    of_data : int array, shape (N,)
        The group of each datum. Numbers beyond the names are of rows without a group, each of which
        is a group of its own.
    column : str or None
        The column of the table that has them.
    parents : int array, shape (J + C,), or None
        The number of the parent of each group, or −1; those from J on have no rows of their own.
    parent_names : tuple
        Names of parents that have no rows.
    in_order : bool
        Whether the groups are times that follow one another.
    parent_column : str or None
        The column of the table that has the parents.
    total : int or None
        How many groups there are, if rows of a stream that are gone belonged to others, too.
    """

    names: tuple[Any, ...]
    of_data: IntArray
    column: Any = None
    parents: IntArray | None = None
    parent_names: tuple[Any, ...] = ()
    in_order: bool = False
    parent_column: Any = None
    total: int | None = None

    @property
    def number(self) -> int:
        """How many groups there are, with those of rows that have no name."""
        return max(int(self.of_data.max()) + 1, self.total or 0)

    @property
    def parameter(self) -> str:
        """The name by which they were given."""
        return "times" if self.in_order else "groups"

    def numbers_of(self, groups: npt.ArrayLike, n_rows: int) -> IntArray:
        """Return the groups of other rows; −1 is one that is not known, or none.

        The name of a parent without rows stands for a new group of it, and a time that is not known
        for one after the last time before it: these have numbers below −1 (`Groups.asked`).
        """
        first = self.number
        place = {name: k for k, name in enumerate(self.names)}
        place |= {name: NULL - 1 - first - k for k, name in enumerate(self.parent_names)}
        labels = labels_of(groups, n_rows)
        return np.array([self._number(label, place) for label in labels], dtype=np.int32)

    def _number(self, label: Any, place: dict[Any, int]) -> int:
        if label in place or label is None or not self.in_order:
            return place.get(label, NULL)
        before = [k for k, name in enumerate(self.names) if in_order(name) < in_order(label)]
        return NULL - 1 - before[-1] if before else NULL

    def descent(self) -> dict[Any, tuple[int, ...]]:
        """Return the groups below each parent that has no rows of its own."""
        found: dict[Any, tuple[int, ...]] = {}
        if self.parents is None:
            return found
        first = self.number
        for k, name in enumerate(self.parent_names):
            below = [j for j in range(len(self.names)) if self._is_below(j, first + k)]
            found[name] = tuple(below)
        return found

    def _is_below(self, group: int, parent: int) -> bool:
        assert self.parents is not None
        while group not in (NULL, parent):
            group = int(self.parents[group])
        return group == parent

    def of_some(self, data: npt.NDArray[np.int64]) -> tuple[IntArray, IntArray | None]:
        """Return groups of some of the data, numbered without gaps, and their parents."""
        return renumbered(self.of_data[data], self.parents)[:2]


def read_groups(
    groups: Any,
    n_rows: int,
    rows: npt.NDArray[np.int64],
    column: Any = None,
    parameter: str = "groups",
    *,
    more_to_come: bool = False,
    have_parents: bool = False,
) -> RowGroups | None:
    """Return the groups of data, each of which is one of ``rows``; None if they tell nothing.

    That is so if there is one group, or if each row is a group of its own, unless there is
    ``more_to_come`` or these have parents.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.data.groups import read_groups
    >>> found = read_groups(["b", "a", None, "b"], 4, np.arange(4))
    >>> found.names, found.of_data
    (('a', 'b'), array([1, 0, 2, 1], dtype=int32))
    """
    labels = labels_of(groups, n_rows, parameter)
    used = [labels[row] for row in np.unique(rows).tolist()]
    names = sorted({name for name in used if name is not None}, key=in_order)
    if not names:
        expected = "a name for some row"
        raise ParameterError(parameter, groups, expected, verb="have", shown="none at all")
    if len(names) == 1 and None not in used and not more_to_come:
        warn_caller(
            f"{parameter}: all rows are of one {parameter[:-1]}, {names[0]!r}, and there is "
            "nothing to compare: the fit is as without groups",
            GroupsWarning,
        )
        return None
    place = {name: k for k, name in enumerate(names)}
    numbers, n_groups = np.empty(n_rows, dtype=np.int32), len(names)
    for row in np.unique(rows).tolist():
        if labels[row] is None:
            numbers[row], n_groups = n_groups, n_groups + 1
        else:
            numbers[row] = place[labels[row]]
    if n_groups == len(used) and not (have_parents or more_to_come):
        warn_caller(
            f"{parameter}: each of the {n_groups:,} rows is a group of its own, and a row alone "
            "has no shares: the fit is as without groups. Give what several rows have in common, "
            "such as the patient or the day; names of rows are no groups",
            GroupsWarning,
        )
        return None
    return RowGroups(tuple(names), numbers[rows], column)


def join_groups(
    known: RowGroups,
    n_left: npt.NDArray[np.int64],
    groups: Any,
    n_rows: int,
    parameter: str = "groups",
) -> tuple[RowGroups, npt.NDArray[np.int64]]:
    """Return the groups of new rows together with those known, and the new number of each of these.

    Groups of which no row is left, by ``n_left``, are no more: their new number is −1.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.data.groups import join_groups, read_groups
    >>> known = read_groups(["b", "d", None, "d"], 4, np.arange(4))
    >>> found, place = join_groups(known, np.array([0, 2, 1]), ["c", None, "d"], 3)
    >>> found.names, found.of_data, found.total, place
    (('c', 'd'), array([0, 3, 1], dtype=int32), 4, array([-1,  1,  2]))
    """
    labels = labels_of(groups, n_rows, parameter)
    kept = [name for name, n in zip(known.names, n_left, strict=False) if n]
    names = sorted({*kept, *(name for name in labels if name is not None)}, key=in_order)
    if not names:
        expected = "a name for some row, as all groups of batches before are forgotten"
        raise ParameterError(parameter, groups, expected, verb="have", shown="none at all")
    number = {name: k for k, name in enumerate(names)}
    place = np.full(known.number, NULL, dtype=np.int64)
    for k, name in enumerate(known.names):
        place[k] = number.get(name, NULL)
    n_names, total = len(known.names), len(names)
    unnamed = np.flatnonzero(n_left[n_names:]) + n_names
    place[unnamed] = total + np.arange(unnamed.size)
    total += unnamed.size
    of_data = np.empty(n_rows, dtype=np.int32)
    for row, label in enumerate(labels):
        of_data[row] = total if label is None else number[label]
        total += label is None
    return RowGroups(tuple(names), of_data, known.column, total=total), place


def _in_chunks(X: Any) -> bool:  # noqa: N803
    """Return whether a table is a ``ChunkedTable``, which rows that know groups cannot import."""
    return hasattr(X, "select") and hasattr(X, "words")


def take_column(
    X: Any,  # noqa: N803
    groups: Any,
    parameter: str = "groups",
) -> tuple[Any, Any, Any]:
    """Return a table without the column that has its groups, these, and the name of the column.

    ``groups`` is a name only if it is text and the table has a column of that name.
    """
    if not isinstance(groups, str):
        return X, groups, None
    columns = X.names if _in_chunks(X) else getattr(X, "columns", None)
    known = [] if columns is None else [str(name) for name in columns]
    if groups not in known:
        expected = "the name of a column of the table, or one name for each row"
        shown = f"{groups!r}" + (f", where the columns are {', '.join(known)}" if known else "")
        raise ParameterError(parameter, groups, expected, shown=shown)
    if _in_chunks(X):
        place = known.index(groups)
        others = [k for k in range(len(known)) if k != place]
        return X.select(others), X.select([place]).words(), groups
    taken = X[groups]
    rest = X.drop(groups) if hasattr(X, "to_pandas") else X.drop(columns=[groups])
    return rest, taken, groups


def labels_of(groups: Any, n_rows: int, parameter: str = "groups") -> list[Any]:
    """Return the name of the group of each row as plain text or number; None if it has none."""
    values = groups.to_list() if hasattr(groups, "to_list") else groups
    try:
        given = list(values)
    except TypeError:
        given = []
    if isinstance(groups, str) or len(given) != n_rows or any(map(np.ndim, given)):
        shown = f"{len(given)} entries" if len(given) != n_rows else f"{groups!r}"
        expected = f"one name for each of the {n_rows} rows"
        raise ParameterError(parameter, groups, expected, verb="have", shown=shown)
    return [plain_name(value) for value in given]


def plain_name(value: Any) -> Any:
    """Return a name as plain text or number, or None if it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value != value or str(value) in ("<NA>", "NaT"):
        return None
    return value if type(value) in (str, int, float, bool) else str(value)


def in_order(name: Any) -> tuple[bool, Any]:
    """Sort numbers before text, so that mixed names have an order."""
    return (True, name) if isinstance(name, str) else (False, float(name))
