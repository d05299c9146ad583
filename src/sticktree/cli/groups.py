"""Groups of rows and their conditions, as columns of a file have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

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


def groups_of(folder: RunFolder, table: FileTable) -> list[str | None] | None:
    """Return the groups of new rows, if the run has groups and the file their column."""
    name = folder.record["columns"].get("group")
    if name not in table.names or folder.estimator.fit_.training.groups is None:
        return None
    return table.words(name)
