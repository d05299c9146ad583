"""The tree of a chain with own noise, whose leaves have sums and no rows."""

from __future__ import annotations

from sticktree.checks import FloatArray
from sticktree.engine.own.hyper import settle
from sticktree.engine.own.leaves import clear
from sticktree.engine.own.state import COUNT, FORM, FULL, OUTER, SQUARES, TOTAL, State
from sticktree.engine.own.structure import make_node
from sticktree.engine.shared.state import ALIVE, FREE, Index
from sticktree.engine.shared.structure import link, list_nodes, unlink
from sticktree.jit import jit


@jit
def recount(
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
def split_leaf(state: State, leaf: int) -> int:
    """Return a new leaf beside a leaf; the counts must follow."""
    node = make_node(state, state.levels.size - 1)
    link(state, node, state.nodes[leaf].parent)
    list_nodes(state)
    return node


@jit
def join_leaves(state: State, removed: int) -> None:
    """Take a leaf away that has a sibling; the counts must follow."""
    unlink(state, removed)
    state.nodes[removed].n = 0
    state.nodes[removed].next_sibling = state.sizes[FREE]
    state.sizes[FREE] = removed
    list_nodes(state)
