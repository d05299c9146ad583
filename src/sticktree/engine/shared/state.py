"""The state of a chain: a compressed tree with its data, messages and hyper-parameters.

Only branching nodes and leaves are stored; an edge that skips levels stands for a chain of only
children. Leaves lie at the last level. Node 0 is the root, and it alone may have a single child.
All arrays have room for the largest tree that the data could need; memory that is never touched
costs nothing. Every array is changed in place.

Numbers of a node lie together in one record, as do those of a level: a kernel then finds what it
needs of a node in one or two cache lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.common.address import Addressed
from sticktree.engine.common.groups import (
    add_group,
    clear_group,
    give_mass_back,
    group_arrays,
    is_grouped,
    take_sticks,
)
from sticktree.engine.common.links import (
    FREE,
    LEAVES,
    MADE,
    ROOT,
    UNLISTED,
    Index,
    add_data,
    give_back,
    link,
    list_nodes,
    take_number,
    unlink,
)
from sticktree.jit import inlined, jit, linked
from sticktree.model import Line
from sticktree.tree.arrays import NULL

# Places in `State.scalars` after c and d: the noise r in units of Σ, how far a centre may be off.
NOISE, DRIFT = 2, 3
SQUARE, ALONG, EDGE = 0, 1, 2  # places in `State.product`; see places.py
NODE = np.dtype(
    [
        # the tree
        ("parent", np.int64),
        ("level", np.int64),
        ("n", np.int64),  # data at or below
        ("n_children", np.int64),
        ("first_child", np.int64),
        ("next_sibling", np.int64),  # or the number given back before, if this one has been
        ("previous_sibling", np.int64),
        ("slot", np.int64),  # of a leaf, in `State.leaves`
        ("stamp", np.int64),  # the time when mean and variance were computed
        ("left", np.int64),  # 1 if the datum at hand has been taken out below, else 0
        # Gaussian messages; see messages.py
        ("precision", np.float64),  # Λ, from below
        ("gain", np.float64),  # G = 1/(1 + Λ V) of the edge above
        ("variance", np.float64),  # of φ given all data
        # restaurant factors; see seats.py
        ("inverse", np.float64),  # 1/(n + α)
        ("passing", np.float64),  # weight of the way from the parent down to here
        ("opening", np.float64),  # bound on new branches at the node
        ("opening_above", np.float64),  # bound on new branches on the edge above
        ("offers", np.float64),  # bounds on all new branches below, summed over the children
        ("share", np.float64),  # what the node adds to the offers of its parent
        # working space
        ("covariance", np.float64),  # of φ with that of the leaf at hand
        ("path", np.float64),  # probability that the datum at hand comes by
    ]
)
LEVEL = np.dtype(
    [
        ("shape", np.float64),  # b(l)
        ("alpha", np.float64),  # c·b(l), or c·b(l) − d
        ("scale", np.float64),  # v_l in units of Σ
        ("reach", np.float64),  # v_0 + … + v_l
        ("bound", np.float64),  # largest density of a datum on a new branch below
    ]
)
NEAR = np.dtype([("leaf", np.int64), ("weight", np.float64)])


@dataclass(frozen=True, eq=False)
class State(Addressed):
    """Everything a move reads and changes: N data of dimension D, room for M nodes."""

    data: FloatArray  # (N, D), whitened by the current Σ
    leaf: Index  # (N,) where each datum sits; NULL while it is out of the tree
    nodes: npt.NDArray[Any]  # (M,) of NODE
    order: Index  # (M,) the nodes in use, parents before children
    sizes: Index  # (6,)
    levels: npt.NDArray[Any]  # (L + 1,) of LEVEL; the last has no shape and alpha
    scalars: FloatArray  # (4,)
    total: FloatArray  # (M, D) sum of the data of a leaf
    weighted: FloatArray  # (M, D) h, from below
    mean: FloatArray  # (M, D) of φ given all data
    lost: FloatArray  # (M,) by how many data less than n the place of a leaf is known, or none
    # the leaves side by side, for the search of those near a datum; see places.py
    leaves: Index  # (N,) the leaf in each slot
    centre: FloatArray  # (D, N) its mean, or what that was a short time ago
    narrow: FloatArray  # (N,) at most 1 over its predictive variance
    # working space of the datum at hand; see datum.py
    shift: FloatArray  # (D,) change of means per covariance, or of the message that goes up
    saved: npt.NDArray[Any]  # (L + 1,) of NODE: those from its leaf to the root, with the datum in
    distance: FloatArray  # (N,) its squared distance from each centre
    near: npt.NDArray[Any]  # (N,) of NEAR: leaves near it
    product: FloatArray  # (M, 3) what its density needs of a mean, where all places are weighed
    # groups that share the tree, J of them or none; see groups.py
    group: Index  # (N,) of each datum
    seated: Index  # (M, J + 1) data of each group at or below a node
    stick: FloatArray  # (M, L) shared sticks
    rest: FloatArray  # (M, L) what is left of them
    gamma: FloatArray  # (1,) γ
    present: Index  # (1,) the group of the datum at hand, or NULL if there are no groups
    # groups that are parents, P of them or none; see common/parents.py
    theta: FloatArray  # (M, L, P) logs of their sticks
    theta_rest: FloatArray  # (M, L, P) logs of what is left of them
    above: Index  # (J + 1,) by whose sticks each group goes
    direct: Index  # (J + 1,) 1 if these are its own
    elder: Index  # (P,) the parent of each
    kappa: FloatArray  # (1,) κ


@inlined
def tail(state: State, level: int) -> float:
    """Return the variance of a datum around a node of the given level when it goes down alone."""
    return (
        state.levels[state.levels.size - 1].reach - state.levels[level].reach + state.scalars[NOISE]
    )


@jit
def set_scales(state: State) -> None:
    """Recompute what depends on the scales of the levels alone."""
    reach = 0.0
    for level in range(state.levels.size):
        reach += state.levels[level].scale
        state.levels[level].reach = reach
    for level in range(state.levels.size):
        ratio = tail(state, level) / state.scalars[NOISE]
        state.levels[level].bound = ratio ** (-0.5 * state.data.shape[1])


def empty_state(
    data: FloatArray,
    shape: FloatArray,
    scale: FloatArray,
    c: float,
    discount: float,
    noise: float,
    less_discount: bool = False,
    group: Index | IntArray | None = None,
    line: Line | None = None,
) -> State:
    """Return a state with all data out of the tree."""
    n_data, dimension = data.shape
    room = 2 * n_data + 2
    state = State(
        data=np.array(data, dtype=np.float64, order="C"),
        leaf=np.full(n_data, NULL, dtype=np.int64),
        nodes=np.zeros(room, dtype=NODE),  # this and `total` go into files: no rubbish in them
        order=np.empty(room, dtype=np.int64),
        sizes=np.array([1, NULL, 1, 0, 0, 0], dtype=np.int64),
        levels=np.zeros(len(shape) + 1, dtype=LEVEL),
        scalars=np.array([c, discount, noise, 0.0], dtype=np.float64),
        total=np.zeros((room, dimension)),
        weighted=np.empty((room, dimension)),
        mean=np.empty((room, dimension)),
        lost=np.empty(0),
        leaves=np.empty(n_data + 1, dtype=np.int64),
        centre=np.empty((dimension, n_data + 1)),
        narrow=np.empty(n_data + 1),
        shift=np.zeros(dimension),
        saved=np.empty(len(shape) + 1, dtype=NODE),
        distance=np.empty(n_data + 1),
        near=np.empty(n_data + 1, dtype=NEAR),
        product=np.empty((room, 3)),
        **group_arrays(room, len(shape), group, line),
    )
    root = state.nodes[ROOT : ROOT + 1]
    root.fill(0)
    for name in ("parent", "first_child", "next_sibling", "previous_sibling"):
        root[name] = NULL
    state.order[0] = ROOT
    state.levels["shape"][:-1] = shape
    state.levels["alpha"] = c * state.levels["shape"] - discount * less_discount
    state.levels["scale"] = scale
    set_scales(state)
    return state


@linked
def make_node(state: State, level: int) -> int:
    """Return the number of a new node that hangs nowhere yet."""
    node = take_number(state, level)
    state.nodes[node].stamp = NULL
    state.nodes[node].left = 0
    state.nodes[node].covariance = 0.0
    state.nodes[node].share = 0.0
    clear_group(state, node)
    for d in range(state.total.shape[1]):
        state.total[node, d] = 0.0
    if level == state.levels.size - 1:
        slot = state.sizes[LEAVES]
        state.nodes[node].slot = slot
        state.leaves[slot] = node
        state.sizes[LEAVES] += 1
    return node


@linked
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
    give_back(state, node)


@linked
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
        if is_grouped(state):
            take_sticks(state, fork, at, above, level)
            add_group(state, fork, at, 1)
        unlink(state, at)
        link(state, fork, above)
        link(state, at, fork)
        at = fork
    link(state, node, at)
    add_data(state, at, state.nodes[node].n)
    if is_grouped(state):
        add_group(state, at, node, 1)
    return shortened


@linked
def detach(state: State, node: int) -> int:
    """Take a node with all below it out of the tree; a parent that no longer branches goes too.

    Return the deepest node that stays and has changed.
    """
    above = state.nodes[node].parent
    state.sizes[UNLISTED] = 1
    unlink(state, node)
    add_data(state, above, -state.nodes[node].n)
    if is_grouped(state):
        add_group(state, above, node, -1)
        give_mass_back(state, node, above)
    if above != ROOT and state.nodes[above].n_children == 1:
        only = state.nodes[above].first_child
        grand = state.nodes[above].parent
        if is_grouped(state):
            take_sticks(state, only, above, grand, state.nodes[above].level)
        unlink(state, only)
        unlink(state, above)
        link(state, only, grand)
        release_node(state, above)
        return only
    return above


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
