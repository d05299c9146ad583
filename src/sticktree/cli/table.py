"""Tables that commands are given: a plan of what each column is for, and the rows in that form."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree.cli import to_be_read
from sticktree.cli.groups import conditions_of, in_order
from sticktree.cli.large import LOOKED_AT, LargeFile, check_shared, is_large, open_large
from sticktree.cli.reading import READING, naming_options, read_rows, sentences
from sticktree.data.sources.naming import pick_column, pick_columns
from sticktree.data.sources.numerals import is_number

if TYPE_CHECKING:
    from sticktree.data import Columns, Table
    from sticktree.data.planning import TablePlan
    from sticktree.data.sources.file_table import FileTable
    from sticktree.data.sources.tables import ChunkedTable

WHOLE = "--algorithm gibbs reads it whole"
NOT_FITTED = ("label", "id", "weights", "group", "condition", "parent", "time")
"""What a column can be by an option of its own."""
AUTO = "auto"
"""The kind that stands for those that leave-one-out prefers."""


@to_be_read()
def given_table(
    name: str, chosen: dict[str, Any], *, shared: bool = False
) -> FileTable | LargeFile:
    """Read a file, or open it if it is large or ``shared`` by the workers of a cluster."""
    if shared:
        check_shared(name, chosen)
    if shared or is_large(name, chosen):
        return open_large(name)
    return read_rows(name, {k: chosen[k] for k in READING if k in chosen})


def in_roles(table: FileTable | LargeFile, chosen: dict[str, Any]) -> Rows:
    """Give every column its role; errors come before any work."""
    if isinstance(table, LargeFile):
        return large_rows(table, chosen)
    return rows_of(table, chosen)


@dataclass(frozen=True)
class Rows:
    """The rows of a file, each column in its role."""

    table: Any  # a Table, or one that is read in chunks
    columns: Columns
    plan: TablePlan
    ids: list[str] | None = None
    labels: dict[str, list[str | None]] = field(default_factory=dict)
    weights: list[float] | None = None
    groups: list[str | None] | None = None
    conditions: dict[str, str] | None = None  # of each group
    parents: list[str | None] | None = None  # of the group of each row
    times: list[Any] | None = None
    missing_cells: int | None = None  # if all were read
    preferred: dict[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return what became of each column, for JSON."""
        one = {role: next(iter(self.plan.of_role(role)), None) for role in NOT_FITTED}
        kinds = zip(self.columns.names, self.columns.declared, strict=True)
        return {
            "fitted": {name: kind for name, kind in kinds if name in self.columns.given},
            **one,
            "labels": self.plan.of_role("label"),
            "conditions": self.conditions,
            "days": self.plan.days,
            "ignored": self.plan.of_role("drop"),
            "preferred": self.preferred,
            "plan": self.plan.record(),
        }


# ---- what is asked for --------------------------------------------------------------------------


def asked_of(
    names: Sequence[str], chosen: Mapping[str, Any]
) -> tuple[dict[str, str], list[str] | None]:
    """Return what columns are to be by the options, and which may be fitted.

    ``--kinds`` may say all there is to say of a column; the others are short for some of it.
    """
    from sticktree.data.columns import split_pair
    from sticktree.engine.own.kinds import KINDS

    asked: dict[str, str] = {}
    flags: dict[str, str] = {}

    def ask(name: str, what: str, flag: str) -> None:
        if asked.get(name, what) != what:
            raise ValueError(
                f"column {name!r} is in {flags[name]} and {flag}: it can be one of "
                f"{asked[name]} and {what} only"
            )
        asked[name], flags[name] = what, flag

    for option in NOT_FITTED:
        given = chosen.get(option, [])
        for word in [given] if isinstance(given, str) else given:
            ask(_named(f"--{option}", pick_column, names, word), option, f"--{option}")
    for name in _named("--drop", pick_columns, names, chosen.get("drop", [])):
        ask(name, "drop", "--drop")
    for key, what in chosen.get("kinds", {}).items():
        if key != AUTO:
            ask(_key(names, key, what), what, "--kinds")
    for role in NOT_FITTED[1:]:
        several = [name for name, what in asked.items() if what == role]
        if len(several) > 1:
            shown = " and ".join(map(repr, several))
            raise ValueError(f"--{role} can be one column only, got {shown}")
    if "condition" in asked.values() and "group" not in asked.values():
        raise ValueError("--condition is of groups: give these with --group")
    if "parent" in asked.values() and "group" not in asked.values():
        raise ValueError("--parent is of groups: give these with --group")
    if "time" in asked.values() and "group" in asked.values():
        raise ValueError("--time and --group cannot be given together: times are groups")
    if "parent" in asked.values() and "condition" in asked.values():
        raise ValueError(
            "--parent and --condition cannot be given together: the shares of parents are "
            "compared, too"
        )
    only = None
    if "columns" in chosen:
        only = _named("--columns", pick_columns, names, chosen["columns"])
        for key, what in asked.items():
            if what in KINDS and not set(split_pair(key, names) or [key]) <= set(only):
                raise ValueError(
                    f"--kinds: column {key!r} is not fitted, as it is not in --columns"
                )
        for name in only:
            if asked.get(name) in NOT_FITTED:
                raise ValueError(f"column {name!r} is in --columns and {flags[name]}: choose one")
    return asked, only


