"""The pass that asks whether leaves should be two: the halves of each, and what they gain.

A *unit* is a leaf that may split, or two siblings that may merge. For its rows there are three
normal densities: one of the whole, and one of each half with its weight. A unit's gain is the log
of their mixture over the whole, summed over its rows. Two rows are pinned, one to each half.

Rows of groups have weights of their own, r_j and 1 − r_j in group j.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.components import (
    KEY,
    NEXT_SALT,
    SWEEP,
    Components,
    is_diagonal,
    log_weight,
    own_copy,
    transform_block,
)
from sticktree.engine.bulk.gaps import log_observed
from sticktree.engine.bulk.partition import BLOCK, Labels, Partition, Sides
from sticktree.engine.bulk.philox import HALVE, Word, philox, uniform_of
from sticktree.engine.bulk.sums import Grid, Tally, add, tally_row
from sticktree.jit import inlined, jit, linked

NO_SHARES_OF_HALVES = np.empty((0, 0, 2))


class Units(NamedTuple):
    """U units, as rows see them."""

    of_leaf: npt.NDArray[np.int64]  # (K,) the unit of a leaf, or −1
    pins: npt.NDArray[np.uint64]  # (U, 2) rows that are pinned to the first half and the second
    densities: Components  # (3 U) the whole and both halves of each unit
    share: FloatArray = NO_SHARES_OF_HALVES  # (U, J, 2) log r and log(1 − r) of groups, or none


@functools.lru_cache(maxsize=16)
def gain_grid(n: int) -> Grid:
    """Return the grids of gains; a row's is below 10¹² in size."""
    return Grid.of(n, 1e12)


@inlined
def halve_one(
    units: Units,
    unit: int,
    number: Word,
    whole: float,
    first: float,
    second: float,
    gain: npt.NDArray[np.int64],
    coarse: float,
    fine: float,
) -> int:
    """Choose the half of a row by its log weights, and add to the gain of the unit."""
    words = units.densities.words
    if number == units.pins[unit, 0]:
        side, value = 0, first
    elif number == units.pins[unit, 1]:
        side, value = 1, second
    else:
        point = uniform_of(philox(number, words[SWEEP], HALVE, words[KEY])[0])
        odds = math.exp(-abs(first - second))
        value = max(first, second) + math.log1p(odds)
        share = 1.0 / (1.0 + odds)  # of the likelier half
        if first < second:
            share = odds / (1.0 + odds)
        side = 0 if point < share else 1
    add(gain, unit, min(max(value - whole, -1e12), 1e12), coarse, fine)
    return side


@jit
def halve_blocks(
    part: Partition,
    first: int,
    step: int,
    labels: Labels,
    units: Units,
    sides: Sides,
    tally: Tally,
    gain: npt.NDArray[np.int64],
    grid: FloatArray,
) -> None:
    """Let the rows of a share of the blocks choose; half h of unit u is row 2u + h of the tally."""
    units = own_units(units)
    densities, grouped = units.densities, units.share.size > 0
    next_salt = densities.words[NEXT_SALT]
    steps = densities.grid[0], densities.grid[1], densities.grid[2], densities.grid[3]
    coarse, fine = grid[0], grid[1]
    dimension, full = part.y.shape[1], densities.root.shape[0] > 0
    diagonal = is_diagonal(densities.transform)
    x, y = np.empty((dimension, BLOCK)), np.empty(dimension)
    low, high = np.empty(dimension), np.empty(dimension)
    for block in range(first, part.filled.size, step):
        ready = False
        for i in range(part.filled[block]):
            unit = units.of_leaf[labels[block, i]]
            sides[block, i] = -1
            if unit < 0:
                continue
            if not ready:
                transform_block(part.y, block, densities.transform, full, diagonal, x, low, high)
                ready = True
            number = part.row[block, i]
            whole = log_weight(densities, 3 * unit, x, i, full)
            one = log_weight(densities, 3 * unit + 1, x, i, full)
            other = log_weight(densities, 3 * unit + 2, x, i, full)
            if grouped:
                one += units.share[unit, part.group[block, i], 0]
                other += units.share[unit, part.group[block, i], 1]
            side = halve_one(units, unit, number, whole, one, other, gain, coarse, fine)
            sides[block, i] = side
            for d in range(dimension):
                y[d] = part.y[block, d, i]
            half = 2 * unit + side
            tally_row(tally, half, number, y, densities.kind, next_salt, steps)
            if grouped:
                tally.seated[half, part.group[block, i]] += 1


@jit
def halve_gaps(
    part: Partition,
    first: int,
    step: int,
    labels: Labels,
    completed: FloatArray,
    units: Units,
    sides: Sides,
    tally: Tally,
    gain: npt.NDArray[np.int64],
    grid: FloatArray,
) -> None:
    """Let a share of the rows with gaps choose halves: completed, or by what is observed."""
    units = own_units(units)
    densities, grouped = units.densities, units.share.size > 0
    next_salt = densities.words[NEXT_SALT]
    steps = densities.grid[0], densities.grid[1], densities.grid[2], densities.grid[3]
    coarse, fine = grid[0], grid[1]
    x, values = np.empty((part.gap_y.shape[1], 1)), np.empty(3)
    for r in range(first, part.gap_row.size, step):
        unit = units.of_leaf[labels[r]]
        sides[r] = -1
        if unit < 0:
            continue
        number = part.gap_row[r]
        weigh_completed(densities, unit, completed, r, x, values)
        if grouped:
            values[1] += units.share[unit, part.gap_group[r], 0]
            values[2] += units.share[unit, part.gap_group[r], 1]
        side = halve_one(units, unit, number, values[0], values[1], values[2], gain, coarse, fine)
        sides[r] = side
        half = 2 * unit + side
        tally_row(tally, half, number, completed[r], densities.kind, next_salt, steps)
        if grouped:
            tally.seated[half, part.gap_group[r]] += 1


@linked
def own_units(units: Units) -> Units:
    """Return a copy for one thread; see `own_copy`."""
    densities = own_copy(units.densities)
    return Units(units.of_leaf.copy(), units.pins.copy(), densities, units.share.copy())


@inlined
def weigh_completed(
    densities: Components,
    unit: int,
    completed: FloatArray,
    r: int,
    x: FloatArray,
    values: FloatArray,
) -> None:
    """Fill in the log weights of a row with gaps for the whole and the halves of its unit."""
    dimension, full = completed.shape[1], densities.root.shape[0] > 0
    for h in range(3):
        if densities.impute:
            for d in range(dimension):
                x[d, 0] = completed[r, d]
                if not full:
                    x[d, 0] = 0.0
                    for e in range(dimension):
                        x[d, 0] += densities.transform[d, e] * completed[r, e]
            values[h] = log_weight(densities, 3 * unit + h, x, 0, full)
        else:
            values[h] = log_observed(densities, 3 * unit + h, completed[r])
