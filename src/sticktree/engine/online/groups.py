"""The groups of a stream: more of them than the rows in memory belong to."""

from __future__ import annotations

from dataclasses import dataclass

from sticktree.model import Groups


@dataclass(frozen=True, eq=False)
class StreamedGroups(Groups):
    """Groups of the newest rows, and of others that have left memory.

    Attributes
    ----------
    total : int
        How many groups there are.
    """

    total: int = 0

    @property
    def number(self) -> int:
        """How many groups there are."""
        return max(super().number, self.total)
