"""What the columns of a table are for: a plan that is shown before the work, and can be changed.

Tables as people have them hold names of rows, dates, notes and empty columns beside what is to be
fitted. A plan says of every column what it holds and what it is taken as, with reasons; whatever is
asked for by name comes first. Nothing is taken out of a table that the plan does not tell of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sticktree.data.columns import nearest, split_pair
from sticktree.data.contents import CLASSES, CODES, Content, Suggestion, short, suggested
from sticktree.data.frames import read
from sticktree.engine.own.kinds import DECLARED, KINDS
from sticktree.engine.own.kinds.categorical import FEW, MOST_CATEGORIES
from sticktree.errors import ParameterError

ROLES = ("id", "label", "weights", "group", "condition", "parent", "time", "drop")
"""What a column can be that is not fitted."""
DATES = ("days", "days-dmy", "days-mdy")
"""What dates are that are to be fitted as numbers."""
MEANINGS = {
    "id": "names of the rows",
    "label": "label, not fitted",
    "weights": "weights of the rows",
    "group": "groups of the rows",
    "condition": "conditions of the groups",
    "parent": "parents of the groups",
    "time": "times of the rows",
    "drop": "left out",
}
WIDE = 12  # columns up to which each has a line


@dataclass(frozen=True, eq=False)
class PlannedColumn:
    """A column of a plan.

    Attributes
    ----------
    content : Content
        What it holds.
    role : {"fit", "id", "label", "weights", "group", "condition", "parent", "time", "drop"}
        What it is for.
    kind : str or None
        Its kind, if it is fitted: given, or what its type says.
    reason : str
        Why it is not fitted.
    asked : bool
        Whether that was asked for.
    suggestion : Suggestion or None
        What it may be instead.
    """

    content: Content
    role: str
    kind: str | None = None
    reason: str = ""
    asked: bool = False
    suggestion: Suggestion | None = None

    @property
    def name(self) -> Any:
        """Its name."""
        return self.content.name

    def taken_as(self) -> str:
        """Return what it is taken as."""
        text = str(self.kind) if self.role == "fit" else MEANINGS[self.role]
        return f"{text}: {self.reason}" if self.reason else text

    def record(self) -> dict[str, Any]:
        """Return it as plain objects, for JSON."""
        found = {"column": self.name, "holds": self.content.words(), "taken as": self.taken_as()}
        found["asked for"] = self.asked
        if self.content.notes:
            found["notes"] = list(self.content.notes)
        if self.suggestion is not None:
            found["suggestion"] = self.suggestion.words(self.name)
        return found


@dataclass(frozen=True, eq=False)
class TablePlan:
    """What the columns of a table are taken as; print it.

    Parameters
    ----------
    contents : tuple of Content
        What the columns hold.
    asked : dict of str
        What some of them are to be: a kind, one of "id", "label", "weights", "group", "condition",
        "parent", "time" and "drop", or "days" for dates that are to be numbers. A key may name two
        columns, as in ``"hits/shots"``.
    only : collection or None, default=None
        Columns that may be fitted; None is all.
    """

    contents: tuple[Content, ...]
    asked: Mapping[Any, str] = field(default_factory=dict)
    only: Sequence[Any] | None = None

    @cached_property
    def columns(self) -> tuple[PlannedColumn, ...]:
        """The columns, each with what it is for."""
        pairs = self._pairs()
        planned = [self._planned(content, pairs) for content in self.contents]
        return tuple(self._named(planned))

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.contents[0].n_rows if self.contents else 0

    def of_role(self, role: str) -> list[Any]:
        """Return the names of the columns in a role."""
        return [column.name for column in self.columns if column.role == role]

    @property
    def fitted(self) -> list[Any]:
        """Names of the columns that are fitted."""
        return self.of_role("fit")

    @property
    def declared(self) -> dict[Any, str]:
        """Kinds that were asked for."""
        return {name: kind for name, kind in self.asked.items() if kind in DECLARED}

    @property
    def kinds(self) -> dict[Any, str]:
        """Kinds of all columns that are fitted, as ``columns`` of the estimators has them."""
        known, pairs = self.declared, self._pairs()
        others = [c for c in self.columns if c.role == "fit" and c.name not in {**known, **pairs}]
        return known | {column.name: str(column.kind) for column in others}

    @property
    def days(self) -> dict[Any, str]:
        """Columns of dates that are fitted as days."""
        return {name: kind for name, kind in self.asked.items() if kind in DATES}

    @property
    def open(self) -> dict[Any, tuple[str, ...]]:
        """Columns whose kind may be another, with the kinds that it may be."""
        return {
            column.name: column.suggestion.kinds
            for column in self.columns
            if column.role == "fit" and column.suggestion is not None and column.suggestion.kinds
        }

    @property
    def problems(self) -> list[Content]:
        """Columns that are to be fitted and cannot be read."""
        return [
            column.content
            for column in self.columns
            if column.role == "fit" and column.content.problem is not None
        ]

    def changed(self, asked: Mapping[Any, str]) -> TablePlan:
        """Return the plan with some columns as asked for.

        Examples
        --------
        >>> import pandas as pd
        >>> from sticktree import plan_table
        >>> frame = pd.DataFrame({"visits": [0, 3, 1, 12], "ward": list("abab")})
        >>> plan_table(frame).changed({"visits": "poisson", "ward": "label"}).fitted
        ['visits']
        """
        return replace(self, asked={**self.asked, **checked_roles(asked, self._names)})

    def select(self, frame: Any) -> Any:
        """Return the fitted columns of a data frame, with the rows of pandas' named if they can be.

        Dates that are fitted become days since the beginning of 1970.
        """
        if not hasattr(frame, "reset_index"):  # polars
            if self.days:
                shown = ", ".join(map(repr, self.days))
                raise ValueError(f"turn dates of polars into numbers first: {shown}")
            return frame.select(self.fitted)
        from sticktree.data.sources.file_table import FileTable

        table = FileTable(frame.reset_index(drop=True), False, {})
        found = table.typed(self.fitted, self.days)
        names = [name for name in self.of_role("id") if name in frame]
        found.index = [str(cell) for cell in frame[names[0]]] if names else frame.index
        return found

    # ---- the rules ------------------------------------------------------------------------------

    @property
    def _names(self) -> list[Any]:
        return [content.name for content in self.contents]

    def _pairs(self) -> dict[Any, str]:
        """Return the columns that are asked for two at a time, with the kind of each."""
        found: dict[Any, str] = {}
        for key, kind in self.asked.items():
            pair = KINDS[kind].pair if kind in KINDS else None
            both = None if pair is None else split_pair(key, self._names)
            if pair is not None and both is not None:
                found |= {both[0]: kind, both[1]: pair.kind}
        return found

    def _planned(self, content: Content, pairs: Mapping[Any, str]) -> PlannedColumn:
        asked = pairs.get(content.name) or self.asked.get(content.name)
        if asked in ROLES:
            return PlannedColumn(content, str(asked), asked=True)
        if asked in DATES:
            return PlannedColumn(content, "fit", "gaussian", "days since 1970", asked=True)
        if asked is not None:
            return PlannedColumn(content, "fit", asked, asked=True)
        if self.only is not None and content.name not in self.only:
            return PlannedColumn(content, "drop", asked=True)
        why = self._in_the_way(content)
        if why is not None:
            return PlannedColumn(content, "drop", reason=why)
        if content.is_number:
            return PlannedColumn(content, "fit", "gaussian", suggestion=suggested(content))
        kind = "bernoulli" if content.type == "bool" else "categorical"
        suggestion = None
        if CLASSES.fullmatch(str(content.name)):
            suggestion = Suggestion("known classes?", (), label=True)
        return PlannedColumn(content, "fit", kind, suggestion=suggestion)

    def _in_the_way(self, content: Content) -> str | None:
        """Return why a column is not fitted, if it is not."""
        if content.problem is not None:
            return None
        if content.type == "nothing":
            return "no values"
        if content.type == "dates":
            return f"dates; as numbers: {content.name}=days"
        if len(content.distinct) == 1 and self.n_rows > 1:
            return "always the same"
        if content.numbers_rows:
            return "numbers of the rows"
        if content.type != "text":
            return None
        n_distinct, n_present = len(content.distinct), len(content.present)
        if n_distinct == n_present > FEW:
            return "another text in every row"
        if n_distinct > MOST_CATEGORIES or (n_distinct > CODES and 2 * n_distinct > n_present):
            return "free text, or almost"
        return None

    def _named(self, planned: Iterable[PlannedColumn]) -> Iterable[PlannedColumn]:
        """Let a column name the rows, if one can: the first of text, or else of numbers."""
        planned = list(planned)
        if any(column.role == "id" for column in planned):
            return planned
        free = [column for column in planned if column.role == "drop" and not column.asked]
        texts = [c for c in free if c.reason == "another text in every row" and _is_full(c)]
        numbers = [column for column in free if column.content.numbers_rows]
        for chosen in [*texts, *numbers][:1]:
            others = [str(column.name) for column in texts if column is not chosen]
            why = f"so could {', '.join(others)}" if others else ""
            named = replace(chosen, role="id", reason=why)
            return [named if column is chosen else column for column in planned]
        return planned

    # ---- words ----------------------------------------------------------------------------------

    def record(self) -> list[dict[str, Any]]:
        """Return the plan as plain objects, for JSON."""
        return [column.record() for column in self.columns]

    def __str__(self) -> str:
        """Return the plan as a table."""
        lines = self._lines()
        widths = [max((len(line[k]) for line in lines), default=0) for k in range(2)]
        return "\n".join(
            f"  {first:<{widths[0]}}  {second:<{widths[1]}}  {third}".rstrip()
            for first, second, third in lines
        )

    __repr__ = __str__

    def _lines(self) -> list[tuple[str, str, str]]:
        if len(self.columns) <= WIDE:
            return [_line([column]) for column in self.columns]
        groups: dict[tuple[Any, ...], list[PlannedColumn]] = {}
        for column in self.columns:
            question = None if column.suggestion is None else column.suggestion.question
            alike: tuple[Any, ...] = (column.role, column.kind, question)
            alike += (column.reason.split(":")[0],)
            alike += (column.content.type, column.content.notes, column.content.problem)
            if column.role in ROLES[:-1]:
                alike += (column.name,)
            groups.setdefault(alike, []).append(column)
        return [_line(group) for group in groups.values()]


def _is_full(column: PlannedColumn) -> bool:
    return len(column.content.present) == column.content.n_rows


def _line(columns: Sequence[PlannedColumn]) -> tuple[str, str, str]:
    """Return the cells of a line for columns that are alike."""
    first = columns[0]
    name, holds = short(str(first.name)), first.content.words()
    taken = first.taken_as()
    if first.content.notes:
        holds += f" ({', '.join(first.content.notes)})"
    if first.content.problem is not None:
        taken = "cannot be read"
    elif first.suggestion is not None:
        taken += f" – {first.suggestion.words(first.name)}"
    if len(columns) == 1:
        return name, holds, taken
    if first.content.is_number and first.role == "fit":
        low = min(float(np.min(column.content.present)) for column in columns)
        high = max(float(np.max(column.content.present)) for column in columns)
        missing = sum(column.content.n_rows - len(column.content.present) for column in columns)
        what = "whole numbers" if all(c.content.is_whole for c in columns) else "numbers"
        holds = f"{what}, {low:.6g} to {high:.6g}" + f", {missing:,} missing" * bool(missing)
        holds += f" ({', '.join(first.content.notes)})" if first.content.notes else ""
    return f"{name}, … ({len(columns)} columns)", holds, taken


def checked_roles(asked: Mapping[Any, str], names: Sequence[Any]) -> dict[Any, str]:
    """Return what columns are to be, or raise if there is no such column or role."""
    known = (*DECLARED, *ROLES, *DATES)
    for key, word in asked.items():
        if word not in known:
            expected = f"one of {', '.join(known)}{nearest(word, known)}"
            raise ParameterError(f"asked[{key!r}]", word, expected)
        pair = split_pair(key, names) if word in KINDS and KINDS[word].pair is not None else None
        for name in pair or (key,):
            if name not in names:
                raise ParameterError("asked", name, f"names of columns{nearest(name, names)}")
    return dict(asked)


def plan_table(X: Any, asked: Mapping[Any, str] | None = None) -> TablePlan:  # noqa: N803
    """Plan what the columns of a data frame are for.

    Names of rows, dates, free text, empty and constant columns are not fitted; columns that look
    like counts, codes or are skewed get a suggestion. Whatever is asked for comes first.

    Parameters
    ----------
    X : DataFrame of pandas or polars
        The table.
    asked : dict of str, optional
        What columns are to be: a kind such as "poisson"; "id", "label", "weights", "group",
        "condition", "parent", "time" or "drop"; for dates "days".

    Returns
    -------
    TablePlan
        Print it. ``plan.select(X)`` has the columns to fit, and ``plan.kinds`` their kinds.

    Examples
    --------
    >>> import pandas as pd
    >>> from sticktree import plan_table
    >>> frame = pd.DataFrame({
    ...     "plant": [f"p{k:02d}" for k in range(12)],
    ...     "picked": pd.date_range("2021-03-01", periods=12),
    ...     "length": [k % 5 + 0.5 for k in range(12)],
    ...     "notes": [None] * 12,
    ... })
    >>> print(plan_table(frame))
      plant   another text in every row, such as 'p00'  names of the rows
      picked  dates, such as 2021-03-01                 left out: dates; as numbers: picked=days
      length  numbers, 0.5 to 4.5                       gaussian
      notes   nothing                                   left out: no values
    >>> plan_table(frame).select(frame).head(2)
         length
    p00     0.5
    p01     1.5
    """
    raws, _ = read(X)
    contents = tuple(map(Content.of, raws))
    names = [content.name for content in contents]
    return TablePlan(contents, checked_roles(asked or {}, names))
