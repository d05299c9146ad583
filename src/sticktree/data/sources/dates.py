"""Dates and times in cells of text: which ways of writing fit a column, and days as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np

from sticktree.checks import FloatArray

EPOCH = datetime(1970, 1, 1)
FORMATS = (
    "%Y-%m-%d",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d",
    "%Y-%m",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d.%m.%y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d.%m.%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%H:%M:%S",
    "%H:%M",
)
"""Ways of writing dates, in the words of ``strptime``."""
LOOKED_AT = 20  # cells that rule out most ways


def formats_of(cells: Iterable[str]) -> list[str]:
    """Return the ways of writing dates that fit all cells; none if they are not dates.

    Examples
    --------
    >>> from sticktree.data.sources.dates import formats_of
    >>> formats_of(["2021-03-31"]), formats_of(["3/4/2021"]), formats_of(["31/4/2021", "x"])
    (['%Y-%m-%d'], ['%d/%m/%Y', '%m/%d/%Y'], [])
    """
    different = list(dict.fromkeys(cells))
    if not different or not any(c.isdigit() for c in different[0]):
        return []
    fitting = [form for form in FORMATS if _fits(different[:LOOKED_AT], form)]
    return [form for form in fitting if _fits(different[LOOKED_AT:], form)]


def _fits(cells: Sequence[str], form: str) -> bool:
    try:
        for cell in cells:
            datetime.strptime(cell, form)
    except ValueError:
        return False
    return True


def in_days(cells: Iterable[str], form: str) -> FloatArray:
    """Return days since the beginning of 1970; times alone are shares of a day.

    Examples
    --------
    >>> from sticktree.data.sources.dates import in_days
    >>> in_days(["1970-01-03"], "%Y-%m-%d").tolist(), in_days(["12:00"], "%H:%M").tolist()
    ([2.0], [0.5])
    """
    begin = EPOCH if "%d" in form or "%m" in form else datetime(1900, 1, 1)
    seconds = [(datetime.strptime(cell, form) - begin).total_seconds() for cell in cells]
    return np.array(seconds, dtype=np.float64) / 86_400.0
