"""What is told of a chain: its tree, draws of it, and snapshots from which it goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.chain_state import ChainState
from sticktree.engine.bulk.leaf import Sums
from sticktree.engine.bulk.stream_rows import StreamRows
from sticktree.engine.chain import Effort
from sticktree.engine.common.links import ALIVE
from sticktree.engine.draw import Draw, tracked_pairs
from sticktree.tree import Tree

__all__ = ["Records"]

SUMS_OF = "sums_"  # before the name of sums among the parameters of a draw


class Records(ChainState):
    """The part of a chain that others look at."""

    def tree(self) -> Tree:
        """Return the tree with all rows, compressed or not as the state has it."""
        parent, level, n, number = self._shape()
        labels = self._labels(number)
        if self.rows.extent.gone:
            return Tree(parent, labels, level=level).pruned().compressed()
        return Tree.from_trusted(parent, labels, level, n)

    def draw(self, labelled: bool) -> Draw:
        """Return a copy of what the chain has now, with or without the leaf of each row."""
        parent, level, n, number = self._shape()
        small = np.min_scalar_type(parent.size)
        n_data = self.rows.extent.present
        first, second = tracked_pairs(n_data)
        tracked = self._labels(number, np.concatenate([first, second])).reshape(2, -1)
        draw = Draw(
            leaf=self._labels(number).astype(small) if labelled else np.empty(0, dtype=small),
            parent=np.maximum(parent, 0).astype(small),
            level=level.astype(np.min_scalar_type(self.model.depth)),
            parameters=self.parameters() | self._summed(number),
            traced=self.traced,
            concentration=self.concentration,
            discount=self.discount,
            log_joint=self.log_joint(),
            n_data=n_data,
            counts=n.astype(np.int64),
        )
        levels = [draw._meeting_level(int(a), int(b)) for a, b in tracked.T]
        return replace(draw, meeting_level=float(np.mean(levels)))

    def leave_one_out(self) -> FloatArray:
        """Refuse: the rows are not at hand one by one."""
        raise NotImplementedError("leave-one-out densities need algorithm='gibbs'")

    def _shape(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return parents, levels and counts of all nodes, and the number of each node of a state.

        They are numbered in the order of a walk.
        """
        nodes, order = self.state.nodes, self.state.order[: self.state.sizes[ALIVE]]
        number = np.full(nodes.size, -1, dtype=np.int32)
        number[order] = np.arange(order.size)
        parent = number[nodes["parent"][order]]
        parent[0] = -1
        return parent, nodes["level"][order].astype(np.int32), nodes["n"][order], number

    def _labels(self, number: IntArray, rows: IntArray | None = None) -> npt.NDArray[np.int32]:
        """Return the leaf of each row, or of some, as the number of its node in ``number``."""
        of_leaf = np.where(self.of_leaf < 0, self.of_leaf, number[self.of_leaf])
        of_half = np.where(self.of_half < 0, self.of_half, number[self.of_half])
        return self.rows.labels(of_leaf.astype(np.int64), of_half.astype(np.int64), rows)

    def _summed(self, number: IntArray) -> dict[str, npt.NDArray[Any]]:
        """Return the sums of all leaves in the order of their numbers: predictions need no rows."""
        order = np.argsort(number[self.leaves])
        return {
            f"{SUMS_OF}{name}": array[order]
            for name, array in zip(Sums._fields, self.sums, strict=True)
        }

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that it takes to go on with the identical draws, but the rows."""
        words = [self.key, self.salt, self.n_sweeps]
        blocks = self.rows.saved() if isinstance(self.rows, StreamRows) else {}
        return blocks | {
            "parallel": np.array(words, dtype=np.uint64),
            "leaves": self.leaves.copy(),
            "rank": self.rank.copy(),
            "anchor": self.anchor.copy(),
            "words": self.words.copy(),
            "effort": self.effort.snapshot(),
            **{f"{SUMS_OF}{name}": array.copy() for name, array in self.sums._asdict().items()},
        }

    def _load(self, snapshot: dict[str, npt.NDArray[Any]]) -> None:
        """Take over what `snapshot` returned."""
        self.key, self.salt, self.n_sweeps = map(int, snapshot["parallel"][:3])
        self.words, self.leaves = snapshot["words"].copy(), snapshot["leaves"].copy()
        self.effort = Effort.restored(snapshot.get("effort"), self.leaves.size)
        self.rank, self.anchor = snapshot["rank"].copy(), snapshot["anchor"].copy()
        self.sums = Sums(*(snapshot[f"{SUMS_OF}{name}"].copy() for name in Sums._fields))
