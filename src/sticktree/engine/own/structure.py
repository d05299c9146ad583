"""Changes to the full tree: chains of only children come and go with their one leaf or subtree."""

from __future__ import annotations

from sticktree.checks import FloatArray
from sticktree.engine.common.links import (
    ROOT,
    UNLISTED,
    give_back,
    link,
    list_nodes,
    take_number,
    unlink,
)
from sticktree.engine.own.leaves import clear, expect, renew
from sticktree.engine.own.state import PHI, State
from sticktree.jit import jit, linked


@linked
def make_node(state: State, level: int) -> int:
    """Return the number of a new node that hangs nowhere yet."""
    node = take_number(state, level)
    clear(state, node)
    return node


@linked
def prune(state: State, node: int, chain: FloatArray) -> int:
    """Take a node with all below it out of the tree, and nodes above that it leaves without data.

    Counts of data must be right already. φ of the nodes that go with it are kept in ``chain``, one
    row a level. Return the node that it is cut off from.
    """
    top = node
    while state.nodes[state.nodes[top].parent].n == 0 and state.nodes[top].parent != ROOT:
        top = state.nodes[top].parent
    stays = state.nodes[top].parent
    unlink(state, top)
    state.sizes[UNLISTED] = 1
    while top != node:
        below = state.nodes[top].first_child
        for p in range(state.coordinates.shape[1]):
            chain[state.nodes[top].level, p] = state.coordinates[top, p, PHI]
        give_back(state, top)
        top = below
    return stays


@linked
def grow(state: State, at: int, level: int, chain: FloatArray) -> int:
    """Hang a chain of nodes down to ``level`` below node ``at``; return the last.

    φ of each is its row of ``chain``.
    """
    state.sizes[UNLISTED] = 1
    for j in range(state.nodes[at].level + 1, level + 1):
        node = make_node(state, j)
        for p in range(state.coordinates.shape[1]):
            state.coordinates[node, p, PHI] = chain[j, p]
        link(state, node, at)
        if j == state.levels.size - 2:
            expect(state, node)
        at = node
    return at


@linked
def hang(state: State, node: int, at: int) -> None:
    """Hang a node with all below it below ``at``; the counts of data must follow."""
    state.sizes[UNLISTED] = 1
    link(state, node, at)
    if state.nodes[node].level == state.levels.size - 1:
        renew(state, node)


@jit
def split_leaf(state: State, leaf: int) -> int:
    """Return a new leaf beside a leaf; the counts must follow."""
    node = make_node(state, state.levels.size - 1)
    link(state, node, state.nodes[leaf].parent)
    list_nodes(state)
    return node


@jit
def join_leaves(state: State, gone: int) -> None:
    """Take a leaf away that has a sibling; the counts must follow."""
    unlink(state, gone)
    state.nodes[gone].n = 0
    give_back(state, gone)
    list_nodes(state)