def _key(names: Sequence[str], key: str, kind: str) -> str:
    """Return the name of a column, or of two that are one, as --kinds has it."""
    from sticktree.data.columns import split_pair
    from sticktree.engine.own.kinds import KINDS

    both = split_pair(key, names) if kind in KINDS and KINDS[kind].pair is not None else None
    return "/".join(_named("--kinds", pick_column, names, part) for part in both or (key,))


def _named(flag: str, pick: Any, names: Sequence[str], wanted: Any) -> Any:
    try:
        return pick(names, wanted)
    except ValueError as error:
        raise ValueError(f"{flag}: {error}") from None


# ---- the plan, and rows by it -------------------------------------------------------------------


def plan_of(table: FileTable, chosen: dict[str, Any]) -> TablePlan:
    """Plan what the columns of a file are for."""
    from sticktree.data.planning import TablePlan

    asked, only = asked_of(table.names, chosen)
    for name in table.labels:
        asked.setdefault(name, "label")
    plan = TablePlan(_contents(table, asked), asked, only)
    if not plan.fitted:
        names = ", ".join(map(repr, table.names[:10]))
        raise ValueError(
            f"no column is left to fit: the file has {names}"
            + "".join(
                f"; {column.name!r} is {column.taken_as()}"
                for column in plan.columns[:10]
                if not column.asked
            )
        )
    return plan


def _contents(table: FileTable, asked: Mapping[str, str]) -> tuple[Any, ...]:
    """Return what the columns of a file hold, read as they are asked for."""
    from sticktree.data.contents import Content
    from sticktree.data.frames import read
    from sticktree.data.planning import DATES, ROLES
    from sticktree.engine.own.kinds import KINDS

    if not table.text:
        raws, _ = read(table.typed())
        return tuple(map(Content.of, raws))
    found = []
    for name in table.names:
        kind = asked.get(name)
        held = table.held(name, kind if kind in KINDS or kind in DATES else None)
        numbers = held.type in ("real", "integer")
        if numbers:
            values = np.asarray(held.values, dtype=np.float64)
            present: Any = values[~np.isnan(values)]
        else:
            present = [cell for cell in held.values if cell is not None]
        problem = None if kind in ROLES else held.problem
        content = Content(name, held.type, present, len(table), held.notes, problem, held.remedies)
        found.append(content)
    return tuple(found)


