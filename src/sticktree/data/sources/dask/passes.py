"""What workers do: every function is one of its arguments alone, so that it can be done again."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.components import Components, pick_limits
from sticktree.engine.bulk.halves import Units
from sticktree.engine.bulk.labels import Labelled, Labels, Sided, final_labels
from sticktree.engine.bulk.partition import BLOCK, Partition, partition
from sticktree.engine.bulk.passes import Halved, Seated, assign, halve, products
from sticktree.engine.bulk.philox import MIX_0, MIX_1, rank_of
from sticktree.engine.bulk.picks import Picked, join_picks, pick
from sticktree.engine.bulk.rows import Extent
from sticktree.engine.bulk.sums import Grid
from sticktree.engine.bulk.tally import Tally, merge

__all__ = [
    "add_up",
    "assign_rows",
    "digest_rows",
    "halve_rows",
    "join_extents",
    "join_halved",
    "join_samples",
    "join_seated",
    "label_rows",
    "multiply_rows",
    "prepare",
    "sample_rows",
    "second",
]

Second = TypeVar("Second")


def second(both: tuple[object, Second]) -> Second:
    """Return what goes on from a task; what comes first stays on its worker."""
    return both[1]


def prepare(
    pieces: list[FloatArray], first: int, centre: FloatArray, spread: FloatArray
) -> Partition:
    """Standardise and arrange rows, the first of which has number ``first``."""
    return partition(np.concatenate([(x - centre) / spread for x in pieces]), first)


def assign_rows(told: Components, part: Partition) -> tuple[Labelled, Seated]:
    """Let the rows of a partition choose their leaves."""
    labelled = Labelled.empty(part)
    tally = assign(part, told, labelled)
    return labelled, Seated(tally, pick(part, *pick_limits(told), labelled))


def halve_rows(
    units: Units, part: Partition, seated: tuple[Labelled, Seated], grid: Grid
) -> tuple[Sided, Halved]:
    """Let the rows of a partition choose their halves."""
    sided = Sided.empty(part)
    return sided, halve(part, units, seated[0], sided, grid)


def label_rows(
    part: Partition,
    first: int,
    asked: npt.NDArray[np.int64] | None,
    seated: tuple[Labelled, Seated],
    halved: tuple[Sided, Halved] | None,
    of_leaf: npt.NDArray[np.int64],
    of_half: npt.NDArray[np.int64],
) -> Labels:
    """Return the leaves of the rows of a partition: of all in the order of numbers, or of some."""
    out = np.empty(part.n_rows, dtype=np.int32)
    sided = Sided.empty(part) if halved is None else halved[0]
    final_labels(part, seated[0], sided, of_leaf, of_half, out, first)
    return out if asked is None else out[asked - first]


def digest_rows(part: Partition) -> npt.NDArray[np.uint64]:
    """Return two sums over rows of random functions of their numbers and entries."""
    filled = np.arange(BLOCK) < part.filled[:, None]
    whole = _row_words(part.row, part.y.transpose(1, 0, 2))
    gaps = _row_words(part.gap_row, part.gap_y.T)
    words = [np.concatenate([a[filled], b]) for a, b in zip(whole, gaps, strict=True)]
    return np.array([word.sum() for word in words])


def _row_words(number: npt.NDArray[np.uint64], y: FloatArray) -> list[npt.NDArray[np.uint64]]:
    """Return two words for each row; the first axis of ``y`` is the column."""
    mixed: Any = rank_of  # of whole arrays, here
    words = []
    for salt in (MIX_0, MIX_1):
        word = mixed(number, salt)
        for column in y:
            # Zeros may have signs, and NaN has many forms.
            plain = np.where(np.isnan(column), np.nan, column) + 0.0
            word = mixed(word ^ plain.view(np.uint64), salt)
        words.append(np.asarray(word))
    return words


def sample_rows(part: Partition, salt: int, limit: int) -> Picked:
    """Return the rows of a partition whose rank by the salt is below the limit."""
    return pick(part, salt, limit)


def multiply_rows(part: Partition, grid: Grid) -> npt.NDArray[np.int64]:
    """Return Σ y yᵀ of the rows without gaps of a partition."""
    return products(part, grid)


def join_extents(extents: list[Extent]) -> Extent:
    """Return the extent of all."""
    return Extent(
        sum(extent.n for extent in extents),
        max(extent.largest for extent in extents),
        extents[0].dimension,
        any(extent.gaps for extent in extents),
    )


def join_samples(picks: list[Picked]) -> Picked:
    """Return all rows that were picked."""
    return join_picks(picks)


def join_seated(parts: list[Seated]) -> Seated:
    """Return what came back from all rows that chose their leaves."""
    return Seated(_merged([p.tally for p in parts]), join_picks([p.picked for p in parts]))


def join_halved(parts: list[Halved]) -> Halved:
    """Return what came back from all rows of units."""
    return Halved(_merged([p.tally for p in parts]), add_up([p.gain for p in parts]))


def add_up(parts: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return the sum of integers."""
    return np.asarray(np.sum(parts, axis=0))


def _merged(tallies: list[Tally]) -> Tally:
    out = tallies[0]
    for tally in tallies[1:]:
        out = merge(out, tally)
    return out
