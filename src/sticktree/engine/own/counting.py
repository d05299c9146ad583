"""What leaves know of their data: counted row by row, or taken from sums.

A state is filled so from a draw, and rows are left out of it one by one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.common.links import (
    ALIVE,
    DISCOUNT,
    FACTOR,
    UNLISTED,
    Index,
    list_nodes,
)
from sticktree.engine.common.random import RandomState
from sticktree.engine.own.datum import enter, take_out, weigh_all
from sticktree.engine.own.hyper import settle
from sticktree.engine.own.leaves import clear, count
from sticktree.engine.own.state import (
    COUNT,
    FORM,
    FULL,
    LOG_PSI,
    OUTER,
    PHI,
    SQUARES,
    TOTAL,
    State,
)
from sticktree.engine.own.structure import load_tree
from sticktree.jit import jit
from sticktree.tree import Tree

__all__ = ["leave_one_out", "rebuild", "recount", "set_parameters", "take_sums"]

FRESH = 3  # draws of a new branch that stand for all, in a density


@jit
def recount(state: State) -> None:
    """Compute all sums of the leaves from the data, and what depends on them."""
    depth = state.levels.size - 1
    for k in range(state.sizes[ALIVE]):
        if state.nodes[state.order[k]].level >= depth - 1:
            clear(state, state.order[k])
    for i in range(state.leaf.size):
        count(state, state.leaf[i], i, 1.0)
    settle(state)


@jit
def take_sums(
    state: State,
    leaves: Index,
    n: FloatArray,
    seen: FloatArray,
    total: FloatArray,
    squares: FloatArray,
    outer: FloatArray,
) -> None:
    """Give each leaf the sums of its rows; all else follows. ``outer`` is used if full."""
    list_nodes(state)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        state.nodes[node].n = 0
        if state.nodes[node].level >= state.levels.size - 2:
            clear(state, node)
    for k in range(leaves.size):
        leaf = leaves[k]
        state.nodes[leaf].n = int(n[k])
        for d in range(total.shape[1]):
            state.entries[leaf, d, COUNT] = seen[k, d]
            state.entries[leaf, d, SQUARES] = squares[k, d]
            state.coordinates[leaf, state.columns[d].offset, TOTAL] = total[k, d]
        if state.sizes[FORM] == FULL:
            state.matrices[leaf, OUTER] = outer[k]
    for k in range(state.sizes[ALIVE] - 1, 0, -1):
        node = state.order[k]
        state.nodes[state.nodes[node].parent].n += state.nodes[node].n
    settle(state)


@jit
def leave_one_out(state: State, raw: FloatArray, rng: RandomState) -> FloatArray:
    """Return the log density of every row of ``raw`` given all other rows.

    ``raw`` may miss entries that are imputed in the state. The state stays as it was.
    """
    n_data = state.leaf.size
    out = np.empty(n_data)
    chain = np.empty((state.levels.size, state.coordinates.shape[1]))
    row = np.empty(raw.shape[1])
    for i in range(n_data):
        old, cut = take_out(state, i, chain)
        if state.sizes[UNLISTED]:
            list_nodes(state)
        row[:] = state.data[i]
        state.data[i] = raw[i]
        out[i] = weigh_all(state, i, rng, FRESH)
        state.data[i] = row
        enter(state, i, old if cut < 0 else cut, chain)
    if state.sizes[UNLISTED]:
        list_nodes(state)
    recount(state)
    return out


def rebuild(
    state: State,
    tree: Tree,
    concentration: float,
    discount: float,
    parameters: dict[str, FloatArray],
    less_discount: bool = False,
) -> None:
    """Put a tree, whose nodes keep their numbers, and parameters into a state."""
    load_tree(state, tree.parent, tree.level, tree.leaf)
    inner = np.flatnonzero(tree.level < tree.level.max())
    set_parameters(state, inner, concentration, discount, parameters, less_discount)
    recount(state)


def set_parameters(
    state: State,
    inner: npt.NDArray[np.int64],
    concentration: float,
    discount: float,
    parameters: dict[str, FloatArray],
    less_discount: bool = False,
) -> None:
    """Put parameters into a state; the sums of its leaves must follow."""
    state.scalars[FACTOR], state.scalars[DISCOUNT] = concentration, discount
    state.levels["alpha"] = concentration * state.levels["shape"] - discount * less_discount
    state.coordinates[inner, :, PHI] = parameters["phi"]
    for name in ("variance", "hyper", "psi"):
        getattr(state, name)[...] = parameters[name]
    if state.sizes[FORM] == FULL:
        state.scalars[LOG_PSI] = np.linalg.slogdet(state.psi)[1]
