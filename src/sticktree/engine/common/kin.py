"""Once a sweep, where groups have parents: tables and whose customers they are, κ, and the sticks.

Given all sticks, the tables of n rows of group j at child k are a sum of independent steps, with
γ (κ θ_pk + (1 − κ) β_k) in the place of γβ_k, and each of them is a customer of the parent p with
probability κ θ_pk/(κ θ_pk + (1 − κ) β_k). Customers of a parent, which are such tables and its own
rows, have tables in turn: younger parents first. Given all tables no stick is needed any more, and

    γ           enters through γ^m Π Γ(γ)/Γ(γ + c) over all points, groups and parents,
    κ           through κ^r (1 − κ)^s: r tables of those with a parent are its customers, s are not,
    β           is Dirichlet(M_1 − d, …, M_K − d, α + K d), and then, elder ones first,
    θ_p         is Dirichlet(c_1 + γH_1, …, c_K + γH_K, γH_new), H its base.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.links import ALIVE, MADE, ROOT, Index
from sticktree.engine.common.parents import (
    ParentedState,
    by_parent,
    fill_rest,
    fill_stick,
    log_share_of_two,
    log_sum,
    log_ways_of,
    parent_pull,
    pull_of,
)
from sticktree.engine.common.random import RandomState, log_gamma_number, share_of_two, uniform
from sticktree.jit import linked
from sticktree.tree.arrays import NULL

EDGE = 1e-12  # κ keeps away from 0 and 1 by so much


class KinTables(NamedTuple):
    """Tables of all groups and parents, by node and the level of the point above."""

    shared: Index  # (M, L + 1) those that chose among all; last the sum over the children of a node
    customers: Index  # (M, L, P) of each parent
    numbers: Index  # (3,) of tables in all, of customers of parents, of others that could have been


@linked
def _tables(x: float, n: int, rng: RandomState) -> int:
    """Draw the number of tables of n customers."""
    many = int(n > 0)
    for t in range(1, n):
        if uniform(rng) * (x + t) < x:
            many += 1
    return many


@linked
def _route(many: int, chance: float, rng: RandomState) -> int:
    """Draw how many tables are customers of a parent."""
    routed = 0
    for _ in range(many):
        routed += uniform(rng) < chance
    return routed


@linked
def draw_kin_tables(state: ParentedState, rng: RandomState) -> KinTables:
    """Draw the tables of all groups and parents; none where there are no parents."""
    n_parents, depth = state.elder.size, state.levels.size - 1
    made = state.sizes[MADE] if n_parents > 0 else 0
    kin = KinTables(
        np.zeros((made, depth + 1), dtype=np.int64),
        np.zeros((made, depth, n_parents), dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )
    if n_parents == 0:
        return kin
    stick = np.empty(1 + n_parents)
    for k in range(1, state.sizes[ALIVE]):
        node = state.order[k]
        above = state.nodes[node].parent
        for level in range(state.nodes[above].level, state.nodes[node].level):
            fill_stick(state, node, level, stick)
            kin.shared[node, level] = _draw_at(
                state, state.seated[node], stick, kin.customers[node, level], kin.numbers, rng
            )
        kin.shared[above, depth] += kin.shared[node, state.nodes[above].level]
    return kin


@linked
def _draw_at(
    state: ParentedState,
    seated: Index,
    stick: FloatArray,
    customers: Index,
    numbers: Index,
    rng: RandomState,
) -> int:
    """Draw all tables at one stick; return how many chose among all."""
    shared = 0
    for j in range(seated.size - 1):
        p = state.above[j]
        if seated[j] == 0:
            continue
        if state.direct[j] == 1:
            customers[p] += seated[j]
            continue
        many = _tables(pull_of(state, j, stick), seated[j], rng)
        shared += many - _count(state, p, many, stick, customers, numbers, rng)
    for p in range(state.elder.size - 1, -1, -1):
        many = _tables(parent_pull(state, p, stick), customers[p], rng)
        shared += many - _count(state, state.elder[p], many, stick, customers, numbers, rng)
    return shared


@linked
def _count(
    state: ParentedState,
    parent: int,
    many: int,
    stick: FloatArray,
    customers: Index,
    numbers: Index,
    rng: RandomState,
) -> int:
    """Count tables, and draw how many of them are customers of a parent, if there is one."""
    numbers[0] += many
    if parent == NULL:
        return 0
    routed = _route(many, by_parent(state, parent, stick), rng)
    customers[parent] += routed
    numbers[1] += routed
    numbers[2] += many - routed
    return routed


@linked
def kin_by_size(state: ParentedState, many: Index, kin: KinTables) -> Index:
    """Return how many points have n customers of a group or parent, given those of groups."""
    out = np.zeros(state.nodes[ROOT].n + many.size + 1, dtype=np.int64)
    out[: many.size] = many
    depth = state.levels.size - 1
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        for p in range(state.elder.size):
            if node != ROOT:
                for at in range(state.nodes[state.nodes[node].parent].level + 1, level):
                    out[kin.customers[node, at, p]] += 1
            if level < depth:
                total, child = 0, state.nodes[node].first_child
                while child != NULL:
                    total += kin.customers[child, level, p]
                    child = state.nodes[child].next_sibling
                out[total] += 1
    return out


@linked
def draw_kinship(state: ParentedState, kin: KinTables, rng: RandomState) -> None:
    """Draw κ, which is uniform a priori."""
    kappa = share_of_two(1.0 + kin.numbers[1], 1.0 + kin.numbers[2], rng)[0]
    state.kappa[0] = min(max(kappa, EDGE), 1.0 - EDGE)


@linked
def draw_kin_sticks(state: ParentedState, kin: KinTables, rng: RandomState) -> None:
    """Draw the sticks of all parents given their customers and β."""
    depth, stick = state.levels.size - 1, np.empty(1 + state.elder.size)
    rest = np.empty_like(stick)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        first = 0 if node == ROOT else state.nodes[state.nodes[node].parent].level + 1
        for p in range(state.elder.size):  # elder ones first
            for at in range(first, level):
                fill_stick(state, node, at, stick)
                fill_rest(state, node, at, rest)
                a = parent_pull(state, p, stick) + kin.customers[node, at, p]
                share, left = log_share_of_two(a, parent_pull(state, p, rest), rng)
                state.theta[node, at, p], state.theta_rest[node, at, p] = share, left
            if level < depth:
                _draw_at_node(state, kin, node, p, stick, rng)


@linked
def _draw_at_node(
    state: ParentedState, kin: KinTables, node: int, p: int, stick: FloatArray, rng: RandomState
) -> None:
    """Draw the sticks of one parent at a node."""
    level = state.nodes[node].level
    fill_rest(state, node, level, stick)
    left = log_gamma_number(rng, parent_pull(state, p, stick))
    total, child = left, state.nodes[node].first_child
    while child != NULL:
        fill_stick(state, child, level, stick)
        a = parent_pull(state, p, stick) + kin.customers[child, level, p]
        state.theta[child, level, p] = log_gamma_number(rng, a)
        total = log_sum(total, state.theta[child, level, p])
        child = state.nodes[child].next_sibling
    state.theta_rest[node, level, p] = left - total
    child = state.nodes[node].first_child
    while child != NULL:
        state.theta[child, level, p] -= total
        child = state.nodes[child].next_sibling


@linked
def log_kin(state: ParentedState) -> float:
    """Return the log density of the sticks of parents, and of the ways of all rows."""
    depth, value = state.levels.size - 1, 0.0
    stick, rest = np.empty(1 + state.elder.size), np.empty(1 + state.elder.size)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        above = -1 if node == ROOT else state.nodes[state.nodes[node].parent].level
        for at in range(max(above, 0), level):
            fill_stick(state, node, at, stick)
            value += log_ways_of(state, stick, state.seated[node])
            for p in range(state.elder.size):
                a = parent_pull(state, p, stick)
                value += (a - 1.0) * stick[1 + p] - math.lgamma(a)
        for at in range(above + 1, level + 1):
            if at < depth:
                fill_rest(state, node, at, rest)
                for p in range(state.elder.size):
                    a = parent_pull(state, p, rest)
                    value += (a - 1.0) * rest[1 + p] - math.lgamma(a) + math.lgamma(state.gamma[0])
    return value
