"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["table"]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; its columns are as wide as what is in them, so that text reads well too.

    Examples
    --------
    >>> print(table(["set", "rows"], [["R15", "600"]]))
    | set | rows |
    | --- | ---- |
    | R15 | 600  |
    """
    cells = [[_cell(text) for text in row] for row in (header, *rows)]
    widths = [max(3, *(len(row[k]) for row in cells)) for k in range(len(header))]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
