"""Numbers and counts in words."""

from __future__ import annotations

from typing import Any


def many(count: int, one: str, several: str | None = None) -> str:
    """Return a count of things.

    Examples
    --------
    >>> from sticktree.present.words import many
    >>> many(1, "row"), many(1200, "row"), many(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def draws_in_words(posterior: Any) -> str:
    """Return how many chains and draws a posterior has."""
    return f"{many(posterior.n_chains, 'chain')}, {many(posterior.n_draws, 'draw')} each"


def number(value: float) -> str:
    """Write a number in four digits.

    Examples
    --------
    >>> from sticktree.present.words import number
    >>> number(13.640012), number(120000.0), number(3e-12)
    ('13.64', '120000', '3e-12')
    """
    rounded = float(f"{value:.4g}")
    if abs(rounded) < 1e7 and rounded == round(rounded):
        return str(int(rounded)).replace("-", "−")
    text = f"{rounded:.4g}"
    return "−" + text[1:] if rounded < 0 else text


def shortened(text: str, longest: int) -> str:
    """Return a text, or its beginning if it is long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
