"""The columns of a model side by side, and the state that a chain starts from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.common.groups import group_arrays
from sticktree.engine.common.links import ROOT
from sticktree.engine.own.kinds import CODES, LIKELIHOODS
from sticktree.engine.own.state import (
    COLUMN,
    DIAG,
    FULL,
    LEVEL,
    LIFT,
    NODE,
    SPARE,
    SPHERICAL,
    STEPS,
    State,
)
from sticktree.model import Column, Model
from sticktree.tree.arrays import NULL


@dataclass(frozen=True, eq=False)
class Layout:
    """All columns side by side: kinds, coordinates of φ, floors, and priors of κ, a and b."""

    columns: tuple[Column, ...]
    width: list[int]
    hyper_mean: FloatArray  # (3, D), logs
    hyper_deviation: FloatArray  # (3, D); 0 where nothing is learned

    @property
    def floor(self) -> FloatArray:
        """The least variance of a leaf in each column."""
        return np.array([column.floor for column in self.columns])

    @property
    def is_gaussian(self) -> npt.NDArray[np.bool_]:
        """Which columns are Gaussian."""
        return np.array([column.kind == "gaussian" for column in self.columns])


def layout_of(model: Model, n_columns: int) -> Layout:
    """Return the columns of a model side by side."""
    columns = model.columns or (Column(),) * n_columns
    kinds = [LIKELIHOODS[column.kind] for column in columns]
    # In the order of C for any number of columns: kernels are compiled for one order.
    mean = np.log(np.array([kind.medians for kind in kinds]).T.copy())
    deviation = np.array([kind.deviations for kind in kinds]).T.copy()
    gaussian = [d for d, column in enumerate(columns) if column.kind == "gaussian"]
    if model.covariance_type != "diag" and gaussian:
        deviation[:, gaussian[1:]] = 0.0  # one κ and one a for all
        if model.covariance_type == "full":
            deviation[2, gaussian] = 0.0
    if model.hyper_prior is not None:
        mean, given = model.hyper_prior
        deviation = np.where(deviation > 0.0, given, 0.0)
    width = [
        column.n_categories if kind.width is None else kind.width
        for kind, column in zip(kinds, columns, strict=True)
    ]
    return Layout(columns, width, mean, deviation)


def empty_state(data: FloatArray, model: Model) -> State:
    """Return a state with all data out of the tree, at the centre of the priors."""
    n_data, n_columns = data.shape
    layout = layout_of(model, n_columns)
    width = np.array(layout.width)
    gaussian = np.flatnonzero(layout.is_gaussian).astype(np.int64)
    depth, coordinates = model.shape.size, int(width.sum())
    room = (depth + 1) * (n_data + 1) + SPARE
    full = model.covariance_type == "full" and gaussian.size > 0
    matrices = (room, 2, gaussian.size, gaussian.size) if full else (1, 2, 0, 0)
    columns = np.zeros(n_columns, dtype=COLUMN)
    columns["kind"] = [CODES[column.kind] for column in layout.columns]
    columns["width"], columns["offset"] = width, np.cumsum(width) - width
    columns["floor"] = layout.floor
    columns["trials"] = [column.trials for column in layout.columns]
    form = {"diag": DIAG, "spherical": SPHERICAL, "full": FULL if full else DIAG}
    c = 1.0 if model.concentration is None else model.concentration
    levels = np.zeros(depth + 1, dtype=LEVEL)
    levels["shape"][:-1] = model.shape
    discount = 0.1 if model.discount is None else model.discount
    levels["alpha"] = c * levels["shape"] - discount * model.less_discount
    shape, rate = model.node_prior
    groups = None if model.groups is None else model.groups.of_row
    state = State(
        data=_dequantised(data, layout.floor, groups) if full else data.copy(),
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
        entries=np.zeros((room, n_columns, LIFT + 1)),
        gaussian=gaussian,
        psi=model.psi * np.eye(gaussian.size if full else 0),
        matrices=np.zeros(matrices),
        leaves=np.zeros(room, dtype=np.int64),
        twigs=np.zeros(room, dtype=np.int64),
        place=np.zeros(room, dtype=np.int64),
        first=np.full(room, NULL, dtype=np.int64),
        beside=np.full((n_data, 2), NULL, dtype=np.int64),
        near=np.empty(room, dtype=np.int64),
        weight=np.empty((room, 2)),
        steps=np.full((n_columns, STEPS), np.nan),
        sketch=np.zeros((17, n_data + SPARE)),
        bound=np.empty((5, n_data + SPARE)),
        reach=np.empty((depth, coordinates, 2)),
        work=np.empty((2, n_columns)),
        **group_arrays(room, depth, groups, None if model.groups is None else model.groups.line),
    )
    for link in ("parent", "first_child", "next_sibling", "previous_sibling"):
        state.nodes[link] = NULL
    state.order[0] = ROOT
    return state


def _dequantised(data: FloatArray, floor: FloatArray, groups: IntArray | None) -> FloatArray:
    """Spread values that repeat evenly over one unit of their last digit, always in the same way.

    With full covariances that takes the place of a floor: a leaf with the same value many times
    would be flat otherwise. What a row gets depends on its rank among all rows, not on its place:
    the order of the rows does not matter.
    """
    keys = data
    if groups is not None and groups.size == len(data):  # a state of sums has no rows
        keys = np.column_stack([data, groups])
    noise = np.empty(data.shape)
    noise[np.lexsort(keys.T)] = np.random.default_rng(0).uniform(-0.5, 0.5, size=data.shape)
    return np.asarray(data + np.sqrt(12.0 * floor) * noise)
