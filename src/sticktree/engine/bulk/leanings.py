"""The pass that asks what rows of groups tell of the shares of halves, before these are drawn.

Let r be the share of the first half of a unit in a group. Its likelihood Σ log(r f₁ + (1 − r) f₂)
has at r = b the slope and the curvature that e₁ rows in the first half and e₂ in the second would
give, if each row counts as

    e₁ = p (p − b)/(1 − b),        e₂ = (1 − p)(b − p)/b,

where p is the probability of the first half at r = b: as a whole row where the halves are far
apart, and as nothing where they are the same. So Beta(γsb + e₁, γs(1 − b) + e₂) is about the
posterior of r, with the halves of all rows summed out. Of very many rows some are asked, by their
numbers alone: then it is wider than that.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.components import PICK_SALT, log_weight
from sticktree.engine.bulk.halves import Units, own_units, weigh_completed
from sticktree.engine.bulk.partition import Labels, Partition
from sticktree.engine.bulk.philox import Word, rank_of
from sticktree.engine.bulk.sums import add
from sticktree.jit import inlined, jit

# (2 U J, 2): what rows of each group count for in both halves of each unit, on a grid.
Leanings = npt.NDArray[np.int64]
MOST = 1e12  # that a row counts
ASKED = 100_000  # rows, about, of all that there are


@inlined
def _lean_one(
    units: Units,
    unit: int,
    group: int,
    number: Word,
    share: FloatArray,
    odds: float,
    leanings: Leanings,
    coarse: float,
    fine: float,
) -> None:
    """Add what a row counts for; ``odds`` are log odds of the first half, ``share`` b and rest."""
    p = 1.0 / (1.0 + math.exp(min(max(-odds, -700.0), 700.0)))
    if number == units.pins[unit, 0]:
        p = 1.0
    elif number == units.pins[unit, 1]:
        p = 0.0
    b, rest = share[unit, 0], share[unit, 1]
    at = 2 * (unit * units.share.shape[1] + group)
    add(leanings, at, max(p * (p - b) / rest, -MOST), coarse, fine)
    add(leanings, at + 1, max((1.0 - p) * (b - p) / b, -MOST), coarse, fine)


@jit
def lean_blocks(
    part: Partition,
    first: int,
    step: int,
    labels: Labels,
    units: Units,
    limit: Word,
    leanings: Leanings,
    grid: FloatArray,
) -> None:
    """Add what the rows of a share of the blocks count for, of those whose rank is below a limit.

    All groups have the shares b and 1 − b.
    """
    units = own_units(units)
    densities, share = units.densities, np.exp(units.share[:, 0])
    salt, coarse, fine = densities.words[PICK_SALT], grid[0], grid[1]
    dimension, full = part.y.shape[1], densities.root.shape[0] > 0
    x = np.empty((dimension, 1))
    for block in range(first, part.filled.size, step):
        for i in range(part.filled[block]):
            unit, number = units.of_leaf[labels[block, i]], part.row[block, i]
            if unit < 0 or rank_of(number, salt) >= limit:
                continue
            for d in range(dimension):
                x[d, 0] = part.y[block, d, i]
                if not full:
                    x[d, 0] = 0.0
                    for e in range(dimension):
                        x[d, 0] += densities.transform[d, e] * part.y[block, e, i]
            group = part.group[block, i]
            odds = units.share[unit, group, 0] - units.share[unit, group, 1]
            odds += log_weight(densities, 3 * unit + 1, x, 0, full)
            odds -= log_weight(densities, 3 * unit + 2, x, 0, full)
            _lean_one(units, unit, group, number, share, odds, leanings, coarse, fine)


@jit
def lean_gaps(
    part: Partition,
    first: int,
    step: int,
    labels: Labels,
    completed: FloatArray,
    units: Units,
    limit: Word,
    leanings: Leanings,
    grid: FloatArray,
) -> None:
    """Add what a share of the rows with gaps counts for."""
    units = own_units(units)
    share, salt = np.exp(units.share[:, 0]), units.densities.words[PICK_SALT]
    coarse, fine = grid[0], grid[1]
    x, values = np.empty((part.gap_y.shape[1], 1)), np.empty(3)
    for r in range(first, part.gap_row.size, step):
        unit, number = units.of_leaf[labels[r]], part.gap_row[r]
        if unit < 0 or rank_of(number, salt) >= limit:
            continue
        group = part.gap_group[r]
        weigh_completed(units.densities, unit, completed, r, x, values)
        odds = units.share[unit, group, 0] - units.share[unit, group, 1]
        odds += values[1] - values[2]
        _lean_one(units, unit, group, number, share, odds, leanings, coarse, fine)
