"""The predictive density of one draw: a Gaussian mixture over leaves and new branches.

Given a tree with all its data, the next datum goes to an existing leaf, or opens a new branch at
any node or on any edge. Each of these is one component: its weight is the restaurant's, its mean
that of φ there, and its variance that of φ and of all steps from there to the datum.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.shared.messages import edge_variance
from sticktree.engine.shared.seats import tail
from sticktree.engine.shared.state import ALIVE, DISCOUNT, ROOT, State
from sticktree.jit import jit

__all__ = ["Mixture", "log_density", "predictive_mixture", "responsibilities"]


class Mixture(NamedTuple):
    """Components with spherical variances, in whitened coordinates."""

    weight: FloatArray  # (K,) sums to 1
    mean: FloatArray  # (K, D)
    variance: FloatArray  # (K,)
    node: IntArray  # (K,) the node that the component hangs on or is
    level: IntArray  # (K,) where the new branch starts; the last level for an existing leaf


@jit
def predictive_mixture(state: State) -> Mixture:
    """Return the predictive distribution of the next datum, for a settled state."""
    depth, dimension = state.levels.size - 1, state.data.shape[1]
    d = state.scalars[DISCOUNT]
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
        n, level = state.nodes[node].n, state.nodes[node].level
        path = 1.0
        if node != ROOT:
            above = state.nodes[node].parent
            length = edge_variance(state, node)
            path = state.nodes[above].path * state.nodes[above].inverse * (n - d)
            for j in range(state.nodes[above].level + 1, level):
                seats = n + state.levels[j].alpha
                below = (state.levels[level].reach - state.levels[j].reach) / length
                weight[c] = path * (state.levels[j].alpha + d) / seats
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
                path *= (n - d) / seats
        state.nodes[node].path = path
        weight[c] = path
        if level < depth:
            alpha = state.levels[level].alpha
            weight[c] *= (alpha + d * state.nodes[node].n_children) * state.nodes[node].inverse
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
