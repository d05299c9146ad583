"""The leaves, and the halves of units, that the rows of a partition chose last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.partition import Partition
from sticktree.jit import jit

__all__ = ["Labelled", "Labels", "Nodes", "Sided", "Sides", "final_labels"]

Labels = npt.NDArray[np.int32]
Sides = npt.NDArray[np.int8]
Nodes = npt.NDArray[np.int64]  # that leaves or halves have become


class Labelled(NamedTuple):
    """The leaves of the rows of a partition, in its order; rows with gaps may be completed."""

    blocks: Labels  # (blocks, BLOCK)
    gaps: Labels  # (m,)
    completed: FloatArray  # (m, D)

    @classmethod
    def empty(cls, part: Partition) -> Labelled:
        """Return room for the labels of a partition."""
        return cls(
            np.zeros(part.row.shape, dtype=np.int32),
            np.zeros(part.gap_row.size, dtype=np.int32),
            np.empty(part.gap_y.shape),
        )


class Sided(NamedTuple):
    """The halves of the rows of a partition, in its order; −1 outside all units."""

    blocks: Sides
    gaps: Sides

    @classmethod
    def empty(cls, part: Partition) -> Sided:
        """Return room for the halves of a partition."""
        return cls(
            np.full(part.row.shape, -1, dtype=np.int8),
            np.full(part.gap_row.size, -1, dtype=np.int8),
        )


def final_labels(
    part: Partition,
    labelled: Labelled,
    sided: Sided,
    of_leaf: Nodes,
    of_half: Nodes,
    out: Labels,
    first: int,
) -> None:
    """Fill in the leaves of the rows of a partition, the first of which has number ``first``."""
    ones = np.ones(part.gap_row.size, dtype=np.int64)
    _relabel(part.row, part.filled, labelled.blocks, sided.blocks, of_leaf, of_half, out, first)
    _relabel(
        part.gap_row[:, None],
        ones,
        labelled.gaps[:, None],
        sided.gaps[:, None],
        of_leaf,
        of_half,
        out,
        first,
    )


@jit
def _relabel(
    row: npt.NDArray[np.uint64],
    filled: npt.NDArray[np.int64],
    labels: Labels,
    sides: Sides,
    of_leaf: Nodes,
    of_half: Nodes,
    out: Labels,
    first: int,
) -> None:
    for block in range(row.shape[0]):
        for i in range(filled[block]):
            new = of_leaf[labels[block, i]]
            if new < 0:
                new = of_half[2 * (-1 - new) + sides[block, i]]
            out[int(row[block, i]) - first] = new
