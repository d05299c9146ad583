"""Some rows of all, picked by their numbers alone, to be looked at one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.labels import Labelled, Labels
from sticktree.engine.bulk.partition import ALL, Partition, Share
from sticktree.engine.bulk.philox import Word, rank_of
from sticktree.jit import jit

__all__ = ["Picked", "find_ranked", "join_picks", "pick", "picked_at"]


class Picked(NamedTuple):
    """Rows that were picked by their numbers, in the order of these."""

    number: npt.NDArray[np.uint64]
    y: FloatArray  # completed, if entries are imputed
    leaf: Labels


def pick(part: Partition, salt: int, limit: int, labelled: Labelled | None = None) -> Picked:
    """Return the rows of a partition whose rank is below the limit."""
    return picked_at(part, find_ranked(part, salt, limit), labelled)


def find_ranked(
    part: Partition, salt: int, limit: int, share: Share = ALL
) -> npt.NDArray[np.int64]:
    """Return the places of rows whose rank is below the limit, in a share of a partition."""
    return _ranked_below(part, *share, np.uint64(salt), np.uint64(limit))


def picked_at(part: Partition, found: npt.NDArray[np.int64], labelled: Labelled | None) -> Picked:
    """Return the rows at some places of a partition."""
    has_gaps = found >= part.row.size
    block, place = np.divmod(found[~has_gaps], part.row.shape[1])
    gap = found[has_gaps] - part.row.size
    number = np.concatenate([part.row[block, place], part.gap_row[gap]])
    gap_y = part.gap_y if labelled is None else labelled.completed
    y = np.concatenate([part.y[block, :, place], gap_y[gap]])
    leaf = np.full(number.size, -1, dtype=np.int32)
    if labelled is not None:
        leaf = np.concatenate([labelled.blocks[block, place], labelled.gaps[gap]])
    return join_picks([Picked(number, y, leaf)])


def join_picks(picks: list[Picked]) -> Picked:
    """Return all rows of several picks, in the order of their numbers."""
    number = np.concatenate([some.number for some in picks])
    order = np.argsort(number)
    return Picked(
        number[order],
        np.concatenate([some.y for some in picks])[order],
        np.concatenate([some.leaf for some in picks])[order],
    )


@jit
def _ranked_below(
    part: Partition, first: int, step: int, salt: Word, limit: Word
) -> npt.NDArray[np.int64]:
    """Return the places of rows whose rank is below a limit; those with gaps follow the others."""
    n_blocks, width = part.row.shape
    out = np.empty(16, dtype=np.int64)
    size = 0
    for block in range(first, n_blocks, step):
        count = 0
        for i in range(part.filled[block]):  # most blocks have none, and this loop is fast
            count += int(rank_of(part.row[block, i], salt) < limit)
        for i in range(part.filled[block] if count else 0):
            if rank_of(part.row[block, i], salt) < limit:
                out = _appended(out, size, block * width + i)
                size += 1
    for r in range(first, part.gap_row.size, step):
        if rank_of(part.gap_row[r], salt) < limit:
            out = _appended(out, size, n_blocks * width + r)
            size += 1
    return out[:size].copy()


@jit
def _appended(places: npt.NDArray[np.int64], size: int, place: int) -> npt.NDArray[np.int64]:
    """Return the array with another place, a larger one if it is full."""
    if size == places.size:
        larger = np.empty(2 * size, dtype=np.int64)
        larger[:size] = places
        places = larger
    places[size] = place
    return places
