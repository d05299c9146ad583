"""Why a method is ahead of ours, or seems to be; shown where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sticktree.reproduce.methods import OURS

if TYPE_CHECKING:
    from sticktree.reproduce.table1 import Line

__all__ = ["remarks_on"]

ON_SETS: dict[str, str] = {}
"""What has to be known to read the table of a set."""
ON_METHODS: dict[tuple[str, str], str] = {}
"""By set and method: why it is ahead."""


def remarks_on(name: str, lines: Sequence[Line]) -> Iterator[str]:
    """Yield what has to be said about the table of a set."""
    if name in ON_SETS:
        yield ON_SETS[name]
    for line in lines:
        reason = ON_METHODS.get((name, line.method))
        if line.verdict == "behind" and reason:
            yield f"*{line.method} is ahead of {OURS}:* {reason}"
