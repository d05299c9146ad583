"""All rows, wherever they are placed, and the passes that a chain makes over them."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.assign import assign_blocks
from sticktree.engine.bulk.components import Components, pick_limits
from sticktree.engine.bulk.gaps import assign_gaps
from sticktree.engine.bulk.halves import Units, gain_grid, halve_blocks, halve_gaps
from sticktree.engine.bulk.leanings import ASKED, lean_blocks, lean_gaps
from sticktree.engine.bulk.partition import (
    BLOCK,
    Labels,
    Nodes,
    Partition,
    Picked,
    Share,
    final_labels,
    find_ranked,
    join_picks,
    picked_at,
)
from sticktree.engine.bulk.philox import MIX_0, MIX_1, rank_of
from sticktree.engine.bulk.placement import HALVES, LEAVES, Choices, Extent, Pass, Placement
from sticktree.engine.bulk.sums import Grid, Tally, empty_tally, merge, products

Integers = npt.NDArray[np.int64]


class Assigned(NamedTuple):
    """What comes back from a pass in which rows choose their leaves."""

    tally: Tally
    picked: Picked
    lost: FloatArray | None = None  # (K,) by how many rows less the place of a leaf is known


class Halved(NamedTuple):
    """What comes back from a pass over units."""

    tally: Tally  # of both halves of each unit
    gain: Integers  # (U, 2) on its grid
    lost: FloatArray | None = None  # as in `Assigned`, of both halves


class Rows:
    """All rows of a chain, and the leaves they chose last.

    Results depend on the rows and their numbers alone, not on the placement: sums are integers, and
    what is random of a row is a function of its number.

    Parameters
    ----------
    placement : Placement
        Where they are.
    """

    def __init__(self, placement: Placement) -> None:
        self.placement = placement

    @property
    def extent(self) -> Extent:
        """Number and size of the rows."""
        return self.placement.extent

    def sample(self, salt: int, limit: int) -> Picked:
        """Return the rows whose rank by the salt is below the limit."""
        return self.placement.map_reduce(SAMPLE, (salt, limit), join_picks)

    def products(self, grid: Grid) -> Integers:
        """Return Σ y yᵀ of the rows without gaps, on the grid."""
        return self.placement.map_reduce(PRODUCTS, grid, _added)

    def assign(self, leaves: Components) -> Assigned:
        """Let every row choose its leaf."""
        return self.placement.map_reduce(ASSIGN, leaves, _joined_assigned)

    def lean(self, units: Units) -> Integers:
        """Return what the rows of groups tell of shares of halves, on the grid of gains.

        Of shape (U, J, 2, 2); all groups of a unit have the same shares.
        """
        n = self.placement.extent.n
        limit = min(int(2**64 * (ASKED / n)), 2**64 - 1)
        message = units, gain_grid(n), limit
        leanings = self.placement.map_reduce(LEAN, message, _added)
        return leanings.reshape(len(units.pins), -1, 2, 2)

    def halve(self, units: Units) -> Halved:
        """Let every row of a unit choose its half."""
        message = units, gain_grid(self.placement.extent.n)
        return self.placement.map_reduce(HALVE, message, _joined_halved)

    def labels(self, of_leaf: Nodes, of_half: Nodes, numbers: IntArray | None = None) -> Labels:
        """Return the leaves of rows after the last passes: of all in order, or of some.

        ``of_leaf[k]`` is the new number of leaf k; where that is −1 − u, ``of_half[2 u + h]`` is
        the one of half h.
        """
        if numbers is None:
            pieces = self.placement.map(LABEL, (of_leaf, of_half, None))
            return pieces[0] if len(pieces) == 1 else _concatenated(pieces)
        order = np.argsort(numbers, kind="stable")
        wanted = np.asarray(numbers, dtype=np.int64)[order]
        found = np.concatenate(self.placement.map(LABEL, (of_leaf, of_half, wanted)))
        out = np.empty_like(found)
        out[order] = found
        return out

    def digest(self) -> tuple[int, int]:
        """Return two words that are the same for the same rows only, in any partitions."""
        first, second = _added(self.placement.map(DIGEST, None))
        return int(first), int(second)

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return what it takes, besides the rows that are present, to go on with them: nothing."""
        return {}


# ---- What is done with the rows of a partition, or with a share of them --------------------------


def _extent(message: None, part: Partition, choices: Choices, share: Share) -> Extent:
    return Extent.of(part)


def _sample(message: tuple[int, int], part: Partition, choices: Choices, share: Share) -> Picked:
    return picked_at(part, find_ranked(part, *message, share), None)


def _products(grid: Grid, part: Partition, choices: Choices, share: Share) -> Integers:
    return products(part, grid, share)


