"""Moves of leaves and of their parents with φ of the last inner level integrated out.

Where all columns are Gaussian, each leaf first draws its covariance R given its data and the φ it
starts from. Given R, a leaf of n data with mean ȳ is one normal observation of its parent's φ,

    ȳ ~ N(φ, (1/κ + 1/n) R),

and φ of the last inner level integrates out, given φ above it. Leaves then choose their parents,
parents their places, and parents split and merge, none of them held by a φ that is there or in need
of one that is drawn from the prior. At last φ is drawn, and R is forgotten.

An observation is held as precision and precision × mean, in blocks: one of all columns with full
covariances, else one for each column.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.group_moves import keep_shares, log_seats_of_half
from sticktree.engine.common.group_nodes import (
    groups_of_halves,
    log_node_split,
    put_groups,
    share_rest,
    sticks_of,
)
from sticktree.engine.common.groups import add_group, is_grouped
from sticktree.engine.common.links import (
    ALIVE,
    DISCOUNT,
    MADE,
    ROOT,
    add_data,
    list_nodes,
)
from sticktree.engine.common.random import RandomState, gumbel, integer, normal, uniform
from sticktree.engine.common.seating import choose_half, log_children, log_seats, log_split
from sticktree.engine.own.covariances import draw_precision, draw_wishart
from sticktree.engine.own.kinds.gaussian import posterior_rate
from sticktree.engine.own.leaves import expect, renew
from sticktree.engine.own.regraft import (
    hang_parts,
    place_node,
    set_group_weights,
    set_prior_weights,
)
from sticktree.engine.own.split_nodes import (
    break_node,
    draw_items,
    give_sticks,
    join_nodes,
    list_members,
)
from sticktree.engine.own.state import (
    COUNT,
    FORM,
    FULL,
    KAPPA,
    NOWHERE,
    PHI,
    ROOT_OF,
    SCALE,
    SHAPE,
    SPHERICAL,
    TOTAL,
    State,
)
from sticktree.engine.own.structure import grow, hang, prune
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL

SCANS = 2  # restricted Gibbs scans before the one that proposes


@jit
def collapsed_sweep(state: State, rng: RandomState, n_grafts: int, n_splits: int) -> int:
    """Regraft subtrees, split and merge nodes, draw φ; return how many of all were accepted."""
    size, last = state.gaussian.size, state.levels.size - 2
    n_blocks = 1 if state.sizes[FORM] == FULL else size
    width = size // n_blocks
    room = state.sizes[MADE] + (n_grafts + n_splits) * state.levels.size
    precision = np.zeros((room, n_blocks, width, width))
    weighted = np.zeros((room, n_blocks, width))
    mass = np.zeros(room)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level == last + 1:
            _observe(state, node, precision[node], weighted[node], rng)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level == last:
            _gather(state, node, precision, weighted, mass)
    accepted = 0
    if last > 0:
        for _ in range(n_grafts):
            accepted += _graft(state, precision, weighted, mass, rng)
        for _ in range(n_splits):
            accepted += _split_merge(state, precision, weighted, mass, rng)
    factor, x = np.empty((width, width)), np.empty(width)
    mean, variance = np.empty(size), np.empty(size)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level == last:
            _set_prior(state, state.nodes[node].parent, last, mean, variance)
            phi = state.coordinates[node, :, PHI]
            _draw(precision[node], weighted[node], mean, variance, phi, factor, x, rng)
            expect(state, node)
        elif state.nodes[node].level > last:
            renew(state, node)
    return accepted


# ---- observations --------------------------------------------------------------------------------


@linked
def _observe(
    state: State, leaf: int, precision: FloatArray, weighted: FloatArray, rng: RandomState
) -> None:
    """Draw the covariance of a leaf; fill in what the leaf then says of its parent's φ."""
    column, size = state.gaussian[0], state.gaussian.size
    node = state.nodes[leaf].parent
    if state.sizes[FORM] == FULL:
        kappa, n = state.hyper[KAPPA, column], state.entries[leaf, column, COUNT]
        degrees = size - 1 + 2.0 * state.hyper[SHAPE, column] + n
        drawn = draw_wishart(state.matrices[leaf, ROOT_OF], degrees, rng)
        share = kappa / (kappa + n)
        for e in range(size):
            weighted[0, e] = 0.0
            for g in range(size):
                precision[0, e, g] = share * n * drawn[e, g]
                weighted[0, e] += share * drawn[e, g] * state.coordinates[leaf, g, TOTAL]
        return
    tau = 0.0
    if state.sizes[FORM] == SPHERICAL:
        shape = state.hyper[SHAPE, column]
        rate = shape * state.hyper[SCALE, column]
        for d in range(size):
            shape += 0.5 * state.entries[leaf, d, COUNT]
            u = state.coordinates[node, d, PHI]
            rate += posterior_rate(state, leaf, d, u, state.hyper[KAPPA, column])
        tau = draw_precision(shape, rate, state.columns[column].floor, rng)
    for d in range(size):
        n = state.entries[leaf, d, COUNT]
        precision[d, 0, 0] = weighted[d, 0] = 0.0
        if n == 0.0:
            continue
        if state.sizes[FORM] == SPHERICAL:
            kappa = state.hyper[KAPPA, column]
        else:
            kappa, shape = state.hyper[KAPPA, d], state.hyper[SHAPE, d]
            rate = shape * state.hyper[SCALE, d]
            rate += posterior_rate(state, leaf, d, state.coordinates[node, d, PHI], kappa)
            tau = draw_precision(shape + 0.5 * n, rate, state.columns[d].floor, rng)
        share = tau * kappa / (kappa + n)
        precision[d, 0, 0] = share * n
        weighted[d, 0] = share * state.coordinates[leaf, d, TOTAL]


