"""Numbers and counts in words, as all that is shown has them, and rows on their principal axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sticktree.blas import one_thread
from sticktree.checks import FloatArray
from sticktree.tree.structure import SupportKind

SUPPORT_NAMES: dict[SupportKind, str] = {
    "support": "exact support",
    "transfer": "transfer support",
}
SUPPORT_MEANINGS: dict[SupportKind, str] = {
    "support": "the share of draws with exactly these rows",
    "transfer": "1 − the share of rows that would have to move to match a draw",
}


def principal_axes(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows on their first two principal axes.

    Returns
    -------
    places : float array, shape (N, 2)
    share : float array, shape (2,)
        The share of the variance on each axis.
    direction : float array, shape (D, 2)
        The axes, of length 1; 0 where there is no second one.
    """
    x = x - x.mean(axis=0)
    variance, direction = np.zeros(2), np.zeros((x.shape[1], 2))
    with one_thread():
        if x.shape[1] <= len(x):
            values, vectors = np.linalg.eigh(x.T @ x)
            values, vectors = values[::-1], vectors[:, ::-1]
        else:
            _, size, transposed = np.linalg.svd(x, full_matrices=False)
            values, vectors = size**2, transposed.T
    n_axes = min(2, values.size)
    variance[:n_axes] = np.maximum(values[:n_axes], 0.0)
    direction[:, :n_axes] = vectors[:, :n_axes]
    # The sign of an axis is free: its largest entry is positive, so that pictures stay alike.
    largest = direction[np.abs(direction).argmax(axis=0), [0, 1]]
    direction *= np.where(largest < 0, -1.0, 1.0)
    return x @ direction, variance / max(float((x**2).sum()), 1e-300), direction


# ---- numbers and counts in words -----------------------------------------------------------------


def many(count: int, one: str, several: str | None = None) -> str:
    """Return a count of things.

    Examples
    --------
    >>> from sticktree.present.table import many
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
    >>> from sticktree.present.table import number
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