def _assign(leaves: Components, part: Partition, choices: Choices, share: Share) -> Assigned:
    labelled = choices.leaves
    n_groups = leaves.share.shape[1]
    tally = empty_tally(leaves.log_weight.size, part.y.shape[1], leaves.kind, n_groups)
    if part.filled.size:
        assign_blocks(part, *share, leaves, labelled.blocks, tally)
    if part.gap_row.size:
        assign_gaps(part, *share, leaves, labelled.gaps, labelled.completed, tally)
    found = find_ranked(part, *pick_limits(leaves), share)
    return Assigned(tally, picked_at(part, found, labelled))


def _halve(message: tuple[Units, Grid], part: Partition, choices: Choices, share: Share) -> Halved:
    (units, grid), labelled, sided = message, choices.leaves, choices.halves
    n_units = len(units.pins)
    tally = empty_tally(2 * n_units, part.y.shape[1], units.densities.kind, units.share.shape[1])
    gain = np.zeros((n_units, 2), dtype=np.int64)
    steps = np.array([grid.coarse, grid.fine])
    if part.filled.size:
        halve_blocks(part, *share, labelled.blocks, units, sided.blocks, tally, gain, steps)
    if part.gap_row.size:
        gaps, completed = labelled.gaps, labelled.completed
        halve_gaps(part, *share, gaps, completed, units, sided.gaps, tally, gain, steps)
    return Halved(tally, gain)


def _lean(
    message: tuple[Units, Grid, int], part: Partition, choices: Choices, share: Share
) -> Integers:
    (units, grid, limit), labelled = message, choices.leaves
    most = np.uint64(limit)
    leanings = np.zeros((2 * len(units.pins) * units.share.shape[1], 2), dtype=np.int64)
    steps = np.array([grid.coarse, grid.fine])
    if part.filled.size:
        lean_blocks(part, *share, labelled.blocks, units, most, leanings, steps)
    if part.gap_row.size:
        lean_gaps(part, *share, labelled.gaps, labelled.completed, units, most, leanings, steps)
    return leanings


def _label(
    message: tuple[Nodes, Nodes, Integers | None],
    part: Partition,
    choices: Choices,
    share: Share,
) -> Labels:
    """Return the leaves of rows in the order of their numbers; of some, if these are given."""
    of_leaf, of_half, numbers = message
    first, out = part.first, np.empty(part.n_rows, dtype=np.int32)
    final_labels(part, *choices, of_leaf, of_half, out, first)
    if numbers is None:
        return out
    return out[numbers[slice(*np.searchsorted(numbers, [first, first + out.size]))] - first]


def _digest(
    message: None, part: Partition, choices: Choices, share: Share
) -> npt.NDArray[np.uint64]:
    """Return two sums over rows of random functions of their numbers and entries."""
    filled = np.arange(BLOCK) < part.filled[:, None]
    whole = _row_words(part.row, _with_groups(part.y.transpose(1, 0, 2), part.group))
    gaps = _row_words(part.gap_row, _with_groups(part.gap_y.T, part.gap_group))
    words = [np.concatenate([a[filled], b]) for a, b in zip(whole, gaps, strict=True)]
    return np.array([word.sum() for word in words])


def _with_groups(y: FloatArray, group: Labels) -> FloatArray:
    """Return the columns of rows with their groups as one more, if there are any."""
    return np.concatenate([y, group[None].astype(np.float64)]) if group.size else y


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


EXTENT = Pass("extent", _extent)
SAMPLE = Pass("sample", _sample)
PRODUCTS = Pass("products", _products)
ASSIGN = Pass("assign", _assign, makes=LEAVES)
LEAN = Pass("lean", _lean, needs=(LEAVES,))
HALVE = Pass("halve", _halve, needs=(LEAVES,), makes=HALVES)
LABEL = Pass("labels", _label, needs=(LEAVES, HALVES), entries=False)
DIGEST = Pass("digest", _digest)


# ---- How results for parts of the rows are joined ------------------------------------------------


def _added(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.asarray(np.sum(parts, axis=0))


def _joined_assigned(parts: list[Assigned]) -> Assigned:
    tally = functools.reduce(merge, (part.tally for part in parts))
    return Assigned(tally, join_picks([part.picked for part in parts]))


def _joined_halved(parts: list[Halved]) -> Halved:
    tally = functools.reduce(merge, (part.tally for part in parts))
    return Halved(tally, _added([part.gain for part in parts]))


def _concatenated(pieces: list[Labels]) -> Labels:
    """Return all labels; each piece is let go once it is copied, to save memory."""
    out = np.empty(sum(piece.size for piece in pieces), dtype=np.int32)
    stop = out.size
    while pieces:
        piece = pieces.pop()
        out[stop - piece.size : stop] = piece
        stop -= piece.size
    return out
