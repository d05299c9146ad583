"""The links of a tree in flat arrays, as every engine has them: numbers, children, counts."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL

Index = npt.NDArray[np.int64]  # one type for all numbers of nodes: kernels then compile once
ROOT = 0

# Places in `State.sizes`: nodes listed, the last number given back, numbers ever used, leaves,
# changes of the data's places so far, and whether the list of nodes is out of date.
ALIVE, FREE, MADE, LEAVES, CLOCK, UNLISTED = range(6)

# Places in `scalars`: c and d come first; what follows is the engine's.
FACTOR, DISCOUNT = range(2)


class TreeState(Protocol):
    """What a state of any engine has of the tree and its prior; see `State`."""

    @property
    def leaf(self) -> Index:
        """Where each datum sits."""

    @property
    def nodes(self) -> npt.NDArray[Any]:
        """Links and counts of every node."""

    @property
    def order(self) -> Index:
        """The nodes in use."""

    @property
    def sizes(self) -> Index:
        """How many of each there are."""

    @property
    def levels(self) -> npt.NDArray[Any]:
        """Concentrations."""

    @property
    def scalars(self) -> FloatArray:
        """The factor c and the discount d come first."""


@linked
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


@linked
def give_back(state: TreeState, node: int) -> None:
    """Give the number of a node that hangs nowhere back."""
    state.nodes[node].next_sibling = state.sizes[FREE]
    state.sizes[FREE] = node


@linked
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


@linked
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


@linked
def add_data(state: TreeState, node: int, change: int) -> None:
    """Add to the number of data of a node and of all above it."""
    while node != NULL:
        state.nodes[node].n += change
        node = state.nodes[node].parent


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
