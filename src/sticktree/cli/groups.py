"""Groups of rows and their conditions, as columns of a file have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sticktree.cli.runs import RunFolder
    from sticktree.data.sources.file_table import FileTable


def conditions_of(groups: Sequence[str | None], conditions: Sequence[str | None]) -> dict[str, str]:
    """Return the condition of each group, of those of the rows; raise if they cannot be compared.

    All rows of a group must have the same, and some groups of a condition must show how they vary.
    """
    found: dict[str, str] = {}
    for group, condition in zip(groups, conditions, strict=True):
        if group is None or condition is None:
            continue
        if found.setdefault(group, condition) != condition:
            raise ValueError(
                f"--condition: group {group!r} has rows of {found[group]!r} and of {condition!r}; "
                "a condition is one of whole groups: make groups of both columns together"
            )
    sizes = sorted(Counter(found.values()).values())
    if len(sizes) < 2 or sum(sizes[:2]) < 3:
        got = ", ".join(f"{name!r} with {n}" for name, n in Counter(found.values()).items())
        raise ValueError(
            "--condition: there must be two conditions at least, and three groups in any two, to "
            f"tell how much groups vary; got {got or 'none'}"
        )
    return found


def in_order(words: Sequence[str | None]) -> list[Any]:
    """Return times as they are ordered: numbers if all are, else text, as dates of ISO 8601 are."""
    try:
        return [None if word is None else _number(word) for word in words]
    except ValueError:
        return list(words)


def _number(word: str) -> int | float:
    try:
        return int(word)
    except ValueError:
        return float(word)


def groups_of(folder: RunFolder, table: FileTable) -> list[Any] | None:
    """Return the groups of new rows, if the run has groups and the file their column."""
    if folder.estimator.fit_.training.groups is None:
        return None
    columns = folder.record["columns"]
    if columns.get("group") in table.names:
        return list(table.words(columns["group"]))
    if columns.get("time") in table.names:
        return in_order(table.words(columns["time"]))
    return None
