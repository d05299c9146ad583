"""Once a sweep: tables of the franchise given the sticks, then c, d, γ and the sticks given tables.

Given the sticks, the tables of n data of group j at child k are a sum of independent steps,
m = Σ_{t<n} Bernoulli(γβ_k/(γβ_k + t)). Given tables, M_k = Σ_j m_jk at each child,

    c, d        enter through Π g(M_1, …, M_K; α, d), as they do of data without groups,
    γ           through γ^m Π_j Γ(γ)/Γ(γ + n_j) over all points, with m the number of tables,
    β           is Dirichlet(M_1 − d, …, M_K − d, α + K d) at every point.

γ/(γ + s) is uniform a priori for a scale s: how much the shares of all count beside s data of the
group's own. Tables of groups with parents may be customers of these: see `kin`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.engine.common.groups import (
    GroupedState,
    last_level,
    log_stick_density,
    top_of,
)
from sticktree.engine.common.kin import (
    draw_kin_sticks,
    draw_kin_tables,
    draw_kinship,
    kin_by_size,
    log_kin,
)
from sticktree.engine.common.links import (
    ALIVE,
    DISCOUNT,
    FACTOR,
    MADE,
    ROOT,
    Index,
    TreeState,
    list_nodes,
)
from sticktree.engine.common.logarithms import log_ascent
from sticktree.engine.common.parents import LEAST, has_parents, is_direct
from sticktree.engine.common.random import RandomState, log_gamma_number, share_of_two, uniform
from sticktree.engine.common.slice import slice_sampler
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL

WIDEST = 1e8  # of γ: groups of data that we can count are the same beyond


@linked
def draw_tables(state: GroupedState, rng: RandomState) -> tuple[Index, int]:
    """Draw the tables of all groups; return M at every stick, (nodes, levels), and their number.

    The last column has the sum over the children of a node.
    """
    depth = last_level(state)
    tables = np.zeros((state.sizes[MADE], depth + 1), dtype=np.int64)
    gamma, total = state.gamma[0], 0
    for k in range(1, state.sizes[ALIVE]):
        node = state.order[k]
        above = state.nodes[node].parent
        for level in range(state.nodes[above].level, state.nodes[node].level):
            x, many = gamma * state.stick[node, level], 0
            for j in range(state.seated.shape[1] - 1):
                n = state.seated[node, j]
                if n > 0:
                    many += 1
                    for t in range(1, n):
                        if uniform(rng) * (x + t) < x:
                            many += 1
            tables[node, level] = many
            total += many
        tables[above, depth] += tables[node, state.nodes[above].level]
    return tables, total


@linked
def _log_tables(state: TreeState, tables: Index, c: float, d: float, less_discount: bool) -> float:
    """Return log Π g over all points, with tables in the place of data."""
    depth = last_level(state)
    less, alone = d if less_discount else 0.0, math.lgamma(1.0 - d)
    total = 0.0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        for at in range(top_of(state, node), level):
            alpha = c * state.levels[at].shape - less
            total += math.lgamma(alpha + 1.0) - math.lgamma(alpha + tables[node, at])
            total += math.lgamma(tables[node, at] - d) - alone
        if node != ROOT:
            above = state.nodes[state.nodes[node].parent].level
            total += math.lgamma(tables[node, above] - d) - alone
        if level < depth:
            alpha = c * state.levels[level].shape - less
            total += math.lgamma(alpha + 1.0) - math.lgamma(alpha + tables[node, depth])
            for j in range(1, state.nodes[node].n_children):
                total += math.log(alpha + j * d)
    return total


@linked
def _log_factor(x: float, parameters: tuple[TreeState, Index, float, float, bool]) -> float:
    """Return the log density of x = log c."""
    state, tables, shape, rate, less_discount = parameters
    c = math.exp(x)
    value = _log_tables(state, tables, c, state.scalars[DISCOUNT], less_discount)
    return value + shape * x - rate * c


@linked
def _log_discount(x: float, parameters: tuple[TreeState, Index, float, float, bool]) -> float:
    """Return the log density of x = log(d/(1 − d))."""
    state, tables, a, b, less_discount = parameters
    d = 1.0 / (1.0 + math.exp(-x))
    if d >= 1.0:
        return -math.inf
    prior = -a * math.log1p(math.exp(-x)) - b * math.log1p(math.exp(x))
    return _log_tables(state, tables, state.scalars[FACTOR], d, less_discount) + prior


@linked
def _log_gamma(x: float, parameters: tuple[Index, float, float]) -> float:
    """Return the log density of x = log γ; ``many[n]`` points have n data of a group."""
    many, n_tables, scale = parameters
    gamma = math.exp(x)
    if not gamma < WIDEST:
        return -math.inf
    value = n_tables * x + x - 2.0 * math.log(scale + gamma)
    for n in range(1, many.size):
        if many[n] > 0:
            value -= many[n] * log_ascent(gamma, float(n))
    return value


_draw_factor = slice_sampler(_log_factor)
_draw_discount = slice_sampler(_log_discount)
_draw_gamma = slice_sampler(_log_gamma)


@linked
def _points_by_size(state: GroupedState) -> Index:
    """Return how many points have n data of a group, by n, over all groups."""
    largest = 0
    for j in range(state.seated.shape[1]):
        largest = max(largest, state.seated[ROOT, j])
    many = np.zeros(largest + 1, dtype=np.int64)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        points = state.nodes[node].level - top_of(state, node)
        if state.nodes[node].level < last_level(state):
            points += 1
        for j in range(state.seated.shape[1]):
            if not is_direct(state, j):
                many[state.seated[node, j]] += points
    return many


@linked
def _draw_sticks(state: GroupedState, tables: Index, rng: RandomState) -> None:
    """Draw all shared sticks given the tables."""
    d, depth = state.scalars[DISCOUNT], last_level(state)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        for at in range(top_of(state, node), level):
            share, left = share_of_two(tables[node, at] - d, state.levels[at].alpha + d, rng)
            state.stick[node, at] = max(share, LEAST)
            state.rest[node, at] = max(left, LEAST)
        if level == depth or state.nodes[node].n_children == 0:
            continue
        # As logs, for numbers of small shape may all be too small to write.
        log_rest = log_gamma_number(
            rng, state.levels[level].alpha + d * state.nodes[node].n_children
        )
        largest = log_rest
        child = state.nodes[node].first_child
        while child != NULL:
            log_share = log_gamma_number(rng, tables[child, level] - d)
            state.stick[child, level] = log_share
            largest = max(largest, log_share)
            child = state.nodes[child].next_sibling
        total = math.exp(log_rest - largest)
        child = state.nodes[node].first_child
        while child != NULL:
            total += math.exp(state.stick[child, level] - largest)
            child = state.nodes[child].next_sibling
        state.rest[node, level] = max(math.exp(log_rest - largest) / total, LEAST)
        child = state.nodes[node].first_child
        while child != NULL:
            share = math.exp(state.stick[child, level] - largest) / total
            state.stick[child, level] = max(share, LEAST)
            child = state.nodes[child].next_sibling


@jit
def franchise_move(
    state: GroupedState,
    rng: RandomState,
    learn_factor: bool,
    factor_prior: tuple[float, float],
    learn_discount: bool,
    discount_prior: tuple[float, float],
    less_discount: bool,
    learn_gamma: bool,
    gamma_scale: float,
    learn_kinship: bool,
) -> None:
    """Redraw c, d, γ and κ, as far as they are learned, and all sticks that are kept.

    What else depends on them is left as it was.
    """
    kin = draw_kin_tables(state, rng)
    if has_parents(state):
        tables, n_tables = kin.shared, kin.numbers[0]
    else:
        tables, n_tables = draw_tables(state, rng)
    if learn_factor:
        prior = (state, tables, factor_prior[0], factor_prior[1], less_discount)
        x = _draw_factor(math.log(state.scalars[FACTOR]), prior, 1.0, rng)
        state.scalars[FACTOR] = math.exp(x)
    if learn_discount:
        d = state.scalars[DISCOUNT]
        prior = (state, tables, discount_prior[0], discount_prior[1], less_discount)
        x = _draw_discount(math.log(d / (1.0 - d)), prior, 1.0, rng)
        state.scalars[DISCOUNT] = 1.0 / (1.0 + math.exp(-x))
    if learn_gamma:
        sizes = _points_by_size(state)
        if has_parents(state):
            sizes = kin_by_size(state, sizes, kin)
        of_groups = (sizes, float(n_tables), gamma_scale)
        state.gamma[0] = math.exp(_draw_gamma(math.log(state.gamma[0]), of_groups, 1.0, rng))
    c, less = state.scalars[FACTOR], state.scalars[DISCOUNT] if less_discount else 0.0
    for level in range(state.levels.size):
        state.levels[level].alpha = c * state.levels[level].shape - less
    _draw_sticks(state, tables, rng)
    if has_parents(state):
        if learn_kinship:
            draw_kinship(state, kin, rng)
        draw_kin_sticks(state, kin, rng)


@jit
def log_grouped_tree(state: GroupedState) -> float:
    """Return log p(tree, β) given c, d and γ: of all points, the sticks and the data of groups."""
    depth, d, gamma = last_level(state), state.scalars[DISCOUNT], state.gamma[0]
    total = 0.0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        for at in range(top_of(state, node), level + 1):
            if at == depth:
                continue
            logs, n_children = 0.0, 1
            if at < level:
                logs = math.log(state.stick[node, at])
            else:
                n_children = state.nodes[node].n_children
                child = state.nodes[node].first_child
                while child != NULL:
                    logs += math.log(state.stick[child, at])
                    child = state.nodes[child].next_sibling
            alpha = state.levels[at].alpha
            total += log_stick_density(alpha, d, n_children, logs, state.rest[node, at])
            for j in range(state.seated.shape[1]):
                if not is_direct(state, j):
                    total -= log_ascent(gamma, float(state.seated[node, j]))
        if node != ROOT and not has_parents(state):
            for at in range(top_of(state, node) - 1, level):
                for j in range(state.seated.shape[1]):
                    n = float(state.seated[node, j])
                    total += log_ascent(gamma * state.stick[node, at], n)
    if has_parents(state):
        total += log_kin(state)
    return total


@jit
def count_groups(state: GroupedState) -> None:
    """Count the data of all groups anew."""
    for k in range(state.sizes[ALIVE]):
        for j in range(state.seated.shape[1]):
            state.seated[state.order[k], j] = 0
    for i in range(state.leaf.size):
        node = state.leaf[i]
        while node != NULL:
            state.seated[node, state.group[i]] += 1
            node = state.nodes[node].parent


@jit
def take_groups(state: GroupedState, leaves: Index, seated: npt.NDArray[np.int64]) -> None:
    """Give each leaf the numbers of its rows of each group; all nodes above follow."""
    list_nodes(state)
    n_groups = seated.shape[1]
    for k in range(state.sizes[ALIVE]):
        for j in range(state.seated.shape[1]):
            state.seated[state.order[k], j] = 0
    for k in range(leaves.size):
        for j in range(n_groups):
            state.seated[leaves[k], j] = seated[k, j]
    for k in range(state.sizes[ALIVE] - 1, 0, -1):
        node = state.order[k]
        above = state.nodes[node].parent
        for j in range(n_groups):
            state.seated[above, j] += state.seated[node, j]


def divide_sticks(state: GroupedState) -> None:
    """Let all shared sticks be what is expected of them where every datum has its own table."""
    d, alpha, depth = state.scalars[DISCOUNT], state.levels["alpha"], last_level(state)
    for node in state.order[: state.sizes[ALIVE]]:
        n, level, above = (int(state.nodes[name][node]) for name in ("n", "level", "parent"))
        if node != ROOT:
            top = int(state.nodes["level"][above])
            state.stick[node, top] = (n - d) / (state.nodes["n"][above] + alpha[top])
            for at in range(top + 1, level):
                state.stick[node, at] = (n - d) / (n + alpha[at])
                state.rest[node, at] = max((alpha[at] + d) / (n + alpha[at]), LEAST)
        if level < depth:
            left = alpha[level] + d * int(state.nodes["n_children"][node])
            state.rest[node, level] = max(left / (n + alpha[level]), LEAST)
    if state.elder.size:  # those of parents are the same
        order = state.order[: state.sizes[ALIVE]]
        state.theta[order] = np.log(state.stick[order])[:, :, None]
        state.theta_rest[order] = np.log(state.rest[order])[:, :, None]


def log_gamma_prior(gamma: float, scale: float) -> float:
    """Return the log density of γ."""
    return math.log(scale) - 2.0 * math.log(scale + gamma)


def load_groups(
    state: GroupedState,
    parameters: Mapping[str, npt.NDArray[Any]],
    group: int | None = None,
    parent: int | None = None,
) -> None:
    """Put γ and the sticks of a draw into a state that has its tree; count the data of groups.

    The datum at hand is of a group, by default of one that has no data yet, which may have one of
    the parents.
    """
    made = len(parameters["stick"])
    state.stick[:made], state.rest[:made] = parameters["stick"], parameters["rest"]
    state.gamma[0] = parameters["group_concentration"]
    if state.elder.size:
        state.theta[:made] = parameters["theta"]
        state.theta_rest[:made] = parameters["theta_rest"]
        state.kappa[0] = parameters["kinship"]
        state.above[-1] = NULL if parent is None else parent
    if "sums_seated" in parameters:  # of leaves in the order of their numbers
        leaves = np.flatnonzero(state.nodes["level"][:made] == last_level(state))
        take_groups(state, leaves, parameters["sums_seated"])
    else:
        count_groups(state)
    state.present[0] = state.seated.shape[1] - 1 if group is None else group
