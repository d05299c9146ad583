"""Passes over the rows of one partition, or over a share of them.

A pass is a pure function of rows and of what all of them are told. So it can be made anywhere, and
made again where its result was lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.engine.bulk.assign import assign_blocks
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.gaps import assign_gaps
from sticktree.engine.bulk.halves import Units, halve_blocks, halve_gaps
from sticktree.engine.bulk.labels import Labelled, Sided
from sticktree.engine.bulk.partition import ALL, Partition, Share
from sticktree.engine.bulk.picks import Picked
from sticktree.engine.bulk.sums import Grid, add
from sticktree.engine.bulk.tally import Tally, empty_tally
from sticktree.jit import jit

__all__ = ["Halved", "Seated", "assign", "halve", "products"]


class Seated(NamedTuple):
    """What comes back from a pass in which rows choose their leaves."""

    tally: Tally
    picked: Picked


class Halved(NamedTuple):
    """What comes back from a pass over units."""

    tally: Tally  # of both halves of each unit
    gain: npt.NDArray[np.int64]  # (U, 2) on its grid


def assign(part: Partition, told: Components, labelled: Labelled, share: Share = ALL) -> Tally:
    """Let the rows of a partition choose their leaves."""
    tally = empty_tally(told.log_weight.size, part.y.shape[1], told.kind)
    if part.filled.size:
        assign_blocks(part, *share, told, labelled.blocks, tally)
    if part.gap_row.size:
        assign_gaps(part, *share, told, labelled.gaps, labelled.completed, tally)
    return tally


def halve(
    part: Partition,
    units: Units,
    labelled: Labelled,
    sided: Sided,
    grid: Grid,
    share: Share = ALL,
) -> Halved:
    """Let the rows of a partition choose their halves."""
    n_units = len(units.pins)
    tally = empty_tally(2 * n_units, part.y.shape[1], units.densities.kind)
    gain = np.zeros((n_units, 2), dtype=np.int64)
    steps = np.array([grid.coarse, grid.fine])
    if part.filled.size:
        halve_blocks(part, *share, labelled.blocks, units, sided.blocks, tally, gain, steps)
    if part.gap_row.size:
        halve_gaps(
            part,
            *share,
            labelled.gaps,
            labelled.completed,
            units,
            sided.gaps,
            tally,
            gain,
            steps,
        )
    return Halved(tally, gain)


def products(part: Partition, grid: Grid, share: Share = ALL) -> npt.NDArray[np.int64]:
    """Return Σ y yᵀ of the rows without gaps."""
    dimension = part.y.shape[1]
    out = np.zeros((dimension, dimension, 2), dtype=np.int64)
    _add_products(part, *share, grid.coarse, grid.fine, out)
    return out


@jit
def _add_products(
    part: Partition,
    first: int,
    step: int,
    coarse: float,
    fine: float,
    out: npt.NDArray[np.int64],
) -> None:
    dimension = part.y.shape[1]
    for block in range(first, part.filled.size, step):
        for i in range(part.filled[block]):
            for d in range(dimension):
                for e in range(dimension):
                    add(out[d], e, part.y[block, d, i] * part.y[block, e, i], coarse, fine)
