"""Changes to the full tree: chains of only children come and go with their one leaf or subtree.

Leaves and twigs are listed, and so are the data of every leaf, for moves that look for them.
"""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.groups import clear_group, give_mass_back, is_grouped
from sticktree.engine.common.links import (
    ALIVE,
    LEAVES,
    ROOT,
    UNLISTED,
    add_data,
    give_back,
    link,
    list_nodes,
    take_number,
    unlink,
)
from sticktree.engine.own.leaves import clear, expect, renew
from sticktree.engine.own.sketch import move_sketch
from sticktree.engine.own.state import PHI, TWIGS, State
from sticktree.jit import inlined, jit, linked
from sticktree.tree.arrays import NULL


@linked
def make_node(state: State, level: int) -> int:
    """Return the number of a new node that hangs nowhere yet."""
    node = take_number(state, level)
    clear(state, node)
    clear_group(state, node)
    state.first[node] = NULL
    enlist(state, node)
    return node


@inlined
def enlist(state: State, node: int) -> None:
    """List a new leaf or twig."""
    level = state.nodes[node].level
    if level == state.levels.size - 1:
        state.place[node] = state.sizes[LEAVES]
        state.leaves[state.sizes[LEAVES]] = node
        state.sizes[LEAVES] += 1
    elif level == state.levels.size - 2:
        state.place[node] = state.sizes[TWIGS]
        state.twigs[state.sizes[TWIGS]] = node
        state.sizes[TWIGS] += 1


@linked
def give_up(state: State, node: int) -> None:
    """Give the number of a node that hangs nowhere back, and strike it off the lists."""
    level, place = state.nodes[node].level, state.place[node]
    if level == state.levels.size - 1:
        state.sizes[LEAVES] -= 1
        last = state.leaves[state.sizes[LEAVES]]
        state.leaves[place] = last
        move_sketch(state, state.place[last], place)
        state.place[last] = place
    elif level == state.levels.size - 2:
        state.sizes[TWIGS] -= 1
        last = state.twigs[state.sizes[TWIGS]]
        state.twigs[place] = last
        state.place[last] = place
    give_back(state, node)


@linked
def list_ends(state: State) -> None:
    """List leaves and twigs in the order of the tree, whatever came and went before."""
    state.sizes[LEAVES] = 0
    state.sizes[TWIGS] = 0
    for k in range(state.sizes[ALIVE]):
        enlist(state, state.order[k])


@linked
def list_data(state: State) -> None:
    """List the data of every leaf, in their order."""
    for k in range(state.sizes[LEAVES]):
        state.first[state.leaves[k]] = NULL
    for i in range(state.leaf.size - 1, -1, -1):
        if state.leaf[i] != NULL:
            sit(state, i, state.leaf[i])


@inlined
def sit(state: State, i: int, leaf: int) -> None:
    """List a datum with those of a leaf; sums and counts must follow."""
    after = state.first[leaf]
    state.leaf[i] = leaf
    state.beside[i, 0], state.beside[i, 1] = NULL, after
    if after != NULL:
        state.beside[after, 0] = i
    state.first[leaf] = i


@inlined
def rise(state: State, i: int) -> None:
    """Strike a datum off the list of its leaf."""
    before, after = state.beside[i, 0], state.beside[i, 1]
    if before == NULL:
        state.first[state.leaf[i]] = after
    else:
        state.beside[before, 1] = after
    if after != NULL:
        state.beside[after, 0] = before
    state.leaf[i] = NULL


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
    if is_grouped(state):
        give_mass_back(state, top, stays)
    unlink(state, top)
    state.sizes[UNLISTED] = 1
    while top != node:
        below = state.nodes[top].first_child
        for p in range(state.coordinates.shape[1]):
            chain[state.nodes[top].level, p] = state.coordinates[top, p, PHI]
        give_up(state, top)
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
    give_up(state, gone)
    list_nodes(state)


@jit
def drop_leaf(state: State, leaf: int) -> None:
    """Take a leaf away with its data, and nodes above that it leaves without any."""
    add_data(state, leaf, -state.nodes[leaf].n)
    prune(state, leaf, np.empty((state.levels.size, state.coordinates.shape[1])))
    give_up(state, leaf)
    list_nodes(state)
