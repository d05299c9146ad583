"""The state of a chain: a compressed tree with its data, messages and hyper-parameters.

Only branching nodes and leaves are stored; an edge that skips levels stands for a chain of only
children. Leaves lie at the last level. Node 0 is the root, and it alone may have a single child.
All arrays have room for the largest tree that the data could need; memory that is never touched
costs nothing. Every array is changed in place.

Numbers of a node lie together in one record, as do those of a level: a kernel then passes a few
arrays on, not forty, and finds what it needs of a node in one or two cache lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.tree import NULL, Tree

__all__ = ["ROOT", "State", "empty_state", "tree_of"]

ROOT = 0

# Places in `State.sizes`: nodes in use, numbers on the stack, numbers ever used.
ALIVE, FREE, MADE = 0, 1, 2
# Places in `State.scalars`: c, d, and the noise r in units of Σ.
FACTOR, DISCOUNT, NOISE = 0, 1, 2

NODE = np.dtype(
    [
        # the tree
        ("parent", np.int32),
        ("level", np.int32),
        ("n", np.int32),  # data at or below
        ("n_children", np.int32),
        ("first_child", np.int32),
        ("next_sibling", np.int32),
        ("previous_sibling", np.int32),
        ("left", np.int32),  # 1 where the datum at hand is counted but should not be, else 0
        # Gaussian messages; see messages.py
        ("precision", np.float64),  # Λ, from below
        ("gain", np.float64),  # G = 1/(1 + Λ V) of the edge above
        ("variance", np.float64),  # of φ given all data
        # restaurant factors; see seats.py
        ("inverse", np.float64),  # 1/(n + α)
        ("passing", np.float64),  # weight of the way from the parent down to here
        ("opening", np.float64),  # bound on new branches at the node
        ("opening_above", np.float64),  # bound on new branches on the edge above
        # working space
        ("covariance", np.float64),  # of φ with that of the leaf at hand
        ("path", np.float64),  # probability that the datum at hand comes by
        ("weight", np.float64),  # of the leaf for the datum at hand
    ]
)

LEVEL = np.dtype(
    [
        ("shape", np.float64),  # b(l)
        ("alpha", np.float64),  # c·b(l)
        ("scale", np.float64),  # v_l in units of Σ
        ("reach", np.float64),  # v_0 + … + v_l
        ("bound", np.float64),  # largest density of a datum on a new branch below
    ]
)


class State(NamedTuple):
    """Everything a move reads and changes: N data of dimension D, room for M nodes."""

    data: FloatArray  # (N, D), whitened by the current Σ
    leaf: IntArray  # (N,) where each datum sits; NULL while it is out of the tree
    nodes: npt.NDArray[Any]  # (M,) of NODE
    order: IntArray  # (M,) the nodes in use, parents before children
    free: IntArray  # (M,) a stack of numbers given back
    sizes: IntArray  # (3,)
    levels: npt.NDArray[Any]  # (L + 1,) of LEVEL; the last has no shape and alpha
    scalars: FloatArray  # (3,)
    total: FloatArray  # (M, D) sum of the data of a leaf
    weighted: FloatArray  # (M, D) h, from below
    mean: FloatArray  # (M, D) of φ given all data
    shift: FloatArray  # (D,) change of means per covariance, without the datum at hand


def empty_state(
    data: FloatArray, shape: FloatArray, scale: FloatArray, c: float, discount: float, noise: float
) -> State:
    """Return a state with all data out of the tree."""
    n_data, dimension = data.shape
    room = 2 * n_data + 2
    state = State(
        data=np.array(data, dtype=np.float64, order="C"),
        leaf=np.full(n_data, NULL, dtype=np.int32),
        nodes=np.empty(room, dtype=NODE),
        order=np.empty(room, dtype=np.int32),
        free=np.empty(room, dtype=np.int32),
        sizes=np.array([1, 0, 1], dtype=np.int32),
        levels=np.zeros(len(shape) + 1, dtype=LEVEL),
        scalars=np.array([c, discount, noise], dtype=np.float64),
        total=np.empty((room, dimension)),
        weighted=np.empty((room, dimension)),
        mean=np.empty((room, dimension)),
        shift=np.zeros(dimension),
    )
    root = state.nodes[ROOT : ROOT + 1]
    root.fill(0)
    for link in ("parent", "first_child", "next_sibling", "previous_sibling"):
        root[link] = NULL
    state.order[0] = ROOT
    state.levels["shape"][:-1] = shape
    state.levels["alpha"] = c * state.levels["shape"]
    state.levels["scale"] = scale
    from sticktree.engine.seats import set_scales

    set_scales(state)
    return state


def tree_of(state: State) -> Tree:
    """Return the tree of a state, compressed; nodes are numbered in the order of the walk."""
    order = state.order[: state.sizes[ALIVE]]
    new_id = np.full(state.sizes[MADE], NULL, dtype=np.int32)
    new_id[order] = np.arange(order.size)
    nodes = state.nodes[order]
    parent = nodes["parent"].copy()
    parent[1:] = new_id[parent[1:]]
    return Tree.from_trusted(parent, new_id[state.leaf], nodes["level"].copy(), nodes["n"].copy())
