"""The state of a chain: a full tree, φ at its inner nodes, and what each leaf knows of its data.

Every leaf has a node at each level above it. A node of the last level but one, a twig, stands, by
its own row of the leaf arrays, for an empty leaf below it: what a datum on a new leaf would find.
A few rows past the tree are spare: they serve leaves and chains of nodes that are only proposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.common.address import Addressed
from sticktree.tree.arrays import NULL

if TYPE_CHECKING:  # what is read of a file needs the places below, and no kernels
    from sticktree.engine.common.links import Index

GAUSSIAN = 0  # the code of Gaussian columns, which may belong together; see kinds
DIAG, SPHERICAL, FULL = range(3)
KAPPA, SHAPE, SCALE = range(3)  # rows of `State.hyper`
LOG_PSI = 2  # place of log |Ψ| in `State.scalars`, after c and d
TWIGS, FORM = 4, 6  # places of the number of twigs and of the form of the Gaussian columns in
# `State.sizes`
# Of `State.coordinates`: φ of an inner node; what one of the last inner level gives its leaves as
# pseudo-counts or centre; and of a leaf the sum of its entries, or the number of each category.
PHI, PRIOR, TOTAL = range(3)
# Of `State.entries`: how many of a leaf's entries are there, and their sum of squares, or that of
# their trials; then the
# predictive t of a Gaussian column, base − power · log(1 + width · (y − centre)²). Where variances
# have a floor, that is one of many factors: the others are, in logarithms, ABOVE of the leaf, which
# base has in it, and LIFT at the centre, which the largest density has in it, and base as well.
COUNT, SQUARES, CENTRE, WIDTH, POWER, BASE, ABOVE, LIFT = range(8)
MATTERS = -0.01  # LIFT below which a floor changes how a density falls off
# Of `State.matrices`: the sum of y yᵀ of a leaf, and the Cholesky factor of its scale matrix.
OUTER, ROOT_OF = range(2)
STEPS = 256  # leaves of fewer data find some of their constants in a table
# Rows past the tree: auxiliary nodes, or the halves of a leaf and both together; and last, the
# empty leaf that stands for all.
SPARE = 9

# NULL as a kernel's variable: a number that is known when a kernel is compiled would be a type of
# its own, and all that takes it would be compiled once more.
NOWHERE: int = np.int64(NULL)  # type: ignore[assignment]

NODE = np.dtype(
    [
        ("parent", np.int64),
        ("level", np.int64),
        ("n", np.int64),  # data at or below
        ("n_children", np.int64),
        ("first_child", np.int64),
        ("next_sibling", np.int64),  # or the number given back before, if this one has been
        ("previous_sibling", np.int64),
        ("path", np.float64),  # probability, or its log, that the datum at hand comes by
        ("base", np.float64),  # the largest log density of a complete datum at a leaf
        ("power", np.float64),  # of the Gaussian columns together, or the least of theirs
        ("log_det", np.float64),  # of the scale matrix of a leaf, if full
    ]
)

COLUMN = np.dtype(
    [
        ("kind", np.int64),
        ("offset", np.int64),  # its first coordinate of φ
        ("width", np.int64),  # the number of its coordinates
        ("floor", np.float64),  # the least variance of a leaf
        ("trials", np.int64),  # the column that has its numbers of trials, or NULL
    ]
)

LEVEL = np.dtype([("shape", np.float64), ("alpha", np.float64)])


@dataclass(frozen=True, eq=False)
class State(Addressed):
    """Everything a move reads and changes: N data of D columns, P coordinates, M nodes."""

    data: FloatArray  # (N, D); NaN is missing
    leaf: Index  # (N,) where each datum sits; NULL while it is out of the tree
    nodes: npt.NDArray[Any]  # (M,) of NODE
    order: Index  # (M,) the nodes in use, parents before children
    sizes: Index  # (7,) as in engine.state, and the form
    levels: npt.NDArray[Any]  # (L + 1,) of LEVEL
    scalars: FloatArray  # (3,) c, d and log |Ψ|
    columns: npt.NDArray[Any]  # (D,) of COLUMN
    coordinates: FloatArray  # (M, P, 3) PHI, PRIOR and TOTAL
    variance: FloatArray  # (L, P) v_l of the step into each level above the leaves
    hyper: FloatArray  # (3, D) κ, a and b of each column
    entries: FloatArray  # (M, D, 8) COUNT, SQUARES, CENTRE, WIDTH, POWER and so on
    gaussian: Index  # (G,) the Gaussian columns
    psi: FloatArray  # (G, G) Ψ if full, else empty
    matrices: FloatArray  # (M, 2, G, G) OUTER and ROOT_OF if full, else empty
    leaves: Index  # (M,) the leaves, in no order
    twigs: Index  # (M,) the nodes of the last inner level, in no order
    place: Index  # (M,) where a leaf or twig stands in its list
    first: Index  # (M,) a datum of each leaf, or NULL
    beside: Index  # (N, 2) the data before and after each one in its leaf, or NULL
    near: Index  # (M,) places that the datum at hand may choose
    weight: FloatArray  # (M, 2) log density and weight of each
    steps: FloatArray  # (D, STEPS) part of the log density at a leaf's centre, by its COUNT; NaN
    sketch: FloatArray  # (17, N + 9) what rules leaves out, in the order of ``leaves``; sketch.py
    bound: FloatArray  # (5, N + 9) by that, of the datum at hand
    reach: FloatArray  # (L, P, 2) of the steps from each level to the twigs; see branches.py
    work: FloatArray  # (2, D) for what is needed for a moment
    # groups that share the tree, J of them or none; see common/groups.py
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
