"""The columns of a file in their roles: what is fitted, what names and classes the rows have."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sticktree.cli.fit_options import naming_options
from sticktree.cli.table_options import telling_options
from sticktree.data.sources.reading.dialect import is_number

if TYPE_CHECKING:
    from sticktree.data import Columns
    from sticktree.data.sources.reading import FileTable

__all__ = ["Rows", "checked_columns", "fitted_columns", "rows_of", "spoken_columns"]


@dataclass(frozen=True)
class Rows:
    """The rows of a file, each column in its role."""

    frame: Any  # or a table that is read in chunks
    ids: list[str] | None
    labels: list[str | None] | None
    weights: list[float] | None
    roles: dict[str, Any]

    @property
    def missing_cells(self) -> int | None:
        """How many cells are missing, if all were read."""
        if not hasattr(self.frame, "isna"):
            return None
        return int(self.frame.isna().to_numpy().sum())


def fitted_columns(
    names: list[str], chosen: dict[str, Any]
) -> tuple[list[str], dict[str, str], dict[str, Any]]:
    """Return which columns are fitted, kinds that were declared, and the roles of the others."""
    from sticktree.data.sources.reading.names import pick_column, pick_columns

    def named(option: str, pick: Any, wanted: Any) -> Any:
        try:
            return pick(names, wanted)
        except ValueError as error:
            raise ValueError(f"--{option}: {error}") from None

    roles: dict[str, Any] = {
        role: named(role, pick_column, chosen[role]) if role in chosen else None
        for role in ("label", "id", "weights")
    }
    taken = {name: role for role, name in roles.items() if name is not None}
    if len(taken) < sum(name is not None for name in roles.values()):
        twice = Counter(roles.values()).most_common(1)[0][0]
        raise ValueError(f"column {twice!r} can be one of --label, --id and --weights only")
    fitted = [name for name in names if name not in taken]
    if "columns" in chosen:
        fitted = named("columns", pick_columns, chosen["columns"])
    dropped = named("drop", pick_columns, chosen.get("drop", []))
    for name in fitted:
        if name in taken and "columns" in chosen:
            raise ValueError(f"column {name!r} is in --columns and --{taken[name]}: choose one")
    fitted = [name for name in fitted if name not in dropped]
    if not fitted:
        raise ValueError(
            f"no column is left to fit: the file has {', '.join(map(repr, names[:10]))}"
        )
    kinds = {named("kinds", pick_column, k): v for k, v in chosen.get("kinds", {}).items()}
    for name in kinds:
        if name not in fitted:
            raise ValueError(f"--kinds: column {name!r} is not fitted")
    roles["kinds"] = kinds
    roles["ignored"] = [name for name in names if name not in fitted and name not in taken]
    return fitted, kinds, roles


def rows_of(table: FileTable, chosen: dict[str, Any]) -> Rows:
    """Give every column its role."""
    fitted, kinds, roles = fitted_columns(table.names, chosen)
    with telling_options(fitting=True):
        frame = table.typed(fitted, kinds)
    weights = None if roles["weights"] is None else _weights(table, roles["weights"])
    ids = None
    if roles["id"] is not None:
        ids = [f"row {k}" if w is None else w for k, w in enumerate(table.words(roles["id"]))]
        name, often = Counter(ids).most_common(1)[0]
        if often > 1:
            print(
                f"warning: --id {roles['id']}: names are not all different, such as {name!r}, "
                f"which {often} rows have",
                file=sys.stderr,
            )
        frame.index = ids  # the estimator takes them as the names of its rows
    labels = None if roles["label"] is None else table.words(roles["label"])
    return Rows(frame, ids, labels, weights, roles)


def _weights(table: FileTable, name: str) -> list[float]:
    words = table.words(name)
    for row, word in enumerate(words):
        if word is None or not is_number(word):
            got = "nothing" if word is None else repr(word)
            raise ValueError(
                f"--weights: column {name!r} must hold numbers, got {got} in row {row}"
            )
    return [float(word) for word in words if word is not None]


def checked_columns(rows: Rows, chosen: dict[str, Any]) -> Columns:
    """Read the table as the estimator will, so that what is wrong is told before any work."""
    import numpy as np

    from sticktree.data import read_table
    from sticktree.data.training import expand

    empty = [name for name in rows.frame if rows.frame[name].isna().all()]
    if empty:
        names = shlex.quote(",".join(map(str, empty)))
        raise ValueError(f"these columns have no values at all: --drop {names}")
    with naming_options():
        try:
            columns = read_table(rows.frame, rows.roles["kinds"] or None).columns
        except ValueError as error:
            text = str(error)
            for wrong, right in (("names of rows say", "--id or --drop"), ("it says", "--drop")):
                if wrong in text:
                    raise ValueError(text.replace("remove it", f"give it to {right}")) from None
            raise
        if rows.weights is not None:
            expand(np.array(rows.weights), len(rows.frame))
    if chosen.get("noise") == "shared" and set(columns.kinds) != {"gaussian"}:
        others = sorted(set(columns.declared) - {"gaussian", "lognormal"})
        raise ValueError(
            f"--noise shared is for gaussian columns only, but there are {', '.join(others)} ones: "
            "say own, or leave it out"
        )
    return columns


def spoken_columns(columns: Columns) -> str:
    """Say what the columns are, and how to say that they are something else."""
    first, *rest = columns.describe().split("\n")
    if rest:
        whole = [name for name, flag in zip(columns.names, columns.whole, strict=True) if flag]
        shown = ", ".join(map(str, whole[:6])) + ", …" * (len(whole) > 6)
        hint = shlex.quote(f"{whole[0]}=poisson")
        first += f"\nwhole numbers are taken as gaussian: {shown} (for counts say --kinds {hint})"
    return first
