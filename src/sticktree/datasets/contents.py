"""What is read from a file, in whichever form."""

from __future__ import annotations

from typing import NamedTuple

from sticktree.checks import FloatArray

__all__ = ["Contents"]


class Contents(NamedTuple):
    """Numbers and names."""

    data: FloatArray
    columns: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    rows: tuple[str, ...] | None = None
