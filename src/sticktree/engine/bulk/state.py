"""The state of a chain for many rows, what its noise decides, and draws and snapshots of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.laws import Density, Leaf, LeafLaw
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.sums import Grid, Sums, Tally
from sticktree.engine.chain import ChainLike, Move
from sticktree.engine.common.links import ALIVE, DISCOUNT
from sticktree.engine.common.sampler import Sampler, Snapshot
from sticktree.engine.draw import Draw, tracked_pairs
from sticktree.tree import Tree

SUMS_OF = "sums_"  # before the name of sums among the parameters of a draw


class ChainState(Sampler):
    """A chain for many rows, without its moves: leaves with sums and anchors, below some tree.

    What differs between noise models comes first: subclasses define it.
    """

    rows: Rows
    kind: int  # which sums are needed
    impute: bool  # whether missing entries are drawn
    grids: tuple[Grid, Grid]  # on which entries and their products are summed
    sweep_words: npt.NDArray[np.uint64]  # of the sweep, as in `Components`
    leaves: npt.NDArray[np.int64]  # nodes that are leaves, in the order of all that follows
    sums: Sums  # of each leaf, in standardised units
    anchor: npt.NDArray[np.uint64]  # of each leaf
    rank: npt.NDArray[np.uint64]  # of the anchors
    of_leaf: npt.NDArray[np.int64]  # nodes that the leaves of the last pass are, as `Rows.labels`
    of_half: npt.NDArray[np.int64]  # asks for them
    room = 256  # leaves that a state has room for at first

    @property
    def size(self) -> int:
        """The number of leaves."""
        return int(self.leaves.size)

    def _first_chain(self, y: FloatArray) -> ChainLike:
        """Return a chain of the other kind on some rows."""
        raise NotImplementedError

    def _take_over(self, chain: Any, number: npt.NDArray[np.uint64]) -> None:
        """Start from the tree of a chain of the other kind, whose rows have these numbers."""
        raise NotImplementedError

    def _new_state(self, room: int) -> Any:
        """Return a state with room for ``room`` leaves, and no rows."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Take the sums over into the tree."""
        raise NotImplementedError

    def _draw_leaves(self) -> tuple[Leaf, FloatArray]:
        """Draw the parameters of every leaf, and φ of the level above."""
        raise NotImplementedError

    def _law(self) -> LeafLaw:
        """Return the law of the leaves as it is now."""
        raise NotImplementedError

    def transform(self) -> FloatArray:
        """Return T, by which rows are brought into the coordinates of the leaves."""
        raise NotImplementedError

    def _in_coordinates(self, sums: Sums) -> Sums:
        """Return sums in the coordinates of the leaves."""
        raise NotImplementedError

    def _rows_in_coordinates(self, y: FloatArray) -> FloatArray:
        """Return rows in the coordinates of the leaves."""
        return np.asarray(y @ self.transform().T)

    def _siblings(self) -> tuple[IntArray, IntArray]:
        """Return a number for the place above each leaf, and how many leaves hang there."""
        raise NotImplementedError

    def _make_room(self, n_leaves: int) -> None:
        """Move to a larger state if this one has no room for ``n_leaves``."""
        raise NotImplementedError

    def _split(self, leaf: int) -> int:
        """Return a new leaf beside a leaf."""
        raise NotImplementedError

    def _merge(self, leaf: int, other: int) -> None:
        """Take a leaf away whose rows its sibling gets."""
        raise NotImplementedError

    def _moves_of_tree(self) -> list[Move]:
        """Return the moves of the tree and of all parameters given the sums."""
        raise NotImplementedError

    def _last_prior(self) -> tuple[float, float]:
        """Return α of the level above the leaves, and d."""
        alpha = self.state.levels["alpha"][self.model.depth - 1]
        return float(alpha), float(self.state.scalars[DISCOUNT])

    def _sums(self, tally: Tally) -> Sums:
        return Sums.of(tally, self.kind, *self.grids)

    def _components(self, log_weight: FloatArray, density: Density) -> Components:
        """Return densities with weights, as rows see them."""
        return Components(
            log_weight=log_weight + density.log_peak,
            centre=np.ascontiguousarray(density.centre),
            precision=np.ascontiguousarray(density.precision),
            transform=np.ascontiguousarray(self.transform()),
            root=np.ascontiguousarray(density.root),
            limit=self.rank,
            anchor=self.anchor,
            words=self.sweep_words,
            kind=self.kind,
            impute=self.impute,
            grid=np.array([step for grid in self.grids for step in (grid.coarse, grid.fine)]),
        )

    # ---- What others see of a chain --------------------------------------------------------------

    def tree(self) -> Tree:
        """Return the tree with all rows, compressed or not as the state has it."""
        parent, level, n, number = self._shape()
        labels = self._labels(number)
        if self.rows.extent.squashed:
            return Tree(parent, labels, level=level).pruned().compressed()
        return Tree.from_trusted(parent, labels, level, n)

    def draw(self, labelled: bool = True) -> Draw:
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
        return (
            super().snapshot()
            | self.rows.snapshot()
            | {
                "parallel": np.array(words, dtype=np.uint64),
                "leaves": self.leaves.copy(),
                "rank": self.rank.copy(),
                "anchor": self.anchor.copy(),
                **{f"{SUMS_OF}{name}": array.copy() for name, array in self.sums._asdict().items()},
            }
        )

    def _load(self, snapshot: Snapshot) -> None:
        self.key, self.salt, self.n_sweeps = map(int, snapshot["parallel"][:3])
        self.leaves = snapshot["leaves"].copy()
        self.rank, self.anchor = snapshot["rank"].copy(), snapshot["anchor"].copy()
        self.sums = Sums(*(snapshot[f"{SUMS_OF}{name}"].copy() for name in Sums._fields))
        self.state = self._new_state(max(self.room, 2 * len(snapshot["nodes"])))
        super()._load(snapshot)