def rows_of(table: FileTable, chosen: dict[str, Any]) -> Rows:
    """Give every column its role; all that is wrong with the columns is said at once."""
    plan = plan_of(table, chosen)
    wrong = sentences((c.name, c.problem, c.remedies) for c in plan.problems)
    if wrong:
        many = f"{len(wrong)} columns cannot be read:\n  " if len(wrong) > 1 else ""
        raise ValueError(many + "\n  ".join(wrong))
    frame = table.typed(plan.fitted, plan.declared | plan.days)
    weights = ids = groups = conditions = None
    for name in plan.of_role("weights"):
        weights = _weights(table, name)
    for name in plan.of_role("id"):
        ids = [f"row {k}" if word is None else word for k, word in enumerate(table.words(name))]
        _warn_of_twins(name, ids)
    labels = {name: table.words(name) for name in plan.of_role("label")}
    for name in plan.of_role("group"):
        groups = table.words(name)
        for other in plan.of_role("condition"):
            conditions = conditions_of(groups, table.words(other))
    parents = [table.words(name) for name in plan.of_role("parent")]
    times = [in_order(table.words(name)) for name in plan.of_role("time")]
    read = _read(frame, plan.declared, weights, chosen)
    missing = int(np.isnan(read.values).sum())
    read = replace(read, names=None if ids is None else tuple(ids))
    return Rows(
        read,
        read.columns,
        plan,
        ids,
        labels,
        weights,
        groups,
        conditions,
        next(iter(parents), None),
        next(iter(times), None),
        missing,
    )


def with_kinds(
    table: FileTable,
    rows: Rows,
    chosen: dict[str, Any],
    known: Mapping[str, Any] | None,
    *,
    show: bool,
) -> Rows:
    """Return the rows with the kinds that leave-one-out prefers, if that is asked for.

    ``known`` has what was preferred when the run began, if it did before.
    """
    if AUTO not in chosen.get("kinds", {}) or not rows.plan.open:
        return rows
    if known is None:
        from sticktree.estimators.kinds import preferred_kinds

        frame = table.typed(rows.plan.fitted, rows.plan.declared | rows.plan.days)
        found = preferred_kinds(frame, rows.plan, random_state=chosen["seed"], progress=show)
        known = {name: {"kind": one.kind, "elpd": one.elpd} for name, one in found.items()}
    kinds = {name: one["kind"] for name, one in known.items()}
    again = rows_of(table, {**chosen, "kinds": {**chosen["kinds"], **kinds}})
    return replace(again, preferred=dict(known))


def preferences(rows: Rows) -> str:
    """Return in words which kinds were preferred, and by how much."""
    lines = ["kinds by leave-one-out log density, in nats a row:"]
    width = max(map(len, rows.preferred), default=0)
    for name, found in rows.preferred.items():
        order = sorted(found["elpd"].items(), key=lambda pair: -pair[1])
        figures = ", ".join(f"{kind} {elpd:.3f}" for kind, elpd in order)
        lines.append(f"  {name:<{width}}  {figures}")
    return "\n".join(lines)


def _warn_of_twins(column: str, ids: list[str]) -> None:
    name, often = Counter(ids).most_common(1)[0]
    if often > 1:
        print(
            f"warning: --id {column}: names are not all different, such as {name!r}, "
            f"which {often} rows have",
            file=sys.stderr,
        )


def _weights(table: FileTable, name: str) -> list[float]:
    words = table.words(name)
    for row, word in enumerate(words):
        if word is None or not is_number(word):
            got = "nothing" if word is None else repr(word)
            raise ValueError(
                f"--weights: column {name!r} must hold numbers, got {got} in row {row}"
            )
    return [float(word) for word in words if word is not None]


def _read(
    frame: Any, kinds: dict[str, str], weights: list[float] | None, chosen: dict[str, Any]
) -> Table:
    """Return the table as the estimator takes it; all that may be wrong with it is raised here."""
    from sticktree.data import ColumnError, read_table
    from sticktree.data.training import expand
    from sticktree.inference.candidates import check_noise

    with naming_options():
        try:
            table = read_table(frame, kinds or None)
        except ColumnError as error:
            options = "--id or --drop" if error.names_rows else "--drop"
            raise ValueError(f"{error.problem}; give it to {options}") from None
        if weights is not None:
            expand(np.array(weights), len(frame))
        check_noise(chosen.get("noise", "auto"), table.columns.kinds)
    return table


def described(plan: TablePlan, chosen: Mapping[str, Any]) -> str:
    """Return the plan in words, and how to change it."""
    lines = [f"columns, of which {len(plan.fitted)} of {len(plan.columns)} are fitted:", str(plan)]
    change = _example(plan.columns)
    if AUTO in chosen.get("kinds", {}):
        lines.append("kinds in question are compared by leave-one-out (--kinds auto)")
    elif plan.open:
        lines.append(f"to change this: {change}, or --kinds auto to have kinds compared")
    elif change:
        lines.append(f"to change this: {change}")
    return "\n".join(lines)


