"""Changes to the compressed tree: attach, detach, count, list."""

from __future__ import annotations

from sticktree.checks import IntArray
from sticktree.engine.shared.state import (
    ALIVE,
    FREE,
    LEAVES,
    MADE,
    ROOT,
    UNLISTED,
    State,
    TreeState,
)
from sticktree.jit import inlined, jit
from sticktree.tree import NULL

__all__ = [
    "add_data",
    "attach",
    "detach",
    "link",
    "list_nodes",
    "load_tree",
    "make_node",
    "release_node",
    "take_number",
    "unlink",
]


@inlined
def take_number(state: TreeState, level: int) -> int:
    """Return a number that is free, with the links of a node that hangs nowhere."""
    if state.sizes[FREE] != NULL:
        node = state.sizes[FREE]
        state.sizes[FREE] = state.nodes[node].next_sibling
    else:
        node = state.sizes[MADE]
        state.sizes[MADE] += 1
    state.nodes[node].level = level
    state.nodes[node].n = 0
    state.nodes[node].n_children = 0
    state.nodes[node].first_child = NULL
    state.nodes[node].parent = NULL
    return node


@inlined
def make_node(state: State, level: int) -> int:
    """Return the number of a new node that hangs nowhere yet."""
    node = take_number(state, level)
    state.nodes[node].stamp = NULL
    state.nodes[node].left = 0
    state.nodes[node].covariance = 0.0
    state.nodes[node].share = 0.0
    for d in range(state.total.shape[1]):
        state.total[node, d] = 0.0
    if level == state.levels.size - 1:
        slot = state.sizes[LEAVES]
        state.nodes[node].slot = slot
        state.leaves[slot] = node
        state.sizes[LEAVES] += 1
    return node


@inlined
def release_node(state: State, node: int) -> None:
    """Give the number of a detached node back; the last leaf takes the slot of one that goes."""
    if state.nodes[node].level == state.levels.size - 1:
        state.sizes[LEAVES] -= 1
        slot, last = state.nodes[node].slot, state.sizes[LEAVES]
        moved = state.leaves[last]
        state.leaves[slot] = moved
        state.nodes[moved].slot = slot
        state.narrow[slot] = state.narrow[last]
        for d in range(state.centre.shape[0]):
            state.centre[d, slot] = state.centre[d, last]
    state.nodes[node].next_sibling = state.sizes[FREE]
    state.sizes[FREE] = node


@inlined
def link(state: TreeState, node: int, parent: int) -> None:
    """Make a node that hangs nowhere the first child of another."""
    first = state.nodes[parent].first_child
    state.nodes[node].parent = parent
    state.nodes[node].previous_sibling = NULL
    state.nodes[node].next_sibling = first
    if first != NULL:
        state.nodes[first].previous_sibling = node
    state.nodes[parent].first_child = node
    state.nodes[parent].n_children += 1


@inlined
def unlink(state: TreeState, node: int) -> None:
    """Take a node out of the list of its parent's children."""
    parent, before, after = (
        state.nodes[node].parent,
        state.nodes[node].previous_sibling,
        state.nodes[node].next_sibling,
    )
    if before == NULL:
        state.nodes[parent].first_child = after
    else:
        state.nodes[before].next_sibling = after
    if after != NULL:
        state.nodes[after].previous_sibling = before
    state.nodes[parent].n_children -= 1
    state.nodes[node].parent = NULL


@inlined
def add_data(state: TreeState, node: int, change: int) -> None:
    """Add to the number of data of a node and of all above it."""
    while node != NULL:
        state.nodes[node].n += change
        node = state.nodes[node].parent


@jit
def attach(state: State, node: int, at: int, level: int) -> int:
    """Hang a detached node below the point at ``level`` on the way down to node ``at``.

    If that point is not ``at`` itself, it lies on the edge above and becomes a branching node.
    Return the node whose edge has become shorter, or NULL if none has.
    """
    shortened = NULL
    state.sizes[UNLISTED] = 1
    if state.nodes[at].level != level:
        shortened = at
        above = state.nodes[at].parent
        fork = make_node(state, level)
        state.nodes[fork].n = state.nodes[at].n
        unlink(state, at)
        link(state, fork, above)
        link(state, at, fork)
        at = fork
    link(state, node, at)
    add_data(state, at, state.nodes[node].n)
    return shortened


@jit
def detach(state: State, node: int) -> int:
    """Take a node with all below it out of the tree; a parent that no longer branches goes too.

    Return the deepest node that stays and has changed.
    """
    above = state.nodes[node].parent
    state.sizes[UNLISTED] = 1
    unlink(state, node)
    add_data(state, above, -state.nodes[node].n)
    if above != ROOT and state.nodes[above].n_children == 1:
        only = state.nodes[above].first_child
        grand = state.nodes[above].parent
        unlink(state, only)
        unlink(state, above)
        link(state, only, grand)
        release_node(state, above)
        return only
    return above


@jit
def list_nodes(state: TreeState) -> None:
    """List the nodes in use, in the order of a depth-first walk."""
    count = 0
    node = ROOT
    while node != NULL:
        state.order[count] = node
        count += 1
        if state.nodes[node].first_child != NULL:
            node = state.nodes[node].first_child
            continue
        while node != ROOT and state.nodes[node].next_sibling == NULL:
            node = state.nodes[node].parent
        node = NULL if node == ROOT else state.nodes[node].next_sibling
    state.sizes[ALIVE] = count
    state.sizes[UNLISTED] = 0


@jit
def load_tree(state: State, parent: IntArray, level: IntArray, leaf: IntArray) -> None:
    """Replace the tree of a state by a compressed one whose nodes keep their numbers."""
    state.sizes[FREE] = NULL
    state.sizes[MADE] = 0
    state.sizes[LEAVES] = 0
    for node in range(parent.size):
        made = make_node(state, int(level[node]))
        if node != ROOT:
            link(state, made, int(parent[node]))
    for i in range(leaf.size):
        state.leaf[i] = leaf[i]
        add_data(state, int(leaf[i]), 1)
        for d in range(state.data.shape[1]):
            state.total[leaf[i], d] += state.data[i, d]
    list_nodes(state)
