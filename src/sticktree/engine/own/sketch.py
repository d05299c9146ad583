"""What rules most leaves out: the first few Gaussian columns of all leaves, side by side.

`State.sketch` has a place for each leaf, in the order of `State.leaves`. A datum runs along it and
finds a bound on its density at every leaf, before any leaf is looked at. For columns with variances
of their own that is base − p log Π (1 + width · (y − centre)²), with the least of all powers; with
full covariances it is the t of as many residuals. Loops are short, so that they are compiled to
instructions that take several leaves at a time.
"""

from __future__ import annotations

import math

from sticktree.engine.common.links import LEAVES
from sticktree.engine.common.logarithms import bound_log
from sticktree.engine.own.state import (
    CENTRE,
    COUNT,
    DIAG,
    FORM,
    FULL,
    KAPPA,
    LIFT,
    MATTERS,
    ROOT_OF,
    SPARE,
    SPHERICAL,
    WIDTH,
    State,
)
from sticktree.jit import linked

COLUMNS = 4
# Rows of `State.sketch`: of each column centre and width; base, power and shrinkage of the leaf;
# and of the factor what is below its diagonal.
BASES, POWERS, SHRINKS, BELOW = 8, 9, 10, 11
OUT = COLUMNS  # the row of `State.bound` that is the bound; residuals are in those before it


@linked
def sketch_leaf(state: State, leaf: int) -> None:
    """Bring the sketch of a leaf of the tree up to date."""
    if leaf >= state.nodes.size - SPARE or state.nodes[leaf].level < state.levels.size - 1:
        return
    at, form = state.place[leaf], state.sizes[FORM]
    state.sketch[BASES, at] = state.nodes[leaf].base
    state.sketch[POWERS, at] = state.nodes[leaf].power
    for e in range(COLUMNS):
        state.sketch[2 * e, at] = 0.0
        state.sketch[2 * e + 1, at] = 0.0
        if e < state.gaussian.size:
            d = state.gaussian[e]
            lift = state.entries[leaf, d, LIFT]
            if form == DIAG and lift < MATTERS:  # as in `log_t_each`
                continue
            state.sketch[BASES, at] -= lift
            state.sketch[2 * e, at] = state.entries[leaf, d, CENTRE]
            state.sketch[2 * e + 1, at] = state.entries[leaf, d, WIDTH]
    if form == FULL:
        column = state.gaussian[0]
        kappa = state.hyper[KAPPA, column] + state.entries[leaf, column, COUNT]
        state.sketch[SHRINKS, at] = kappa / (kappa + 1.0)
        row = BELOW
        for e in range(COLUMNS):
            for g in range(e):
                there = e < state.gaussian.size
                state.sketch[row, at] = state.matrices[leaf, ROOT_OF, e, g] if there else 0.0
                row += 1


@linked
def move_sketch(state: State, old: int, new: int) -> None:
    """Give a leaf another place in the sketch."""
    for row in range(state.sketch.shape[0]):
        state.sketch[row, new] = state.sketch[row, old]


@linked
def bound_leaves(state: State, i: int, gaps: bool) -> None:
    """Fill in bounds on the log density of a datum at all leaves, in row OUT of ``bound``."""
    size, form, n_leaves = state.gaussian.size, state.sizes[FORM], state.sizes[LEAVES]
    sketch, bound = state.sketch, state.bound
    if gaps or size == 0 or form == SPHERICAL:
        for k in range(n_leaves):
            bound[OUT, k] = math.inf
        return
    w = state.data[i, state.gaussian[0]]
    x = state.data[i, state.gaussian[1]] if size > 1 else 0.0
    y = state.data[i, state.gaussian[2]] if size > 2 else 0.0
    z = state.data[i, state.gaussian[3]] if size > 3 else 0.0
    if form == DIAG:
        for k in range(n_leaves):
            a, b = w - sketch[0, k], x - sketch[2, k]
            bound[0, k] = (1.0 + sketch[1, k] * a * a) * (1.0 + sketch[3, k] * b * b)
        for k in range(n_leaves):
            a, b = y - sketch[4, k], z - sketch[6, k]
            bound[1, k] = (1.0 + sketch[5, k] * a * a) * (1.0 + sketch[7, k] * b * b)
        for k in range(n_leaves):
            most = bound_log(bound[0, k] * bound[1, k])
            bound[OUT, k] = sketch[BASES, k] - sketch[POWERS, k] * most
        return
    for k in range(n_leaves):
        bound[0, k] = (w - sketch[0, k]) * sketch[1, k]
    for k in range(n_leaves):
        bound[1, k] = (x - sketch[2, k] - sketch[BELOW, k] * bound[0, k]) * sketch[3, k]
    for k in range(n_leaves):
        off = y - sketch[4, k] - sketch[BELOW + 1, k] * bound[0, k]
        bound[2, k] = (off - sketch[BELOW + 2, k] * bound[1, k]) * sketch[5, k]
    for k in range(n_leaves):
        off = sketch[BELOW + 3, k] * bound[0, k] + sketch[BELOW + 4, k] * bound[1, k]
        bound[3, k] = z - sketch[6, k] - off
    for k in range(n_leaves):
        last = (bound[3, k] - sketch[BELOW + 5, k] * bound[2, k]) * sketch[7, k]
        bound[3, k] = bound[0, k] ** 2 + bound[1, k] ** 2 + bound[2, k] ** 2 + last * last
    for k in range(n_leaves):
        most = bound_log(1.0 + sketch[SHRINKS, k] * bound[3, k])
        bound[OUT, k] = sketch[BASES, k] - sketch[POWERS, k] * most