@linked
def _gather(
    state: State, node: int, precision: FloatArray, weighted: FloatArray, mass: FloatArray
) -> None:
    """Add up what the leaves of a node say of its φ."""
    n_blocks, width = weighted.shape[1], weighted.shape[2]
    for k in range(n_blocks):
        for e in range(width):
            weighted[node, k, e] = 0.0
            for g in range(width):
                precision[node, k, e, g] = 0.0
    child = state.nodes[node].first_child
    while child != NULL:
        _add(precision[node], weighted[node], precision[child], weighted[child], 1.0)
        child = state.nodes[child].next_sibling
    mean, variance = np.empty(n_blocks * width), np.empty(n_blocks * width)
    _set_prior(state, state.nodes[node].parent, state.nodes[node].level, mean, variance)
    factor, x = np.empty((width, width)), np.empty(width)
    mass[node] = _log_mass(precision[node], weighted[node], mean, variance, factor, x)


@linked
def _add(
    precision: FloatArray, weighted: FloatArray, more: FloatArray, shift: FloatArray, sign: float
) -> None:
    """Add an observation to others, or take it away."""
    for k in range(weighted.shape[0]):
        for e in range(weighted.shape[1]):
            weighted[k, e] += sign * shift[k, e]
            for g in range(e + 1):  # the lower triangle is all that is looked at
                precision[k, e, g] += sign * more[k, e, g]


@linked
def _set_prior(
    state: State, above: int, level: int, mean: FloatArray, variance: FloatArray
) -> None:
    """Fill in the prior of φ of a node at ``level`` that comes by a chain from a node above."""
    start = 0 if above == NULL else state.nodes[above].level + 1
    for p in range(mean.size):
        mean[p] = 0.0 if above == NULL else state.coordinates[above, p, PHI]
        variance[p] = 0.0
        for j in range(start, level + 1):
            variance[p] += state.variance[j, p]


@linked
def _factorise(
    precision: FloatArray,
    weighted: FloatArray,
    k: int,
    mean: FloatArray,
    variance: FloatArray,
    factor: FloatArray,
    x: FloatArray,
) -> float:
    """Fill in L of block k of Λ + V⁻¹ = L Lᵀ, and x = L⁻¹ (h + V⁻¹ m); return ½ log determinant."""
    width, log_det = x.size, 0.0
    for e in range(width):
        p = k * width + e
        value = weighted[k, e] + mean[p] / variance[p]
        for g in range(e):
            entry = precision[k, e, g]
            for j in range(g):
                entry -= factor[e, j] * factor[g, j]
            factor[e, g] = entry / factor[g, g]
            value -= factor[e, g] * x[g]
        entry = precision[k, e, e] + 1.0 / variance[p]
        for j in range(e):
            entry -= factor[e, j] * factor[e, j]
        factor[e, e] = math.sqrt(max(entry, 1e-300))
        x[e] = value / factor[e, e]
        log_det += math.log(factor[e, e])
    return log_det


@linked
def _log_mass(
    precision: FloatArray,
    weighted: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    factor: FloatArray,
    x: FloatArray,
) -> float:
    """Return log ∫ N(φ; m, V) exp(hᵀφ − ½ φᵀΛφ) dφ."""
    value = 0.0
    for k in range(weighted.shape[0]):
        value -= _factorise(precision, weighted, k, mean, variance, factor, x)
        for e in range(x.size):
            value += 0.5 * x[e] * x[e]
    for p in range(mean.size):
        value -= 0.5 * (math.log(variance[p]) + mean[p] * mean[p] / variance[p])
    return value


