"""How a text file is laid out: what separates its cells, and whether its first row has names."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter

__all__ = ["DELIMITERS", "WHITESPACE", "find_delimiter", "is_number", "names_in_first_row"]

WHITESPACE = "whitespace"
"""Any run of spaces and tabs."""
# Commas come last: where cells are separated by something else, commas may be inside numbers.
DELIMITERS = ("\t", ";", "|", ",")
LINES_SEEN = 50


def find_delimiter(text: str) -> str:
    r"""Return what separates the cells: the first that cuts all of the first lines alike.

    Examples
    --------
    >>> from sticktree.data.sources.reading.dialect import find_delimiter
    >>> find_delimiter("length;width\n1,5;2,5\n")
    ';'
    """
    lines = [line for line in itertools.islice(io.StringIO(text), LINES_SEEN) if line.strip()]
    shares = {}
    for delimiter in DELIMITERS:
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
        except csv.Error:  # a cell longer than any: the delimiter is another one
            continue
        width, often = max(widths.items(), key=lambda pair: (pair[1], pair[0]), default=(1, 0))
        if width > 1:
            shares[delimiter] = often / widths.total()
    if shares:
        # Rows of different lengths are an error, but of which file? Of the likeliest.
        return max(shares, key=lambda delimiter: shares[delimiter])
    cells = [line.split() for line in lines]
    flat = list(itertools.chain.from_iterable(cells))
    if len({len(row) for row in cells}) == 1 and len(cells[0]) > 1:
        numbers = sum(map(is_number, flat))
        if 2 * numbers > len(flat):
            return WHITESPACE
    return ","


def names_in_first_row(cells: list[str]) -> bool:
    """Tell whether a first row has names: not if all that is in it are numbers."""
    present = [cell for cell in cells if cell.strip()]
    return not present or not all(map(is_number, present))


def is_number(cell: str, decimal: str = ".") -> bool:
    """Tell whether a cell is a number."""
    try:
        float(cell if decimal == "." else cell.replace(decimal, "."))
    except ValueError:
        return False
    return "_" not in cell  # 1_000 is a number for Python alone
