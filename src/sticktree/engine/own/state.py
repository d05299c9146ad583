"""The state of a chain: a full tree, φ at its inner nodes, and what each leaf knows of its data.

Every leaf has a node at each level above it. A node of the last level but one stands, by its own
row of the leaf arrays, for an empty leaf below it: what a datum on a new leaf would find. A few
rows past the tree are spare: they serve leaves and chains of nodes that are only proposed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.common.links import ROOT, Index
from sticktree.model import Model
from sticktree.tree.arrays import NULL

__all__ = [
    "BASE",
    "CATEGORICAL",
    "CENTRE",
    "CODES",
    "COUNT",
    "DIAG",
    "FORM",
    "FULL",
    "GAUSSIAN",
    "KAPPA",
    "LOG_PSI",
    "NEGATIVE_BINOMIAL",
    "NOWHERE",
    "OUTER",
    "PHI",
    "POISSON",
    "POWER",
    "PRIOR",
    "ROOT_OF",
    "SCALE",
    "SHAPE",
    "SPARE",
    "SPHERICAL",
    "SQUARES",
    "TOTAL",
    "WIDTH",
    "State",
    "empty_state",
]

GAUSSIAN, CATEGORICAL, POISSON, NEGATIVE_BINOMIAL = range(4)
CODES = {
    "gaussian": GAUSSIAN,
    "categorical": CATEGORICAL,
    "poisson": POISSON,
    "negative_binomial": NEGATIVE_BINOMIAL,
}
DIAG, SPHERICAL, FULL = range(3)
KAPPA, SHAPE, SCALE = range(3)  # rows of `State.hyper`
LOG_PSI = 2  # place of log |Ψ| in `State.scalars`, after c and d
FORM = 6  # place of the form of the Gaussian columns in `State.sizes`
# Of `State.coordinates`: φ of an inner node; what one of the last inner level gives its leaves as
# pseudo-counts or centre; and of a leaf the sum of its entries, or the number of each category.
PHI, PRIOR, TOTAL = range(3)
# Of `State.entries`: how many of a leaf's entries are there, and their sum of squares; then the
# predictive t of a Gaussian column, base − power · log(1 + width · (y − centre)²).
COUNT, SQUARES, CENTRE, WIDTH, POWER, BASE = range(6)
# Of `State.matrices`: the sum of y yᵀ of a leaf, and the Cholesky factor of its scale matrix.
OUTER, ROOT_OF = range(2)
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
        ("power", np.float64),  # of the Gaussian columns together, if they share a variance
        ("log_det", np.float64),  # of the scale matrix of a leaf, if full
    ]
)

COLUMN = np.dtype(
    [
        ("kind", np.int64),
        ("offset", np.int64),  # its first coordinate of φ
        ("width", np.int64),  # the number of its coordinates
        ("floor", np.float64),  # the least variance of a leaf
    ]
)

LEVEL = np.dtype([("shape", np.float64), ("alpha", np.float64)])


class State(NamedTuple):
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
    entries: FloatArray  # (M, D, 6) COUNT, SQUARES, CENTRE, WIDTH, POWER and BASE
    gaussian: Index  # (G,) the Gaussian columns
    psi: FloatArray  # (G, G) Ψ if full, else empty
    matrices: FloatArray  # (M, 2, G, G) OUTER and ROOT_OF if full, else empty


def empty_state(data: FloatArray, model: Model) -> State:
    """Return a state with all data out of the tree, at the centre of the priors."""
    n_data, n_columns = data.shape
    layout = model.layout(n_columns)
    width = np.array(layout.width)
    gaussian = np.flatnonzero([kind == "gaussian" for kind in layout.kind]).astype(np.int64)
    depth, coordinates = model.depth, int(width.sum())
    room = (depth + 1) * (n_data + 1) + SPARE
    full = model.covariance_type == "full" and gaussian.size > 0
    matrices = (room, 2, gaussian.size, gaussian.size) if full else (1, 2, 0, 0)
    columns = np.zeros(n_columns, dtype=COLUMN)
    columns["kind"] = [CODES[kind] for kind in layout.kind]
    columns["width"], columns["offset"] = width, np.cumsum(width) - width
    columns["floor"] = layout.floor
    form = {"diag": DIAG, "spherical": SPHERICAL, "full": FULL if full else DIAG}
    c = 1.0 if model.concentration is None else model.concentration
    levels = np.zeros(depth + 1, dtype=LEVEL)
    levels["shape"][:-1] = model.shape
    discount = 0.1 if model.discount is None else model.discount
    levels["alpha"] = c * levels["shape"] - discount * model.less_discount
    shape, rate = model.node_prior
    state = State(
        data=_dequantised(data, layout.floor) if full else data.copy(),
        leaf=np.full(n_data, NULL, dtype=np.int64),
        nodes=np.zeros(room, dtype=NODE),
        order=np.empty(room, dtype=np.int64),
        sizes=np.array([1, NULL, 1, 0, 0, 0, form[model.covariance_type]], dtype=np.int64),
        levels=levels,
        scalars=np.array([c, discount, gaussian.size * math.log(model.psi)]),
        columns=columns,
        coordinates=np.zeros((room, coordinates, 3)),
        variance=np.full((depth, coordinates), rate / shape),
        hyper=np.exp(layout.hyper_mean, order="C"),
        entries=np.zeros((room, n_columns, 6)),
        gaussian=gaussian,
        psi=model.psi * np.eye(gaussian.size if full else 0),
        matrices=np.zeros(matrices),
    )
    for link in ("parent", "first_child", "next_sibling", "previous_sibling"):
        state.nodes[link] = NULL
    state.order[0] = ROOT
    return state


def _dequantised(data: FloatArray, floor: FloatArray) -> FloatArray:
    """Spread values that repeat evenly over one unit of their last digit, always in the same way.

    With full covariances that takes the place of a floor: a leaf with the same value many times
    would be flat otherwise.
    """
    unit = np.sqrt(12.0 * floor)
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, size=data.shape)
    return np.asarray(data + unit * noise)
