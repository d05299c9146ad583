"""What both splits and merges ask of two sibling nodes: how many they are, and what is around."""

from __future__ import annotations

from sticktree.checks import FloatArray
from sticktree.engine.shared.state import State
from sticktree.jit import jit

__all__ = ["count_siblings", "look_outside"]


@jit
def count_siblings(state: State, node: int, level: int) -> int:
    """Return the number of nodes at ``level`` below the same node of the level above."""
    parent = state.nodes[node].parent
    return state.nodes[parent].n_children if state.nodes[parent].level == level - 1 else 1


@jit
def look_outside(state: State, first: int, second: int, level: int, mean: FloatArray) -> float:
    """Fill in the mean of φ one level up given all data but theirs; return its variance.

    The nodes cross ``level``; they may be one and the same.
    """
    parent = state.nodes[first].parent
    precision = 1.0 / state.nodes[parent].variance
    for d in range(mean.size):
        mean[d] = state.mean[parent, d] * precision
    for k in range(1 if first == second else 2):
        node = first if k == 0 else second
        gain = state.nodes[node].gain
        precision -= state.nodes[node].precision * gain
        for d in range(mean.size):
            mean[d] -= state.weighted[node, d] * gain
    for d in range(mean.size):
        mean[d] /= precision
    above = state.levels[state.nodes[parent].level].reach
    return 1.0 / precision + state.levels[level - 1].reach - above
