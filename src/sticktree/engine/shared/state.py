"""The state of a chain: a compressed tree with its data, messages and hyper-parameters.

Only branching nodes and leaves are stored; an edge that skips levels stands for a chain of only
children. Leaves lie at the last level. Node 0 is the root, and it alone may have a single child.
All arrays have room for the largest tree that the data could need; memory that is never touched
costs nothing. Every array is changed in place.

Numbers of a node lie together in one record, as do those of a level: a kernel then passes a few
arrays on, not forty, and finds what it needs of a node in one or two cache lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.tree import NULL, Tree

__all__ = ["ROOT", "Index", "State", "TreeState", "empty_state", "tree_of"]

Index = npt.NDArray[np.int64]  # one type for all numbers of nodes: kernels then compile once
ROOT = 0

# Places in `State.sizes`: nodes listed, the last number given back, numbers ever used, leaves,
# changes of the data's places so far, and whether the list of nodes is out of date.
ALIVE, FREE, MADE, LEAVES, CLOCK, UNLISTED = range(6)
# Places in `State.scalars`: c, d, the noise r in units of Σ, and how far a centre may be off.
FACTOR, DISCOUNT, NOISE, DRIFT = range(4)

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


class State(NamedTuple):
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
    # the leaves side by side, for the search of those near a datum; see near.py
    leaves: Index  # (N,) the leaf in each slot
    centre: FloatArray  # (D, N) its mean, or what that was a short time ago
    narrow: FloatArray  # (N,) at most 1 over its predictive variance
    # working space of the datum at hand; see datum.py
    shift: FloatArray  # (D,) change of means per covariance, or of the message that goes up
    saved: npt.NDArray[Any]  # (L + 1,) of NODE: those from its leaf to the root, with the datum in
    distance: FloatArray  # (N,) its squared distance from each centre
    near: npt.NDArray[Any]  # (N,) of NEAR: leaves near it


def empty_state(
    data: FloatArray,
    shape: FloatArray,
    scale: FloatArray,
    c: float,
    discount: float,
    noise: float,
    less_discount: bool = False,
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
        leaves=np.empty(n_data + 1, dtype=np.int64),
        centre=np.empty((dimension, n_data + 1)),
        narrow=np.empty(n_data + 1),
        shift=np.zeros(dimension),
        saved=np.empty(len(shape) + 1, dtype=NODE),
        distance=np.empty(n_data + 1),
        near=np.empty(n_data + 1, dtype=NEAR),
    )
    root = state.nodes[ROOT : ROOT + 1]
    root.fill(0)
    for link in ("parent", "first_child", "next_sibling", "previous_sibling"):
        root[link] = NULL
    state.order[0] = ROOT
    state.levels["shape"][:-1] = shape
    state.levels["alpha"] = c * state.levels["shape"] - discount * less_discount
    state.levels["scale"] = scale
    from sticktree.engine.shared.seats import set_scales

    set_scales(state)
    return state


def tree_of(state: TreeState) -> Tree:
    """Return the tree of a state as it is stored; nodes are numbered in the order of the walk."""
    order = state.order[: state.sizes[ALIVE]]
    new_id = np.full(state.sizes[MADE], NULL, dtype=np.int32)
    new_id[order] = np.arange(order.size)
    nodes = state.nodes[order]
    parent = np.full(order.size, NULL, dtype=np.int32)
    parent[1:] = new_id[nodes["parent"][1:]]
    level, n = nodes["level"].astype(np.int32), nodes["n"].astype(np.int32)
    return Tree.from_trusted(parent, new_id[state.leaf], level, n)
