"""Columns of tables as people name them: by name, position, range or pattern."""

from __future__ import annotations

import csv
import difflib
import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase

MOST_SHOWN = 10  # columns in the message that there is no such column


def split_list(text: str) -> list[str]:
    """Split a list at its commas; quotes keep a comma inside a name.

    Examples
    --------
    >>> from sticktree.data.sources.naming import split_list
    >>> split_list('a,"b,c",2-4')
    ['a', 'b,c', '2-4']
    """
    rows = list(csv.reader([text], skipinitialspace=True))
    return [part for row in rows for part in row if part.strip()]


def pick_columns(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the columns that are asked for, in the order of the table.

    Parameters
    ----------
    names : sequence of str
        The columns of the table.
    wanted : sequence of str
        Each a name, a position from 0, a range of positions such as "2-5" or "2-", or a pattern
        such as "gene*". Names come first: a column called "3" is not the fourth.

    Examples
    --------
    >>> from sticktree.data.sources.naming import pick_columns
    >>> pick_columns(["id", "x0", "x1", "y"], ["x*", "3"])
    ['x0', 'x1', 'y']
    """
    found: set[int] = set()
    for word in wanted:
        found.update(_positions(names, word))
    return [names[k] for k in sorted(found)]


def pick_column(names: Sequence[str], wanted: str) -> str:
    """Return one column, given by its name or position."""
    if wanted in names:
        return wanted
    if wanted.isdecimal() and int(wanted) < len(names):
        return names[int(wanted)]
    raise ValueError(_unknown(names, wanted))


def distinct(names: Sequence[str]) -> list[str]:
    """Return names that are all different: a, a.1, a.2, as pandas has them; none stays empty.

    Examples
    --------
    >>> from sticktree.data.sources.naming import distinct
    >>> distinct(["a", "a", "", "a.1"])
    ['a', 'a.2', 'Unnamed: 2', 'a.1']
    """
    names = [name if name.strip() else f"Unnamed: {k}" for k, name in enumerate(names)]
    taken, seen = set(names), Counter[str]()
    result = []
    for name in names:
        new = name
        while seen[name] and new in taken:
            new = f"{name}.{seen[name]}"
            seen[name] += new in taken
        seen[name] += 1
        taken.add(new)
        result.append(new)
    return result


def _positions(names: Sequence[str], word: str) -> list[int]:
    if word in names:
        return [names.index(word)]
    if word.isdecimal() and int(word) < len(names):
        return [int(word)]
    span = re.fullmatch(r"(\d+)\s*-\s*(\d*)", word)
    if span:
        first, last = int(span[1]), int(span[2] or len(names) - 1)
        if first <= last < len(names):
            return list(range(first, last + 1))
    matching = [k for k, name in enumerate(names) if fnmatchcase(name, word)]
    if matching:
        return matching
    raise ValueError(_unknown(names, word))


def _unknown(names: Sequence[str], word: str) -> str:
    near = difflib.get_close_matches(word, names, 1, 0.6)
    lower = {name.lower(): name for name in names}
    guess = near[0] if near else lower.get(word.lower())
    if guess is not None:
        return f"there is no column {word!r}; did you mean {guess!r}?"
    if re.fullmatch(r"\d+(\s*-\s*\d*)?", word):
        return f"there is no column {word!r}: positions are 0 to {len(names) - 1}"
    shown = ", ".join(map(repr, names[:MOST_SHOWN])) + ", …" * (len(names) > MOST_SHOWN)
    return f"there is no column {word!r}; the columns are {shown}"