def left_out(plan: TablePlan) -> str:
    """Return in a line what is not fitted without being asked for, if anything is."""
    parts = [
        f"{column.name} ({column.taken_as()})"
        for column in plan.columns
        if column.role != "fit" and not column.asked
    ]
    return f"not fitted: {', '.join(parts)}" if parts else ""


def _example(columns: Iterable[Any]) -> str:
    """Return an option that changes what a plan has not been asked for."""
    changes = []
    for column in columns:
        if column.asked:
            continue
        if column.suggestion is not None:
            first = "label" if column.suggestion.label else column.suggestion.kinds[0]
            changes.append(f"{column.name}={first}")
        elif column.content.type == "dates":
            changes.append(f"{column.name}=days")
        elif column.role == "drop" and column.content.type == "text":
            unique = len(column.content.distinct) == len(column.content.present)
            changes.append(f"{column.name}={'id' if unique else 'categorical'}")
    if not changes:
        return ""
    return f"--kinds {shlex.quote(','.join(changes[:3]))}"


# ---- files that are not read whole --------------------------------------------------------------


def large_rows(file: LargeFile, chosen: dict[str, Any]) -> Rows:
    """Give every column its role; errors come before any work."""
    from sticktree.data.contents import Content
    from sticktree.data.planning import TablePlan

    of_groups = ("group", "condition", "parent", "time")
    for option in (*NOT_FITTED, "missing"):
        if option in chosen and option not in of_groups:
            raise ValueError(
                f"--{option} is not for tables that are read in chunks, such as {file.table.name}: "
                f"leave it out, or {WHOLE}"
            )
    asked, only = asked_of(file.names, chosen)
    for column, kind in asked.items():
        if kind not in ("gaussian", "drop", *of_groups):
            raise ValueError(
                f"--kinds: column {column!r} cannot be {kind} in a table that is read in chunks, "
                f"such as {file.table.name}: gaussian ones can, and {WHOLE}"
            )
    allowed = file.names if only is None else only
    fitted = [name for name in allowed if asked.get(name) not in ("drop", *of_groups)]
    words = {
        kind: [None if word is None else str(word) for word in _one(file, name).words()]
        for name, kind in asked.items()
        if kind in of_groups
    }
    groups, conditions = words.get("group"), None
    if groups is not None and "condition" in words:
        conditions = conditions_of(groups, words["condition"])
    times = in_order(words["time"]) if "time" in words else None
    if not fitted:
        raise ValueError(f"no column is left to fit: {', '.join(map(repr, file.names[:10]))}")
    table = file.table.select([file.names.index(name) for name in fitted])
    try:
        table.check_numbers()
    except ValueError as error:
        raise ValueError(f"{error}: --drop it, or {WHOLE}") from None
    some = table.read(0, LOOKED_AT)
    found = {name: column[~np.isnan(column)] for name, column in zip(fitted, some.T, strict=True)}
    contents = tuple(
        Content(name, "real", found[name], len(some))
        if found.get(name, some[:0]).size
        else Content(name, "nothing", [], len(some))
        for name in file.names
    )
    roles = {name: "gaussian" if name in found else asked.get(name, "drop") for name in file.names}
    plan = TablePlan(contents, roles)
    return Rows(
        table,
        _columns(some, fitted),
        plan,
        groups=groups,
        conditions=conditions,
        parents=words.get("parent"),
        times=times,
    )


def _one(file: LargeFile, name: str) -> ChunkedTable:
    """Return one column of a large file."""
    return file.table.select([file.names.index(name)])


def _columns(some: Any, names: Sequence[str]) -> Columns:
    """Tell what the columns are, by the first rows."""
    from sticktree.data import read_table
    from sticktree.optional import load_pandas

    some = some.copy()
    some[:, np.isnan(some).all(axis=0)] = 0.5  # there may be values further down
    return read_table(load_pandas().DataFrame(some, columns=list(names)), None).columns
