"""The predictive density of one draw: a Gaussian mixture over leaves and new branches.

Given a tree with all its data, the next datum goes to an existing leaf, or opens a new branch at
any node or on any edge. Each of these is one component: its weight is the restaurant's, its mean
that of φ there, and its variance that of φ and of all steps from there to the datum.

*Leaving one out.* The density of every datum given all others is this mixture with the datum taken
out. Data of one leaf z differ only in their values: the restaurant without any of them is the same,
and so is the covariance c of each component's φ with φ_z, on which means and variances without the
datum depend (datum.py). So all components are prepared once a leaf, and a datum asks for no more
than its distances from them.

A datum alone in its leaf is taken out at the node above, where it is an observation with variance
r + V. Its leaf and the edge above it then are no place to go to; the node above may be left with
one child, which is a place on an edge like any other. So the tree need not change.

Of a row with missing entries, the density is that of the others. Those are linear in the whitened
coordinates: a matrix brings them, whitened for themselves, out of these.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.common.groups import is_grouped, opening_at, seats, taking
from sticktree.engine.common.links import ALIVE, DISCOUNT, LEAVES, MADE, ROOT, Index
from sticktree.engine.common.parents import has_parents, is_direct, log_sum, pull
from sticktree.engine.shared.factor import log_volume
from sticktree.engine.shared.messages import edge_variance
from sticktree.engine.shared.seats import greet
from sticktree.engine.shared.state import NOISE, State, tail
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL


class Mixture(NamedTuple):
    """Components with spherical variances, in whitened coordinates."""

    weight: FloatArray  # (K,) sums to 1
    mean: FloatArray  # (K, D)
    variance: FloatArray  # (K,)
    node: IntArray  # (K,) the node that the component hangs on or is
    level: IntArray  # (K,) where the new branch starts; the last level for an existing leaf


@jit
def predictive_mixture(state: State) -> Mixture:
    """Return the predictive distribution of the next datum, for a settled state.

    With groups it is a datum of the group at hand.
    """
    depth, dimension = state.levels.size - 1, state.data.shape[1]
    size = 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        above = -1 if node == ROOT else state.nodes[state.nodes[node].parent].level
        size += state.nodes[node].level - above
    weight, variance = np.empty(size), np.empty(size)
    mean = np.empty((size, dimension))
    at, start = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    c = 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        path = 1.0
        if node != ROOT:
            above = state.nodes[node].parent
            length = edge_variance(state, node)
            top = state.nodes[above].level
            path = state.nodes[above].path * state.nodes[above].inverse * taking(state, node, top)
            for j in range(top + 1, level):
                total = seats(state, node, j)
                below = (state.levels[level].reach - state.levels[j].reach) / length
                weight[c] = path * opening_at(state, node, j) / total
                for e in range(dimension):
                    mean[c, e] = below * state.mean[above, e] + (1.0 - below) * state.mean[node, e]
                variance[c] = (
                    below * (1.0 - below) * length
                    + below**2 * state.nodes[above].variance
                    + (1.0 - below) ** 2 * state.nodes[node].variance
                    + 2.0
                    * below
                    * (1.0 - below)
                    * state.nodes[node].gain
                    * state.nodes[above].variance
                    + tail(state, j)
                )
                at[c], start[c] = node, j
                c += 1
                path *= taking(state, node, j) / total
        state.nodes[node].path = path
        weight[c] = path
        if level < depth:
            weight[c] *= opening_at(state, node, level) * state.nodes[node].inverse
        mean[c] = state.mean[node]
        variance[c] = state.nodes[node].variance + tail(state, level)
        at[c], start[c] = node, level
        c += 1
    return Mixture(weight, mean, variance, at, start)


@jit
def log_density(mixture: Mixture, x: FloatArray) -> FloatArray:
    """Return the log density of every row of ``x``."""
    n_rows, dimension = x.shape
    base = np.log(mixture.weight) - 0.5 * dimension * np.log(2.0 * math.pi * mixture.variance)
    out = np.empty(n_rows)
    value = np.empty(base.size)
    for i in range(n_rows):
        largest = -np.inf
        for k in range(base.size):
            square = 0.0
            for d in range(dimension):
                square += (x[i, d] - mixture.mean[k, d]) ** 2
            value[k] = base[k] - 0.5 * square / mixture.variance[k]
            largest = max(largest, value[k])
        total = 0.0
        for k in range(base.size):
            if value[k] >= largest - 40.0:
                total += math.exp(value[k] - largest)
        out[i] = largest + math.log(total)
    return out


@jit
def responsibilities(mixture: Mixture, x: FloatArray) -> FloatArray:
    """Return, for every row of ``x``, the probability that it comes from each component."""
    n_rows, dimension = x.shape
    base = np.log(mixture.weight) - 0.5 * dimension * np.log(mixture.variance)
    out = np.empty((n_rows, base.size))
    for i in range(n_rows):
        for k in range(base.size):
            square = 0.0
            for d in range(dimension):
                square += (x[i, d] - mixture.mean[k, d]) ** 2
            # Far out the square overflows; every component is then as good as any other.
            out[i, k] = max(base[k] - 0.5 * square / mixture.variance[k], -1e300)
        out[i] = np.exp(out[i] - out[i].max())
        out[i] /= out[i].sum()
    return out


NEGLIGIBLE = -40.0  # log of the weight, against the largest, below which a component is left out


class Observed(NamedTuple):
    """What is observed of rows with missing entries."""

    pattern: Index  # (N,) which entries; NULL if all
    size: Index  # (patterns,) how many
    matrix: FloatArray  # (patterns, D, D) from whitened coordinates to those of what is there, or
    column: Index  # (patterns, D) which columns those are, if whitening does not mix any

    @classmethod
    def complete(cls, n_data: int, dimension: int) -> Observed:
        """Say that nothing is missing."""
        pattern, none = np.full(n_data, NULL, dtype=np.int64), np.empty(0, dtype=np.int64)
        return cls(pattern, none, np.empty((0, 0, 0)), np.empty((0, 0), dtype=np.int64))


def leave_one_out(state: State, factor: FloatArray, missing: npt.NDArray[np.bool_]) -> FloatArray:
    """Return log p(what is observed of y_i | all other data, …) for every i, in standardised units.

    ``factor`` is A, or its diagonal, by which the data of the state are whitened; ``missing`` says
    which of their entries are imputed.
    """
    n_data, dimension = missing.shape
    observed = Observed.complete(n_data, dimension)
    log_det = np.full(n_data, log_volume(factor))
    rows = np.flatnonzero(missing.any(axis=1))
    if rows.size:
        patterns, which = np.unique(missing[rows], axis=0, return_inverse=True)
        observed.pattern[rows] = which.ravel()
        size = (~patterns).sum(axis=1).astype(np.int64)
        if factor.ndim == 1:
            column = np.argsort(patterns, axis=1, kind="stable")  # those that are there come first
            observed = observed._replace(size=size, column=column)
            log_det[rows] = np.where(missing[rows], 0.0, np.log(factor)).sum(axis=1)
        else:
            matrix = np.zeros((len(patterns), dimension, dimension))
            observed = observed._replace(size=size, matrix=matrix)
            for k, gap in enumerate(patterns):
                part = factor[~gap]
                root = np.linalg.cholesky(part @ part.T)
                matrix[k, : size[k]] = np.linalg.solve(root, part)
                log_det[observed.pattern == k] = np.log(np.diag(root)).sum()
    return np.asarray(log_leave_one_out(state, observed) - log_det)


class Space(NamedTuple):
    """What is prepared for the leaf at hand, without one of its data."""

    # by node
    on_path: Index  # 1 from the leaf to the root, else 0
    covariance: FloatArray  # of φ with that of the leaf, or of the node above a lone datum
    change: FloatArray  # of the log chance to come by and to choose among the children
    # by component
    log_weight: FloatArray  # with all data
    base: FloatArray  # log of weight and normaliser
    narrow: FloatArray  # 1 over the variance
    pull: FloatArray  # c
    value: FloatArray  # for the datum at hand


@jit
def log_leave_one_out(state: State, observed: Observed) -> FloatArray:
    """Return log p(y_i | all other data, the tree without y_i, d, v, r) for every i.

    The state must be settled; all that a move reads stays as it is. Coordinates are whitened.
    """
    n_data = state.data.shape[0]
    mixture = predictive_mixture(state)
    mean = mixture.mean.T.copy()
    size, room = mixture.weight.size, state.sizes[MADE]
    space = Space(
        np.zeros(room, dtype=np.int64),
        np.empty(room),
        np.empty(room),
        np.log(mixture.weight),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
    )
    out = np.empty(n_data)
    first, after = _list_data(state)
    if not is_grouped(state):
        _leave_out(state, observed, mixture, mean, space, first, after, out)
        return out
    nobody = state.seated.shape[1] - 1
    for group in range(nobody):
        greet(state, group)
        mixture = predictive_mixture(state)
        for k in range(size):
            space.log_weight[k] = math.log(mixture.weight[k])
        _leave_out(state, observed, mixture, mean, space, first, after, out)
    greet(state, nobody)
    return out


@linked
def _leave_out(
    state: State,
    observed: Observed,
    mixture: Mixture,
    mean: FloatArray,
    space: Space,
    first: Index,
    after: Index,
    out: FloatArray,
) -> None:
    """Fill in the log densities of all data, or of those of the group at hand."""
    group, shift = state.present[0], np.empty(mean.shape[0])
    for slot in range(state.sizes[LEAVES]):
        leaf = state.leaves[slot]
        if is_grouped(state) and state.seated[leaf, group] == 0:
            continue
        at, variance = leaf, state.scalars[NOISE]
        if state.nodes[leaf].n == 1:
            at = state.nodes[leaf].parent
            variance += edge_variance(state, leaf)
        lack = 1.0 / (variance - state.nodes[at].variance)
        _mark_path(state, leaf, at, space)
        _prepare(state, mixture, leaf, lack, space)
        i = first[leaf]
        while i != NULL:
            if not is_grouped(state) or state.group[i] == group:
                for e in range(shift.size):
                    shift[e] = (state.data[i, e] - state.mean[at, e]) * lack
                if observed.pattern[i] == NULL:
                    out[i] = _log_density(state.data[i], mean, shift, space)
                else:
                    out[i] = _log_density_of_part(state.data[i], mean, shift, space, observed, i)
            i = after[i]
        node = leaf
        while node != NULL:
            space.on_path[node] = 0
            node = state.nodes[node].parent


@linked
def _log_without(state: State, node: int, level: int) -> float:
    """Return the change of the log weight of the way to a node, without the datum at hand there."""
    if is_grouped(state):
        if is_direct(state, state.present[0]):
            return 0.0
        weight = taking(state, node, level)
        return math.log((weight - 1.0) / weight)
    n, d = state.nodes[node].n, state.scalars[DISCOUNT]
    return math.log((n - 1.0 - d) / (n - d))


@linked
def _log_seats_without(state: State, node: int, level: int) -> float:
    """Return the change of the log number of seats at a point, without the datum at hand there."""
    if is_direct(state, state.present[0]):
        return 0.0
    return math.log(1.0 - 1.0 / seats(state, node, level))


@linked
def _log_given_back(state: State, node: int, leaf: int) -> float:
    """Return the change of the log weight of new branches where a leaf gives its stick back."""
    level = state.nodes[node].level
    rest, stick = state.rest[node, level], state.stick[leaf, level]
    if not has_parents(state):
        return math.log((rest + stick) / rest)
    j, own, both = state.present[0], 0.0, 0.0
    p = state.above[j]
    if p != NULL:
        own = state.theta_rest[node, level, p]
        both = log_sum(own, state.theta[leaf, level, p])
    return math.log(pull(state, j, rest + stick, both) / pull(state, j, rest, own))


@linked
def _list_data(state: State) -> tuple[Index, Index]:
    """Return the first datum of every leaf, and the datum after each in the same leaf, or NULL."""
    first = np.full(state.sizes[MADE], NULL, dtype=np.int64)
    after = np.empty(state.leaf.size, dtype=np.int64)
    for i in range(state.leaf.size):
        after[i] = first[state.leaf[i]]
        first[state.leaf[i]] = i
    return first, after


@linked
def _mark_path(state: State, leaf: int, at: int, space: Space) -> None:
    """Mark the nodes from a leaf to the root; fill in the covariance of each φ with that ``at``."""
    space.on_path[leaf] = 1
    gain, node = 1.0, at
    while node != NULL:
        space.on_path[node] = 1
        space.covariance[node] = state.nodes[node].variance * gain
        gain *= state.nodes[node].gain
        node = state.nodes[node].parent


@linked
def _prepare(state: State, mixture: Mixture, leaf: int, lack: float, space: Space) -> None:
    """Fill in all components, in the order of `predictive_mixture`, without a datum of a leaf.

    Weights change only through the factors on the path: n is one less there, and where a lone
    datum has left there is one child less.
    """
    depth, d = state.levels.size - 1, state.scalars[DISCOUNT]
    fork = state.nodes[leaf].parent if state.nodes[leaf].n == 1 else NULL
    k = 0
    for place in range(state.sizes[ALIVE]):
        node = state.order[place]
        level, n = state.nodes[node].level, state.nodes[node].n
        on_path = space.on_path[node] == 1
        change = 0.0
        if node != ROOT:
            above = state.nodes[node].parent
            if node == leaf and above == fork:
                for _ in range(state.nodes[above].level, level):
                    space.base[k], space.pull[k] = -np.inf, 0.0
                    k += 1
                continue
            change = space.change[above]
            top = state.nodes[above].level
            if on_path:
                change += _log_without(state, node, top)
            else:
                space.covariance[node] = state.nodes[node].gain * space.covariance[above]
            length = edge_variance(state, node)
            for j in range(top + 1, level):
                if on_path:
                    change -= _log_seats_without(state, node, j)
                below = (state.levels[level].reach - state.levels[j].reach) / length
                space.base[k] = space.log_weight[k] + change
                space.pull[k] = (
                    below * space.covariance[above] + (1.0 - below) * space.covariance[node]
                )
                if on_path:
                    change += _log_without(state, node, j)
                k += 1
        if n == 1 and node == ROOT:  # nothing is left, and a new branch is the only choice
            space.base[k], space.pull[k] = 0.0, space.covariance[node]
            k += 1
            continue
        if on_path and level < depth:
            change -= _log_seats_without(state, node, level)
        space.change[node] = change
        if node == fork and is_grouped(state):
            change += _log_given_back(state, node, leaf)
        elif node == fork:
            alpha, children = state.levels[level].alpha, state.nodes[node].n_children
            change += math.log((alpha + d * (children - 1)) / (alpha + d * children))
        space.base[k] = space.log_weight[k] + change
        space.pull[k] = space.covariance[node]
        k += 1
    half = 0.5 * state.data.shape[1]
    for k in range(space.base.size):
        spread = mixture.variance[k] + space.pull[k] ** 2 * lack
        space.narrow[k] = 1.0 / spread
        space.base[k] -= half * math.log(2.0 * math.pi * spread)


@linked
def _log_density(y: FloatArray, mean: FloatArray, shift: FloatArray, space: Space) -> float:
    """Return the log density of a datum under the components, whose means move by c · shift."""
    base, value = space.base, space.value
    for k in range(base.size):
        value[k] = 0.0
    for e in range(y.size):
        x, change = y[e], shift[e]
        for k in range(base.size):
            value[k] += (x - mean[e, k] + space.pull[k] * change) ** 2
    largest = -np.inf
    for k in range(base.size):
        value[k] = base[k] - 0.5 * value[k] * space.narrow[k]
        largest = max(largest, value[k])
    if largest == -np.inf:  # so far out that the square overflows
        return largest
    total = 0.0
    for k in range(base.size):
        if value[k] - largest > NEGLIGIBLE:
            total += math.exp(value[k] - largest)
    return largest + math.log(total)


@linked
def _log_density_of_part(
    y: FloatArray, mean: FloatArray, shift: FloatArray, space: Space, observed: Observed, i: int
) -> float:
    """Return the log density of what is observed of a datum."""
    pattern = observed.pattern[i]
    size = observed.size[pattern]
    kept = space.base.copy()
    missing = 0.5 * (y.size - size)
    for k in range(kept.size):
        space.base[k] += missing * math.log(2.0 * math.pi / space.narrow[k])
    if observed.column.size:
        there = observed.column[pattern, :size]
        value = _log_density(y[there], mean[there], shift[there], space)
    else:
        part = observed.matrix[pattern, :size]
        value = _log_density(part @ y, part @ mean, part @ shift, space)
    space.base[:] = kept
    return value
