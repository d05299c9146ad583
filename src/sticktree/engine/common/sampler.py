"""What all chains have in common, whatever their noise and wherever their rows are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.engine.chain import Effort, Move, SweepInfo, apply_moves
from sticktree.engine.common.franchise import (
    count_groups,
    divide_sticks,
    log_gamma_prior,
    log_grouped_tree,
)
from sticktree.engine.common.groups import GroupedState
from sticktree.engine.common.links import ALIVE, DISCOUNT, FACTOR, MADE, TreeState, list_nodes
from sticktree.engine.common.priors import log_beta, log_gamma
from sticktree.engine.common.random import RandomState
from sticktree.engine.common.seating import log_tree_probability
from sticktree.engine.draw import Draw
from sticktree.engine.points import used_sticks
from sticktree.model import Model
from sticktree.tree import NULL, Tree

OF_GROUPS = ("seated", "stick", "rest", "gamma")  # arrays of the state that groups add, and
OF_PARENTS = ("theta", "theta_rest", "kappa")  # those that parents of groups add
NOTHING = -1e30  # log of a share that is as good as 0

Snapshot = Mapping[str, npt.NDArray[Any]]


class Sampler:
    """A Markov chain over trees and parameters, but for its moves and its likelihood."""

    traced: tuple[str, ...]  # parameters by which convergence is judged
    of_nodes: tuple[str, ...] = ("nodes",)  # arrays of the state with a row for each node, and
    of_all: tuple[str, ...] = ("sizes", "levels", "scalars")  # others that snapshots keep
    model: Model
    rng: np.random.Generator
    words: RandomState
    state: GroupedState
    effort: Effort

    @property
    def concentration(self) -> float:
        """The factor c of the concentrations."""
        return float(self.state.scalars[FACTOR])

    @property
    def discount(self) -> float:
        """The Pitman–Yor discount d."""
        return float(self.state.scalars[DISCOUNT])

    @property
    def grouped(self) -> bool:
        """Whether the rows belong to groups."""
        return self.model.groups is not None

    @property
    def related(self) -> bool:
        """Whether some of the groups have parents."""
        return self.model.groups is not None and self.model.groups.line is not None

    @property
    def _of_groups(self) -> tuple[str, ...]:
        """Names of the arrays of the state that groups add."""
        if not self.grouped:
            return ()
        return (*OF_GROUPS, *OF_PARENTS) if self.related else OF_GROUPS

    def group_parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of γ and of the shared sticks, if the rows belong to groups.

        Sticks of parents are those of points only; see `whole_parameters`.
        """
        if not self.grouped:
            return {}
        order = self.state.order[: self.state.sizes[ALIVE]]
        found = {
            "group_concentration": np.asarray(self.state.gamma[0]),
            "stick": self.state.stick[order],
            "rest": self.state.rest[order],
        }
        if self.related:
            nodes = self.state.nodes
            parent, level = nodes["parent"][order], nodes["level"]
            top = np.where(parent == NULL, NULL, level[parent])
            used = used_sticks(top, level[order], found["stick"].shape[1])
            found["kinship"] = np.asarray(self.state.kappa[0])
            for name, where in zip(("theta", "theta_rest"), used, strict=True):
                node, at = np.nonzero(where)
                # Logs of shares, and many of them: single precision will do.
                logs = getattr(self.state, name)[order[node], at]
                found[name] = np.maximum(logs, NOTHING).astype(np.float32)
        return found

    @property
    def size(self) -> int:
        """The size of the tree, by which the numbers of moves are learned."""
        return int(self.state.sizes[ALIVE])

    def moves(self) -> list[Move]:
        """Return all moves of a sweep, in their order."""
        raise NotImplementedError

    def sweep(self, tune: bool = False) -> SweepInfo:
        """Apply every move; ``tune`` in warm-up, where their numbers may still change."""
        if tune:
            self.effort.tune(self.size)
        return apply_moves(self.moves())

    def tree(self) -> Tree:
        """Return the tree as the state has it, compressed or not."""
        return tree_of(self.state)

    def parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all that is learned besides the tree, c and d."""
        raise NotImplementedError

    def draw(self, labelled: bool = True) -> Draw:
        """Return a copy of what the chain has now; only those of many rows may lack labels."""
        tree = self.tree()
        small = np.min_scalar_type(tree.n_nodes)
        return Draw(
            leaf=tree.leaf.astype(small),
            parent=np.maximum(tree.parent, 0).astype(small),
            level=tree.level.astype(np.min_scalar_type(tree.depth)),
            parameters=self.parameters() | self.group_parameters(),
            traced=self.traced
            + ("group_concentration",) * self.grouped
            + ("kinship",) * self.related,
            concentration=self.concentration,
            discount=self.discount,
            log_joint=self.log_joint(),
        )

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that it takes to go on with the identical draws, but the rows and ``rng``."""
        state, made = self.state, int(self.state.sizes[MADE])
        return {
            **{name: getattr(state, name)[:made].copy() for name in self.of_nodes},
            **{name: getattr(state, name).copy() for name in self.of_all},
            "words": self.words.copy(),
            "effort": self.effort.snapshot(),
            **{name: getattr(state, name)[:made].copy() for name in self._of_groups},
        }

    def _load(self, snapshot: Snapshot) -> None:
        """Take over what `snapshot` returned, into a state that has room for it."""
        for name in self.of_nodes:
            _take_over(name, snapshot[name], getattr(self.state, name)[: len(snapshot[name])])
        for name in self.of_all:
            _take_over(name, snapshot[name], getattr(self.state, name))
        for name in self._of_groups:
            saved = snapshot[name]
            _take_over(name, saved, getattr(self.state, name)[: len(saved)])
        list_nodes(self.state)
        self.words = snapshot["words"].copy()
        self.effort = Effort.restored(snapshot.get("effort"), self.size)

    def log_joint(self) -> float:
        """Return the log density of data, tree and all that is learned, in standardised units."""
        return self.log_prior() + self.log_likelihood()

    def log_likelihood(self) -> float:
        """Return the log density of the data given all else."""
        raise NotImplementedError

    def log_prior(self) -> float:
        """Return the log density of the tree and of all that is learned."""
        raise NotImplementedError

    def _log_prior_of_tree(self) -> float:
        """Return the log density of the tree, and of c and d as far as they are learned."""
        model, c, d = self.model, self.concentration, self.discount
        if model.groups is None:
            value = log_tree_probability(self.state, c, d, model.less_discount)
        else:
            value = log_grouped_tree(self.state)
            if model.groups.concentration is None:
                value += log_gamma_prior(float(self.state.gamma[0]), model.groups.scale)
        if model.concentration is None:
            value += log_gamma(c, *model.concentration_prior)
        if model.discount is None:
            value += log_beta(d, *model.discount_prior)
        return float(value)

    def _learned(self) -> tuple[bool, tuple[float, float], bool, tuple[float, float], bool]:
        """Return what `draw_concentration` asks for besides a state and random numbers."""
        model = self.model
        return (
            model.concentration is None,
            model.concentration_prior,
            model.discount is None,
            model.discount_prior,
            model.less_discount,
        )

    def _learned_of_groups(self) -> tuple[bool, float, bool]:
        """Return what `franchise_move` asks for besides that."""
        groups = self.model.groups
        assert groups is not None
        return groups.concentration is None, groups.scale, groups.kinship is None

    def _fix_gamma(self) -> None:
        """Let γ and κ be what they are fixed at, if they are."""
        groups = self.model.groups
        if groups is not None and groups.concentration is not None:
            self.state.gamma[0] = groups.concentration
        if groups is not None and groups.kinship is not None:
            self.state.kappa[0] = groups.kinship

    def _seat_groups(self) -> None:
        """Let the data of groups be where a tree that was loaded has them, if there are groups."""
        if self.grouped:
            count_groups(self.state)
            divide_sticks(self.state)


def _take_over(name: str, saved: npt.NDArray[Any], place: npt.NDArray[Any]) -> None:
    """Copy an array of a snapshot into a state.

    Numpy would stretch one that is too small, and take records apart by their order.
    """
    if (saved.shape, saved.dtype) != (place.shape, place.dtype):
        raise ValueError(
            f"the snapshot of a chain is from another version, or damaged: {name} has the shape "
            f"{saved.shape}, not {place.shape}, or another type"
        )
    place[...] = saved


def tree_of(state: TreeState) -> Tree:
    """Return the tree of a state as it is stored; nodes are numbered in the order of the walk."""
    order = state.order[: state.sizes[ALIVE]]
    new_id = np.full(state.sizes[MADE], NULL, dtype=np.int32)
    new_id[order] = np.arange(order.size)
    nodes = state.nodes[order]
    parent = np.full(order.size, NULL, dtype=np.int32)
    parent[1:] = new_id[nodes["parent"][1:]]
    level, n = nodes["level"].astype(np.int32), nodes["n"].astype(np.int32)
    return Tree.from_trusted(parent, new_id[state.leaf], level, n)
