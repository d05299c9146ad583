"""How rows that leave memory are gathered in blocks, and blocks joined, so that little is lost.

What is lost is the scatter within blocks: rows of a block never part, though a later state might
have them in two leaves. So a leaf is cut into pieces, again and again the one with the largest
scatter, at its mean and along the column where it is widest. If a leaf has too many blocks, those
are joined whose scatter grows least.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray

__all__ = ["cut", "join"]

Places = npt.NDArray[np.int64]


def cut(x: FloatArray, leaf: Places, most: int) -> tuple[Places, Places]:
    """Cut the rows of each leaf into at most so many pieces.

    Returns the piece of each row, and the leaf of each piece. Missing entries (NaN) are taken as
    the mean of the leaf.
    """
    of = np.empty(len(x), dtype=np.int64)
    leaves: list[int] = []
    order = np.argsort(leaf, kind="stable")
    ends = np.cumsum(np.bincount(leaf))
    for k, rows in enumerate(np.split(order, ends[:-1])):
        if not rows.size:
            continue
        y = x[rows]
        gaps = np.isnan(y)
        if gaps.any():
            seen = np.maximum((~gaps).sum(axis=0), 1)
            y = np.where(gaps, np.nansum(y, axis=0) / seen, y)
        for piece in _pieces(y, most):
            of[rows[piece]] = len(leaves)
            leaves.append(k)
    return of, np.array(leaves, dtype=np.int64)


def _pieces(x: FloatArray, most: int) -> list[Places]:
    """Cut the piece of the largest scatter until there are enough."""
    pieces = [np.arange(len(x))]
    scatter = [_scatter(x)]
    while len(pieces) < most:
        worst = int(np.argmax([column.max() for column in scatter]))
        d = int(np.argmax(scatter[worst]))
        if not scatter[worst][d] > 0.0:
            break
        rows = pieces[worst]
        values = x[rows, d]
        low = values <= values.mean()
        if low.all():  # all but the same, up to rounding
            break
        for at, part in ((worst, rows[low]), (len(pieces), rows[~low])):
            pieces[at : at + 1] = [part]
            scatter[at : at + 1] = [_scatter(x[part])]
    return pieces


def _scatter(x: FloatArray) -> FloatArray:
    return np.asarray(((x - x.mean(axis=0)) ** 2).sum(axis=0))


def join(n: Places, mean: FloatArray, leaf: Places, most: int) -> tuple[Places, int]:
    """Join blocks of the same leaf until none has more than so many.

    Returns into which each goes, and how many there are then.
    """
    into = np.arange(leaf.size)
    for k in np.flatnonzero(np.bincount(leaf, minlength=1) > most):
        here = np.flatnonzero(leaf == k)
        into[here] = here[_joined(n[here].astype(np.float64), mean[here], most)]
    kept, place = np.unique(into, return_inverse=True)
    return place.astype(np.int64), kept.size


def _joined(n: FloatArray, mean: FloatArray, most: int) -> Places:
    """Join the two whose scatter grows least, again and again; return the first of each."""
    n, mean = n.copy(), mean.copy()
    into = np.arange(n.size)
    away = ((mean[:, None, :] - mean) ** 2).sum(axis=2)
    cost = away * (n[:, None] * n / (n[:, None] + n))
    np.fill_diagonal(cost, np.inf)
    for _ in range(n.size - most):
        a, b = sorted(divmod(int(np.argmin(cost)), n.size))
        mean[a] = (n[a] * mean[a] + n[b] * mean[b]) / (n[a] + n[b])
        n[a] += n[b]
        into[into == b] = a
        cost[b, :] = cost[:, b] = np.inf
        away = ((mean - mean[a]) ** 2).sum(axis=1)
        fresh = np.where(np.isinf(cost[a]), np.inf, away * n[a] * n / (n[a] + n))
        cost[a, :] = cost[:, a] = fresh
    return into
