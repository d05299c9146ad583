"""Rows that have left memory, as blocks: sums over rows that one leaf held when they left.

A block sits in a leaf as a row does, and chooses as a whole: leaf k weighs π_k^n Π f(y | θ_k), a
function of its sums. Rows of several groups may be in one: then it is Π_j π_jk^(n_j) in place of
π_k^n. Given the blocks nothing is approximate; but rows of a block never part.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.assign import cover
from sticktree.engine.bulk.components import KEY, NEXT_SALT, SALT, SWEEP, Components
from sticktree.engine.bulk.halves import Units, halve_one
from sticktree.engine.bulk.leanings import MOST
from sticktree.engine.bulk.philox import ASSIGN, philox, rank_of, uniform_of
from sticktree.engine.bulk.regrouped import in_other_groups
from sticktree.engine.bulk.sums import PRODUCTS, SQUARES, Grid, Sums, Tally, n_sums, symmetric
from sticktree.jit import jit

Places = npt.NDArray[np.int64]
FIRST = 2**63  # number of the first block; rows have lower ones


class Blocks(NamedTuple):
    """M blocks, the oldest first."""

    number: npt.NDArray[np.uint64]  # (M,) by which they are ranked, and have random numbers
    n: npt.NDArray[np.int64]  # (M,) rows
    seen: npt.NDArray[np.int64]  # (M, D) entries that were not missing
    total: FloatArray  # (M, D) of y
    second: FloatArray  # (M, S − D) other sums, in the order that leaves have them
    seated: npt.NDArray[np.int64]  # (M, J) rows of each group, if there are groups
    lost: FloatArray  # (M,) by how many rows less the mean is known than n; see `drifting`

    @classmethod
    def none(cls, dimension: int, kind: int, n_groups: int = 0) -> Blocks:
        """Return no blocks."""
        more = n_sums(kind, dimension) - dimension
        return cls(
            np.empty(0, dtype=np.uint64),
            np.empty(0, dtype=np.int64),
            np.empty((0, dimension), dtype=np.int64),
            np.empty((0, dimension)),
            np.empty((0, more)),
            np.empty((0, n_groups), dtype=np.int64),
            np.empty(0),
        )

    @classmethod
    def over(
        cls,
        y: FloatArray,
        of: Places,
        size: int,
        kind: int,
        next_number: int,
        group: npt.NDArray[Any] | None = None,
        n_groups: int = 0,
    ) -> Blocks:
        """Return blocks of rows, the i-th of which is in block ``of[i]`` of ``size``.

        Their numbers count from ``next_number``; ``group`` has the groups of the rows, if any.
        """
        sums = Sums.over(y, of, size, kind)
        second = sums.second
        if kind == PRODUCTS:
            rows, columns = np.tril_indices(y.shape[1])
            second = second[:, rows, columns]
        number = np.arange(size, dtype=np.uint64) + np.uint64(next_number)
        n, seen = (np.rint(part).astype(np.int64) for part in (sums.n, sums.seen))
        seated = np.zeros((size, n_groups), dtype=np.int64)
        if n_groups and group is not None:
            np.add.at(seated, (of, group), 1)
        return cls(number, n, seen, sums.total, second, seated, np.zeros(size))

    def at(self, which: npt.NDArray[np.int64]) -> Blocks:
        """Return some of them."""
        parts: Any = tuple(self)
        return Blocks(*(array[which] for array in parts))

    def in_groups(self, place: Places, n_groups: int) -> Blocks:
        """Return the blocks if group j is now number ``place[j]``; −1 is one that has no rows."""
        return self._replace(seated=in_other_groups(self.seated, place, n_groups))

    def plus(self, other: Blocks) -> Blocks:
        """Return the blocks of both."""
        return Blocks(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def joined(self, into: Places, size: int) -> Blocks:
        """Return ``size`` blocks; the first that goes into one gives its number."""
        first = np.full(size, into.size, dtype=np.int64)
        np.minimum.at(first, into, np.arange(into.size))
        sums = [np.zeros((size, *array.shape[1:]), array.dtype) for array in self[1:]]
        for out, array in zip(sums, self[1:], strict=True):
            np.add.at(out, into, array)
        return Blocks(self.number[first], *sums)

    @property
    def weight(self) -> FloatArray:
        """By how many rows the mean of each column is known, (M, D)."""
        return np.asarray(self.seen - self.lost[:, None])

    @property
    def mean(self) -> FloatArray:
        """Mean of what was seen, (M, D)."""
        return np.asarray(self.total / np.where(self.seen > 0, self.weight, 1.0))

    def log_weights(self, leaves: Components) -> FloatArray:
        """Return the log weight of every leaf for every block, (M, K).

        With sums of y alone all leaves have the same noise, and what is missing here cancels.
        """
        n, seen = self.n.astype(np.float64), self.seen.astype(np.float64)
        mean = self.mean
        out = np.asarray(n[:, None] * leaves.log_weight)
        if leaves.share.size:
            out += self.seated @ leaves.share.T
        if leaves.root.shape[0]:
            off = np.einsum("kde,mke->mkd", leaves.root, mean[:, None, :] - leaves.centre)
            scatter = symmetric(self.second, self.total.shape[1]) - n[:, None, None] * _outer(mean)
            square = np.einsum("kde,mef,kdf->mk", leaves.root, scatter, leaves.root, optimize=True)
            return np.asarray(out - 0.5 * (square + n[:, None] * (off**2).sum(axis=2)))
        transform = leaves.transform
        x = mean @ transform.T
        lost = np.zeros_like(x)  # squared distances from the mean
        if leaves.kind == SQUARES:
            lost = np.diag(transform) ** 2 * (self.second - seen * mean**2)
        elif leaves.kind == PRODUCTS:
            scatter = symmetric(self.second, self.total.shape[1]) - n[:, None, None] * _outer(mean)
            lost = np.einsum("de,mef,df->md", transform, scatter, transform)
        off = (x[:, None, :] - leaves.centre) ** 2 * self.weight[:, None, :] + lost[:, None, :]
        # The weight has the density of all columns at the centre, also of those that are missing.
        absent = (n[:, None] - seen) @ np.log(leaves.precision).T
        return np.asarray(out - 0.5 * ((leaves.precision * off).sum(axis=2) + absent))


def _outer(mean: FloatArray) -> FloatArray:
    return np.asarray(mean[:, :, None] * mean[:, None, :])


def choose_leaves(blocks: Blocks, leaves: Components) -> Places:
    """Let every block choose its leaf; anchors stay, and none joins above its rank."""
    leaf = np.empty(blocks.n.size, dtype=np.int64)
    _choose(blocks.number, blocks.log_weights(leaves), leaves, leaf)
    return leaf


@jit
def _choose(
    number: npt.NDArray[np.uint64], values: FloatArray, leaves: Components, leaf: Places
) -> None:
    key, sweep, salt = leaves.words[KEY], leaves.words[SWEEP], leaves.words[SALT]
    n_leaves = leaves.log_weight.size
    for m in range(number.size):
        rank = rank_of(number[m], salt)
        leaf[m] = -1
        largest = -math.inf
        for k in range(n_leaves):
            if leaves.anchor[k] == number[m]:
                leaf[m] = k
            if rank > leaves.limit[k]:
                largest = max(largest, values[m, k])
            else:
                values[m, k] = -math.inf
        if leaf[m] < 0:
            point = uniform_of(philox(number[m], sweep, ASSIGN, key)[0])
            leaf[m] = cover(values[m], n_leaves, largest, point)


def choose_halves(
    blocks: Blocks, leaf: Places, units: Units, gain: npt.NDArray[np.int64], grid: Grid
) -> Places:
    """Let the blocks of units choose their halves; return 2u + h, or −1 outside all units.

    What a block gains, log(w^n Π f₁ + (1 − w)^n Π f₂) − log Π f, is added to the gain of its unit.
    """
    half = np.full(leaf.size, -1, dtype=np.int64)
    if leaf.size and len(units.pins):
        values = _of_units(blocks, units)
        _halve(blocks.number, leaf, values, units, gain, grid.coarse, grid.fine, half)
    return half


def _of_units(blocks: Blocks, units: Units) -> FloatArray:
    """Return the log weights of the whole and the halves of all units for every block, (M, 3U)."""
    values = blocks.log_weights(units.densities)
    if units.share.size:
        for side in (0, 1):
            values[:, side + 1 :: 3] += blocks.seated @ units.share[:, :, side].T
    return values


def lean_blocks(blocks: Blocks, leaf: Places, units: Units) -> FloatArray:
    """Return what blocks tell of the shares of halves, (U, J, 2); see `sticktree.engine.bulk`.

    Its rows of one group count as so many rows that have the odds of the whole block. That gives
    the likelihood of a share the right slope; it is but what shares are proposed by.
    """
    out = np.zeros((len(units.pins), units.share.shape[1], 2))
    unit = units.of_leaf[leaf]
    some = np.flatnonzero(unit >= 0)
    if not some.size:
        return out
    values, unit, number = _of_units(blocks.at(some), units), unit[some], blocks.number[some]
    odds = values[np.arange(some.size), 3 * unit + 1] - values[np.arange(some.size), 3 * unit + 2]
    p = 1.0 / (1.0 + np.exp(np.clip(-odds, -700.0, 700.0)))
    p = np.where(number == units.pins[unit, 0], 1.0, p)
    p = np.where(number == units.pins[unit, 1], 0.0, p)
    b, rest = np.exp(units.share[unit, 0]).T
    each = np.stack([p * (p - b) / rest, (1.0 - p) * (b - p) / b], axis=1)
    counted = blocks.seated[some][:, :, None] * np.maximum(each, -MOST)[:, None, :]
    np.add.at(out, unit, counted)
    return out


@jit
def _halve(
    number: npt.NDArray[np.uint64],
    leaf: Places,
    values: FloatArray,
    units: Units,
    gain: npt.NDArray[np.int64],
    coarse: float,
    fine: float,
    half: Places,
) -> None:
    for m in range(number.size):
        unit = units.of_leaf[leaf[m]]
        if unit >= 0:
            whole, first, second = values[m, 3 * unit : 3 * unit + 3]
            side = halve_one(units, unit, number[m], whole, first, second, gain, coarse, fine)
            half[m] = 2 * unit + side


def add_blocks(tally: Tally, blocks: Blocks, leaf: Places, leaves: Components) -> Tally:
    """Return a tally with blocks added to their leaves; −1 is no leaf."""
    some = np.flatnonzero(leaf >= 0)
    blocks, leaf = blocks.at(some), leaf[some]
    out = Tally(
        tally.count.copy(),
        tally.lacking.copy(),
        tally.sums.copy(),
        tally.products,
        tally.rank.copy(),
        tally.anchor.copy(),
        tally.seated.copy(),
    )
    np.add.at(out.count, leaf, blocks.n)
    np.add.at(out.seated, leaf, blocks.seated)
    np.add.at(out.lacking, leaf, blocks.n[:, None] - blocks.seen)
    grids = Grid(*leaves.grid[:2]), Grid(*leaves.grid[2:])
    parts = [on_grid(x, g) for x, g in zip((blocks.total, blocks.second), grids, strict=True)]
    np.add.at(out.sums, leaf, np.concatenate(parts, axis=1))
    _rank(blocks.number, leaf, out, leaves.words[NEXT_SALT])
    return out


@jit
def _rank(number: npt.NDArray[np.uint64], leaf: Places, tally: Tally, salt: np.uint64) -> None:
    for m in range(number.size):
        rank = rank_of(number[m], salt)
        if rank < tally.rank[leaf[m]]:
            tally.rank[leaf[m]], tally.anchor[leaf[m]] = rank, number[m]


def lost_of(blocks: Blocks, leaf: Places, size: int) -> FloatArray | None:
    """Return by how many rows less places of leaves are known than they have; −1 is no leaf."""
    if not blocks.lost.any():
        return None
    out = np.zeros(size)
    np.add.at(out, leaf[leaf >= 0], blocks.lost[leaf >= 0])
    return out


def on_grid(values: FloatArray, grid: Grid) -> npt.NDArray[np.int64]:
    """Return numbers as sums on a grid, whatever their size."""
    steps = np.rint(values * grid.coarse)
    rest = np.rint((values - steps / grid.coarse) * grid.fine)
    return np.stack([steps, rest], axis=-1).astype(np.int64)


# ---- How rows are gathered in blocks, and blocks joined, so that little is lost ------------------
#
# What is lost is the scatter within blocks: rows of a block never part, though a later state might
# have them in two leaves. So a leaf is cut into pieces, again and again the one with the largest
# scatter, at its mean and along the column where it is widest. If a leaf has too many blocks, those
# are joined whose scatter grows least.


def cut(x: FloatArray, leaf: Places, most: int) -> tuple[Places, Places]:
    """Cut the rows of each leaf into at most ``most`` pieces.

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
    """Join blocks of the same leaf until no leaf has more than ``most``.

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
