"""The tree of a chain with own noise, whose leaves have sums and no rows."""

from __future__ import annotations

from sticktree.engine.common.links import give_back, link, list_nodes, unlink
from sticktree.engine.own.state import State
from sticktree.engine.own.structure import make_node
from sticktree.jit import jit

__all__ = ["join_leaves", "split_leaf"]


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
