"""Bringing messages and seats up to date after a change of the tree."""

from __future__ import annotations

from sticktree.engine.shared.messages import receive, receive_path, send
from sticktree.engine.shared.seats import refresh, refresh_path
from sticktree.engine.shared.state import ALIVE, State
from sticktree.engine.shared.structure import list_nodes
from sticktree.jit import jit
from sticktree.tree import NULL

__all__ = ["settle", "settle_attached", "settle_detached"]


@jit
def settle(state: State) -> None:
    """Recompute all that depends on the tree."""
    list_nodes(state)
    for k in range(state.sizes[ALIVE] - 1, -1, -1):
        receive(state, state.order[k])
        refresh(state, state.order[k])
    send(state)


@jit
def settle_detached(state: State, changed: int) -> None:
    """Recompute what a `detach` has changed on the way up; ``changed`` is what it returned."""
    receive_path(state, changed)
    refresh_path(state, changed)


@jit
def settle_attached(state: State, node: int, shortened: int) -> None:
    """Recompute what an `attach` has changed on the way up; ``shortened`` is what it returned."""
    if shortened != NULL:
        receive(state, shortened)
        refresh(state, shortened)
    receive_path(state, node)
    refresh_path(state, node)
