"""Tables of lines, for people and for other programs: text, data frames and CSV."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sticktree.files import csv_pieces, write_pieces
from sticktree.optional import optional


class Writable:
    """What can be written as CSV."""

    def csv(self, safe: bool = True) -> Iterator[str]:
        """Yield the lines as CSV, some thousand at a time."""
        raise NotImplementedError

    def to_csv(
        self, path: str | os.PathLike[str] | None = None, *, safe: bool = True
    ) -> str | None:
        """Write the lines as CSV to a file; without a path, return them.

        Unless ``safe`` is False, text that a spreadsheet would compute, such as ``=1+1``, has an
        apostrophe in front.
        """
        if path is None:
            return "".join(self.csv(safe))
        write_pieces(Path(path), self.csv(safe))
        return None


class Lines(Writable):
    """A table whose lines are dicts with the same keys."""

    fields: tuple[str, ...]

    @property
    def table(self) -> list[dict[str, Any]]:
        """The lines as dicts."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the lines as a pandas DataFrame."""
        pandas = optional("pandas", extra="frames", asker="to_frame")
        return pandas.DataFrame(self.table, columns=list(self.fields))

    def csv(self, safe: bool = True) -> Iterator[str]:
        """Yield the lines as CSV, some thousand at a time; what is NaN is empty."""
        return csv_lines(self.table, self.fields, safe)


def csv_lines(
    lines: Sequence[Mapping[str, Any]], fields: Sequence[str], safe: bool = True
) -> Iterator[str]:
    """Yield lines as CSV; numbers have six digits, and what is NaN or None is empty."""
    return csv_pieces({name: [_cell(line[name]) for line in lines] for name in fields}, safe)


def aligned(lines: Sequence[Sequence[str]], left: Collection[int] = (0,), n_more: int = 0) -> str:
    """Return lines of cells as text: columns in ``left`` are flush left, others right.

    ``n_more`` is how many lines are left out.

    Examples
    --------
    >>> from sticktree.lines import aligned
    >>> print(aligned([["drug", "effect"], ["Lapatinib", "1.20"]]))
    drug       effect
    Lapatinib    1.20
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in lines
    ]
    if n_more:
        texts.append(f"… {n_more:,} more in to_frame() and to_csv()")
    return "\n".join(texts)


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else value
