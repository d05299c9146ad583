"""The state of a chain for many rows, what its noise decides, and draws and snapshots of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.components import NO_SHARES, Components
from sticktree.engine.bulk.grouped import Sticks, draw_group_weights, draw_parents
from sticktree.engine.bulk.laws import Density, Leaf, LeafLaw
from sticktree.engine.bulk.parented import KinSticks
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.sums import Flags, Grid, Sums, Tally
from sticktree.engine.chain import ChainLike, Move
from sticktree.engine.common.franchise import take_groups
from sticktree.engine.common.links import ALIVE, DISCOUNT, Index
from sticktree.engine.common.parents import LEAST
from sticktree.engine.common.sampler import Sampler, Snapshot
from sticktree.engine.draw import Draw, tracked_pairs
from sticktree.engine.numbering import groups_of_some
from sticktree.engine.shared.trunk import draw_weights
from sticktree.model import Model
from sticktree.tree import Tree

Places = npt.NDArray[np.int64]

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
    seated: npt.NDArray[np.int64]  # (K, J) rows of each group in each leaf, if there are groups
    room = 256  # leaves that a state has room for at first

    @property
    def size(self) -> int:
        """The number of leaves."""
        return int(self.leaves.size)

    def _first_chain(self, y: FloatArray, model: Model) -> ChainLike:
        """Return a chain of the other kind on some rows."""
        raise NotImplementedError

    def _take_over(
        self, chain: Any, number: npt.NDArray[np.uint64], group: IntArray | None = None
    ) -> None:
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

    def _drop(self, leaf: int) -> None:
        """Take a leaf away whose rows are gone, and all above it that has no others."""
        raise NotImplementedError

    def _moves_of_tree(self) -> list[Move]:
        """Return the moves of the tree and of all parameters given the sums."""
        raise NotImplementedError

    def _last_prior(self) -> tuple[float, float]:
        """Return α of the level above the leaves, and d."""
        alpha = self.state.levels["alpha"][self.model.depth - 1]
        return float(alpha), float(self.state.scalars[DISCOUNT])

    def _sums(self, tally: Tally, lost: FloatArray | None = None) -> Sums:
        sums = Sums.of(tally, self.kind, *self.grids)
        return sums if lost is None else sums._replace(seen=sums.seen - lost[:, None])

    def _components(self, log_weight: FloatArray, density: Density) -> Components:
        """Return densities with weights, (K,) or in each group (K, J), as rows see them."""
        share = NO_SHARES
        if log_weight.ndim == 2:
            most = log_weight.max(axis=1)
            share, log_weight = log_weight - most[:, None], most
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
            share=share,
        )

    # ---- Groups ----------------------------------------------------------------------------------

    @cached_property
    def n_groups(self) -> int:
        """The number of groups, or 0."""
        return 0 if self.model.groups is None else self.model.groups.number

    def _check_groups(self) -> None:
        """Raise an error if the rows belong to groups that the model does not know."""
        found, known = self.rows.extent.n_groups, self.n_groups
        if found > known or (known and not found):
            raise ValueError(f"the model has {known} groups, and the rows have {found}")

    def _take_groups(self, chain: Any, index: Index, group: IntArray | None) -> None:
        """Take the sticks of another chain over; its row i is in leaf ``index[i]``."""
        self.seated = np.zeros((self.leaves.size, self.n_groups), dtype=np.int64)
        groups = self.model.groups
        if group is not None and groups is not None:
            old, order = chain.state, chain.state.order[: chain.state.sizes[ALIVE]]
            for name in ("stick", "rest"):
                getattr(self.state, name)[: order.size] = getattr(old, name)[order]
            self.state.gamma[:] = old.gamma
            if self.related:
                place = groups_of_some(groups, group)[1]
                for name in ("theta", "theta_rest"):
                    getattr(self.state, name)[: order.size] = getattr(old, name)[order][..., place]
                self.state.kappa[:] = old.kappa
            np.add.at(self.seated, (index, group), 1)

    def _seat_leaves(self) -> None:
        """Let the tree have the rows of groups that the leaves have."""
        if self.grouped:
            take_groups(self.state, self.leaves, self.seated)

    def _draw_weights(self) -> FloatArray:
        """Draw the log weight of every leaf, (K,), or in each group, (K, J)."""
        size = self.state.nodes.size
        if self.grouped:
            if self.related:
                draw_parents(self.state, self.words)
            path = np.empty((size, self.n_groups))
            return draw_group_weights(self.state, self.leaves, path, self.words)
        return draw_weights(self.state, self.leaves, np.empty(size), self.words)

    def _above(self, leaf: int) -> tuple[int, int]:
        """Return where what is left beside a leaf is kept, as a place in ``state.rest``."""
        nodes, level = self.state.nodes, self.model.depth - 1
        parent = int(nodes["parent"][leaf])
        return (parent if nodes["level"][parent] == level else leaf), level

    def _sticks(self, a: Places, b: Places, merging: Flags, share: FloatArray) -> Sticks:
        """Return the shared sticks of units; ``share`` is that of the first half of a split."""
        level = self.model.depth - 1
        first, second = (self.state.stick[self.leaves[k], level] for k in (a, b))
        rest = np.array([self.state.rest[self._above(int(leaf))] for leaf in self.leaves[a]])
        return Sticks(
            np.where(merging, first, share * first),
            np.where(merging, second, (1.0 - share) * first),
            rest.reshape(-1),
        )

    def _kin_sticks(self, a: Places, b: Places, merging: Flags) -> KinSticks:
        """Return the sticks of parents in units."""
        first, second = (self.state.theta[self.leaves[k], self.model.depth - 1] for k in (a, b))
        return KinSticks.of(self.state, first, second, merging)

    def _parted(self, leaf: int, share: float, of_parents: FloatArray) -> int:
        """Return a new leaf beside a leaf, which keeps shares of its sticks.

        Those of parents are logs, (P, 2).
        """
        new, level = self._split(leaf), self.model.depth - 1
        if self.grouped:
            whole = self.state.stick[leaf, level]
            self.state.stick[leaf, level] = max(share * whole, LEAST)
            self.state.stick[new, level] = max((1.0 - share) * whole, LEAST)
            own = self.state.theta[leaf, level].copy()
            self.state.theta[leaf, level] = own + of_parents[:, 0]
            self.state.theta[new, level] = own + of_parents[:, 1]
        return new

    def _joined(self, leaf: int, other: int) -> None:
        """Take a leaf away whose rows, and whose stick, its sibling gets."""
        if not self.grouped:
            self._merge(leaf, other)
            return
        state, level = self.state, self.model.depth - 1
        stick = state.stick[leaf, level] + state.stick[other, level]
        theta = np.logaddexp(state.theta[leaf, level], state.theta[other, level])
        rest, theta_rest = (x[self._above(leaf)].copy() for x in (state.rest, state.theta_rest))
        self._merge(leaf, other)
        state.stick[leaf, level], state.rest[self._above(leaf)] = stick, rest
        state.theta[leaf, level], state.theta_rest[self._above(leaf)] = theta, theta_rest

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
            parameters=self.parameters() | self.group_parameters() | self._summed(number),
            traced=self.traced
            + ("group_concentration",) * self.grouped
            + ("kinship",) * self.related,
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
        of_groups = {f"{SUMS_OF}seated": self.seated[order]} if self.grouped else {}
        return of_groups | {
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
                **({f"{SUMS_OF}seated": self.seated.copy()} if self.grouped else {}),
            }
        )

    def _load(self, snapshot: Snapshot) -> None:
        self.key, self.salt, self.n_sweeps = map(int, snapshot["parallel"][:3])
        self.leaves = snapshot["leaves"].copy()
        self.rank, self.anchor = snapshot["rank"].copy(), snapshot["anchor"].copy()
        self.sums = Sums(*(snapshot[f"{SUMS_OF}{name}"].copy() for name in Sums._fields))
        none = np.zeros((self.leaves.size, 0), dtype=np.int64)
        self.seated = snapshot[f"{SUMS_OF}seated"].copy() if self.grouped else none
        self.state = self._new_state(max(self.room, 2 * len(snapshot["nodes"])))
        super()._load(snapshot)