@linked
def _draw(
    precision: FloatArray,
    weighted: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    phi: FloatArray,
    factor: FloatArray,
    x: FloatArray,
    rng: RandomState,
) -> None:
    """Draw φ given its prior and all observations."""
    width = x.size
    for k in range(weighted.shape[0]):
        _factorise(precision, weighted, k, mean, variance, factor, x)
        for e in range(width - 1, -1, -1):
            x[e] += normal(rng)
            for g in range(e + 1, width):
                x[e] -= factor[g, e] * x[g]
            x[e] /= factor[e, e]
            phi[k * width + e] = x[e]


# ---- regraft -------------------------------------------------------------------------------------


@linked
def _graft(
    state: State, precision: FloatArray, weighted: FloatArray, mass: FloatArray, rng: RandomState
) -> int:
    """Let a subtree drawn at random choose its place; return 1 if it changed, else 0."""
    last = state.levels.size - 2
    level = 1 + integer(rng, last + 1)
    top, n_nodes = NOWHERE, 0
    for k in range(1, state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level == level:
            n_nodes += 1
            if integer(rng, n_nodes) == 0:
                top = node
    m, before = state.nodes[top].n, state.nodes[top].parent
    chain = np.empty((state.levels.size, state.coordinates.shape[1]))
    shares = keep_shares(state, top, level) if is_grouped(state) else np.empty((0, 2))
    add_data(state, before, -m)
    if is_grouped(state):
        add_group(state, before, top, -1)
    cut = prune(state, top, chain)
    list_nodes(state)
    if cut == before and level == last + 1:
        _gather(state, before, precision, weighted, mass)
    weights, parts = np.empty(state.sizes[ALIVE]), np.empty((0, 2))
    if is_grouped(state):
        parts = set_group_weights(state, top, cut, shares, weights, rng)
    else:
        set_prior_weights(state, level, m, weights)
    if level < last:
        at = place_node(state, top, weights, chain, rng)
    else:
        at = _place(state, top, weights, precision, weighted, mass, chain, rng)
    stayed = at == cut and state.nodes[cut].level == level - 1
    parent = grow(state, at, level - 1, chain)
    hang(state, top, parent)
    add_data(state, parent, m)
    if is_grouped(state):
        add_group(state, parent, top, 1)
        hang_parts(state, top, at, shares, parts)
    list_nodes(state)
    if level >= last:
        _gather(state, parent if level > last else top, precision, weighted, mass)
    return 0 if stayed else 1


@linked
def _place(
    state: State,
    top: int,
    weights: FloatArray,
    precision: FloatArray,
    weighted: FloatArray,
    mass: FloatArray,
    chain: FloatArray,
    rng: RandomState,
) -> int:
    """Choose the node that a leaf or a parent of leaves hangs below; draw what lies between."""
    last, size = state.levels.size - 2, state.gaussian.size
    n_blocks, width = weighted.shape[1], weighted.shape[2]
    mean, variance = np.empty(size), np.empty(size)
    both, shift = np.empty((n_blocks, width, width)), np.empty((n_blocks, width))
    factor, x = np.empty((width, width)), np.empty(width)
    best, chosen = -math.inf, ROOT
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        if level >= state.nodes[top].level:
            continue
        value = weights[k] + gumbel(rng)
        if level == last:
            both[:], shift[:] = precision[node], weighted[node]
            _add(both, shift, precision[top], weighted[top], 1.0)
            _set_prior(state, state.nodes[node].parent, last, mean, variance)
            value += _log_mass(both, shift, mean, variance, factor, x) - mass[node]
        else:
            _set_prior(state, node, last, mean, variance)
            value += _log_mass(precision[top], weighted[top], mean, variance, factor, x)
        if value > best:
            best, chosen = value, node
    start = state.nodes[chosen].level
    if start < last:
        _set_prior(state, chosen, last, mean, variance)
        _draw(precision[top], weighted[top], mean, variance, chain[last], factor, x, rng)
        for p in range(size):
            here, left = state.coordinates[chosen, p, PHI], variance[p]
            for j in range(start + 1, last):
                share = state.variance[j, p] / left
                spread = math.sqrt(state.variance[j, p] * (1.0 - share))
                here += share * (chain[last, p] - here) + spread * normal(rng)
                chain[j, p] = here
                left -= state.variance[j, p]
    return chosen


# ---- split and merge -----------------------------------------------------------------------------


@linked
def _split_merge(
    state: State, precision: FloatArray, weighted: FloatArray, mass: FloatArray, rng: RandomState
) -> int:
    """Propose one split or merge of parents of leaves; return 1 if it was accepted, else 0."""
    level = state.levels.size - 2
    i, j = draw_items(state, level, rng)
    if j == NULL:
        return 0
    first, second = state.nodes[i].parent, state.nodes[j].parent
    above = state.nodes[first].parent
    merging = first != second
    members = list_members(state, i, j)
    n_blocks, width = weighted.shape[1], weighted.shape[2]
    side, target = np.empty(members.size, dtype=np.int64), np.empty(members.size, dtype=np.int64)
    half_n, half_k, half_mass = np.zeros(2), np.zeros(2, dtype=np.int64), np.zeros(2)
    # Row 2 is for both halves together, row 3 for a half with one more item.
    half, shift = np.zeros((4, n_blocks, width, width)), np.zeros((4, n_blocks, width))
    mean, variance = np.empty(state.gaussian.size), np.empty(state.gaussian.size)
    factor, x = np.empty((width, width)), np.empty(width)
    _set_prior(state, above, level, mean, variance)
    for t in range(members.size):
        item = members[t]
        side[t] = integer(rng, 2) if t < members.size - 2 else t - (members.size - 2)
        target[t] = 0 if state.nodes[item].parent == first else 1
        half_n[side[t]] += state.nodes[item].n
        half_k[side[t]] += 1
        _add(half[side[t]], shift[side[t]], precision[item], weighted[item], 1.0)
        _add(half[2], shift[2], precision[item], weighted[item], 1.0)
    for h in range(2):
        half_mass[h] = _log_mass(half[h], shift[h], mean, variance, factor, x)
    d, alpha = state.scalars[DISCOUNT], state.levels[level].alpha
    sticks = sticks_of(state, first, second, above, level, members, target)
    seated = groups_of_halves(state, members, side)
    half_stick = 0.5 * state.gamma[0] * sticks.above[0]
    log_proposal = 0.0
    for scan in range(SCANS + 1):
        forced = merging and scan == SCANS
        log_proposal = 0.0
        for t in range(members.size - 2):
            item, here = members[t], side[t]
            m = state.nodes[item].n
            with_it = half_mass[here]
            _add(half[here], shift[here], precision[item], weighted[item], -1.0)
            half_n[here] -= m
            half_k[here] -= 1
            put_groups(state, item, seated, here, -1)
            half_mass[here] = _log_mass(half[here], shift[here], mean, variance, factor, x)
            half[3], shift[3] = half[1 - here], shift[1 - here]
            _add(half[3], shift[3], precision[item], weighted[item], 1.0)
            there = _log_mass(half[3], shift[3], mean, variance, factor, x)
            gain = there - half_mass[1 - here] - with_it + half_mass[here]
            difference = gain if here == 0 else -gain
            if is_grouped(state):
                difference += log_seats_of_half(state, half_stick, seated[1], item)
                difference -= log_seats_of_half(state, half_stick, seated[0], item)
            else:
                difference += log_seats(alpha, d, half_n[1], half_k[1], m)
                difference -= log_seats(alpha, d, half_n[0], half_k[0], m)
            chosen, log_choice = choose_half(difference, forced, target[t], rng)
            log_proposal += log_choice
            side[t] = chosen
            half_n[chosen] += m
            half_k[chosen] += 1
            put_groups(state, item, seated, chosen, 1)
            half_mass[chosen] = with_it if chosen == here else there
            _add(half[chosen], shift[chosen], precision[item], weighted[item], 1.0)
    n_siblings = state.nodes[above].n_children
    n_before = n_siblings - 1 if merging else n_siblings
    if is_grouped(state):
        if not merging:
            share_rest(state, level, side, sticks, rng)
        log_prior = log_node_split(state, level, n_before, members, seated, side, sticks)
    else:
        log_prior = (
            log_split(state.levels[level - 1].alpha, d, n_before, half_n[0], half_n[1])
            + log_children(state, level, half_n[0], half_k[0])
            + log_children(state, level, half_n[1], half_k[1])
            - log_children(state, level, half_n[0] + half_n[1], half_k[0] + half_k[1])
        )
    log_ratio = (
        log_prior
        + half_mass[0]
        + half_mass[1]
        - _log_mass(half[2], shift[2], mean, variance, factor, x)
        - log_proposal
    )
    if not math.log(1.0 - uniform(rng)) < (-log_ratio if merging else log_ratio):
        return 0
    phi = np.zeros((2, state.gaussian.size))  # to be drawn later
    if merging:
        join_nodes(state, first, second, phi[0])
    else:
        break_node(state, first, members, side, phi)
        _gather(state, state.nodes[j].parent, precision, weighted, mass)
    if is_grouped(state):
        give_sticks(state, level, members, side, merging, sticks)
    _gather(state, first, precision, weighted, mass)
    return 1
