"""The restaurant, as every engine has it: Π g of a tree, its ratios, and the choice of a half.

g of a node with n data and K children k of n_k data is

    Π_{j<K} (α + j d) / (α + 1)_{n−1} · Π_k (1 − d)_{n_k−1},

so moves need ratios of Γ functions. α is that of the level, d the discount.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.common.links import ALIVE, DISCOUNT, ROOT, TreeState
from sticktree.engine.common.random import RandomState, uniform
from sticktree.jit import jit, linked


@linked
def log_rising(x: float, length: int) -> float:
    """Return the log of the rising factorial x (x + 1) … (x + length − 1)."""
    return math.lgamma(x + length) - math.lgamma(x)


@linked
def log_children(state: TreeState, level: int, n: float, n_children: int) -> float:
    """Return the part of log g of a node that depends on n and K alone."""
    alpha, d = state.levels[level].alpha, state.scalars[DISCOUNT]
    value = math.lgamma(alpha + 1.0) - math.lgamma(alpha + n)
    for k in range(1, n_children):
        value += math.log(alpha + k * d)
    return value


@jit
def log_tree_probability(state: TreeState, c: float, d: float, less_discount: bool) -> float:
    """Return log Π g over all nodes above the leaves, with those on edges.

    The concentrations are c·b(l), less d if ``less_discount``.
    """
    total = 0.0
    less = d if less_discount else 0.0
    alone = math.lgamma(1.0 - d)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        n, level = state.nodes[node].n, state.nodes[node].level
        if level < state.levels.size - 1:
            alpha = c * state.levels[level].shape - less
            total += math.lgamma(alpha + 1.0) - math.lgamma(alpha + n)
            for j in range(1, state.nodes[node].n_children):
                total += math.log(alpha + j * d)
        if node != ROOT:
            above = state.nodes[state.nodes[node].parent].level
            total += (level - above) * (math.lgamma(n - d) - alone)
            for j in range(above + 1, level):
                alpha = c * state.levels[j].shape - less
                total += math.lgamma(alpha + 1.0) - math.lgamma(alpha + n)
    return total


@linked
def log_seats(alpha: float, d: float, n: float, n_children: float, m: int) -> float:
    """Return the log weight of m data that come to a node with n data and K children together.

    They bring a child of their own.
    """
    return log_rising(n - d, m) + math.log(alpha + d * n_children) - log_rising(alpha + n, m)


@linked
def log_split(alpha: float, d: float, n_siblings: int, first: float, second: float) -> float:
    """Return the log ratio of Π g where a child of a node is split in two of these sizes.

    The node has ``n_siblings`` children before.
    """
    return (
        math.log(alpha + d * n_siblings)
        + math.lgamma(first - d)
        + math.lgamma(second - d)
        - math.lgamma(first + second - d)
        - math.lgamma(1.0 - d)
    )


@linked
def chain_weights(levels: npt.NDArray[Any], d: float, ceiling: int, m: int) -> FloatArray:
    """Return log Π g of only children with all m data from each level down to the ceiling."""
    alone = math.lgamma(m - d) - math.lgamma(1.0 - d)
    chain = np.zeros(ceiling + 1)
    for j in range(ceiling - 1, -1, -1):
        chain[j] = chain[j + 1] + alone - log_rising(levels[j].alpha + 1.0, m - 1)
    return chain


@linked
def choose_half(
    difference: float, forced: bool, target: int, rng: RandomState
) -> tuple[int, float]:
    """Choose half 0 or 1, or take ``target`` if forced; return it and its log probability.

    ``difference`` is the log weight of half 1 minus that of half 0. These are the steps of
    restricted Gibbs scans (S. Jain and R. M. Neal, Journal of Computational and Graphical
    Statistics 13, 2004).
    """
    chosen = target
    if not forced:
        chosen = 1 if uniform(rng) * (1.0 + math.exp(-difference)) < 1.0 else 0
    sign = -difference if chosen == 1 else difference
    return chosen, -max(sign, 0.0) - math.log1p(math.exp(-abs(sign)))
