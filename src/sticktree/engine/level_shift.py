"""The level shift: pull one level out of the tree, and put another in, here or elsewhere.

Which level carries the large variance is ambiguous: with clusters of clusters at levels 1 and 2, or
2 and 3, the data look alike. To go from one to the other, all nodes of a level must change at once,
and the scales with them. Write V_l for the variance of the step into level l and V_{L+1} for that
of the noise. A tree is a chain of partitions P_0, …, P_L of the data, each finer than the last.

*Out.* Level a goes: P_{a+1} then hangs below P_{a−1} by a step of variance V_a + V_{a+1}. For a = L
the data do, and the noise grows. What is left is a tree T* of L − 1 levels.

*In.* A level b is drawn. A share u of the step S into level b of T* is drawn from a density q(u),
and a new P_b is seated: items (the nodes of level b of T*, or the data for b = L) come in a random
order, and each joins a block of those before it that lie below the same node, or starts one, with
the weights of the restaurants times a predictive density. There, φ of the node above has its law
given T*. Now V_b = u and V_{b+1} = S − u.

Both trees come from the same T*, so the proposal has a known density both ways: the existing level
is seated by force, in an order drawn anew, and its share is u = V_a. The map of variances
has Jacobian 1, and Metropolis and Hastings do the rest.

Σ changes by a factor σ² with the noise, as v_l = V_l/σ² are relative to it. With Σ = σ² Σ_0 and
everything but σ² and the V_l held fixed, the prior has the density

    σ²^(−A−1) exp(−B/σ²) · Π_l p(V_l/σ²)/σ²,

    spherical   A = a                   B = b
    diagonal    A = D a                 B = Σ_d b/Σ_0dd
    full        A = D a + D (D − 1)/2   B = b tr Σ_0⁻¹

where a, b are those of the prior of the precision.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.datum import settle
from sticktree.engine.random import RandomState, integer, uniform
from sticktree.engine.seats import set_scales
from sticktree.engine.state import DISCOUNT, NOISE, ROOT, State
from sticktree.engine.structure import load_tree
from sticktree.jit import jit
from sticktree.tree import NULL

__all__ = ["level_shift", "level_shift_sweep"]


@jit
def level_shift_sweep(
    state: State,
    rng: RandomState,
    n_moves: int,
    scale_prior: tuple[float, float],
    noise_prior: tuple[float, float],
) -> tuple[int, float]:
    """Propose shifts of levels; return how many were accepted, and the change σ².

    Leaves take part in every fourth: to seat all data anew costs most and succeeds least.
    ``noise_prior`` is (A, B). The data of the state are divided by σ; messages are settled.
    """
    accepted, change = 0, 1.0
    a, b = noise_prior
    depth = state.levels.size - 1
    for move in range(n_moves):
        lowest = depth if move % 4 == 0 else depth - 1
        if lowest == 0:
            continue
        source, target = 1 + integer(rng, lowest), 1 + integer(rng, lowest)
        factor = level_shift(state, rng, source, target, scale_prior, (a, b / change))
        if factor > 0.0:
            accepted += 1
            change *= factor
    return accepted, change


@jit
def level_shift(
    state: State,
    rng: RandomState,
    source: int,
    target: int,
    scale_prior: tuple[float, float],
    noise_prior: tuple[float, float],
) -> float:
    """Propose to pull out level ``source`` and put in level ``target``.

    Return the factor σ² of the noise if it was accepted, else 0.
    """
    depth = state.levels.size - 1
    labels = _unfold(state)
    steps = np.empty(depth + 2)
    for level in range(depth + 1):
        steps[level] = state.levels[level].scale
    steps[depth + 1] = state.scalars[NOISE]

    rest, rest_steps = np.empty_like(labels[1:]), np.empty(depth + 1)
    rest[:source], rest[source:] = labels[:source], labels[source + 1 :]
    rest_steps[:source], rest_steps[source:] = steps[:source], steps[source + 1 :]
    rest_steps[source] = steps[source] + steps[source + 1]
    precision, weighted, mean, variance = _messages(state, rest, rest_steps)

    old_row = labels[source].copy()
    unit = scale_prior[1] / scale_prior[0] * (rest_steps[depth] / state.scalars[NOISE])
    log_back = _log_share(steps[source], rest_steps[source], source == depth, unit)
    log_back += _seat(
        state, rng, rest, source, steps[source : source + 2], old_row, True,
        precision, weighted, mean, variance,
    )  # fmt: skip
    total = rest_steps[target]
    share = _draw_share(rng, total, target == depth, unit)
    if not 0.0 < share < total:
        return 0.0
    log_forth = _log_share(share, total, target == depth, unit)
    new_row = np.empty_like(old_row)
    new_steps = np.empty_like(steps)
    new_steps[:target], new_steps[target + 1 :] = rest_steps[:target], rest_steps[target:]
    new_steps[target], new_steps[target + 1] = share, total - share
    log_forth += _seat(
        state, rng, rest, target, new_steps[target : target + 2], new_row, False,
        precision, weighted, mean, variance,
    )  # fmt: skip
    shifted = np.empty_like(labels)
    shifted[:target], shifted[target + 1 :] = rest[:target], rest[target:]
    shifted[target] = new_row

    log_ratio = _log_target(state, shifted, new_steps, scale_prior, noise_prior) - log_forth
    log_ratio -= _log_target(state, labels, steps, scale_prior, noise_prior) - log_back
    if not math.log(1.0 - uniform(rng)) < log_ratio:
        return 0.0
    factor = new_steps[depth + 1] / steps[depth + 1]
    for level in range(depth + 1):
        state.levels[level].scale = new_steps[level] / factor
    if factor != 1.0:
        state.data[:] /= math.sqrt(factor)
    set_scales(state)
    _fold(state, shifted)
    settle(state)
    return factor


@jit
def _unfold(state: State) -> IntArray:
    """Return the blocks of all data at levels 0 … L and, as level L + 1, each datum by itself.

    Blocks of a level are numbered 0, 1, … in the order in which the data come.
    """
    n_data, depth = state.leaf.size, state.levels.size - 1
    labels = np.zeros((depth + 2, n_data), dtype=np.int32)
    number = np.full((depth + 1, state.nodes.size), NULL, dtype=np.int32)
    n_blocks = np.zeros(depth + 1, dtype=np.int32)
    for i in range(n_data):
        labels[depth + 1, i] = i
        node = state.leaf[i]
        while node != ROOT:
            above = state.nodes[node].parent
            for level in range(state.nodes[above].level + 1, state.nodes[node].level + 1):
                if number[level, node] == NULL:
                    number[level, node] = n_blocks[level]
                    n_blocks[level] += 1
                labels[level, i] = number[level, node]
            node = above
    return labels


@jit
def _fold(state: State, labels: IntArray) -> None:
    """Replace the tree of a state by that of the blocks."""
    n_data, depth = state.leaf.size, state.levels.size - 1
    up, _, n_children = _counts(labels[: depth + 1])
    parent = np.empty(state.nodes.size, dtype=np.int32)
    level = np.empty(state.nodes.size, dtype=np.int32)
    parent[0], level[0] = NULL, 0
    made = 1
    nearest = np.zeros(n_data, dtype=np.int32)  # the node at or above each block of a level
    for j in range(1, depth + 1):
        below = np.zeros(n_data, dtype=np.int32)
        for k in range(labels[j].max() + 1):
            below[k] = nearest[up[j, k]]
            if j == depth or n_children[j, k] > 1:
                parent[made], level[made] = below[k], j
                below[k] = made
                made += 1
        nearest = below
    leaf = np.empty(n_data, dtype=np.int32)
    for i in range(n_data):
        leaf[i] = nearest[labels[depth, i]]
    load_tree(state, parent[:made], level[:made], leaf)


@jit
def _counts(labels: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return of all blocks the one above, the number of data, and that of blocks below."""
    up = np.full(labels.shape, NULL, dtype=np.int32)
    n = np.zeros(labels.shape, dtype=np.int32)
    n_children = np.zeros(labels.shape, dtype=np.int32)
    for level in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            k = labels[level, i]
            n[level, k] += 1
            if level > 0 and n[level, k] == 1:
                up[level, k] = labels[level - 1, i]
                n_children[level - 1, labels[level - 1, i]] += 1
    return up, n, n_children


@jit
def _receive(
    state: State, labels: IntArray, steps: FloatArray, precision: FloatArray, weighted: FloatArray
) -> float:
    """Fill in Λ and h of all blocks; return the log likelihood, up to a constant.

    The last row of ``labels`` is that of single data, and the last of ``steps`` the noise.
    """
    last, n_data = labels.shape[0] - 2, labels.shape[1]
    dimension = state.data.shape[1]
    noise = steps[last + 1]
    value = -dimension * n_data * math.log(noise)
    precision[:], weighted[:] = 0.0, 0.0
    for i in range(n_data):
        leaf = labels[last, i]
        precision[last, leaf] += 1.0 / noise
        for d in range(dimension):
            weighted[last, leaf, d] += state.data[i, d] / noise
            value -= state.data[i, d] ** 2 / noise
    seen = np.zeros(n_data, dtype=np.bool_)
    for level in range(last, -1, -1):
        seen[:] = False
        for i in range(n_data):
            k = labels[level, i]
            if seen[k]:
                continue
            seen[k] = True
            gain = 1.0 / (1.0 + precision[level, k] * steps[level])
            value += dimension * math.log(gain)
            for d in range(dimension):
                value += steps[level] * gain * weighted[level, k, d] ** 2
            if level > 0:
                above = labels[level - 1, i]
                precision[level - 1, above] += precision[level, k] * gain
                for d in range(dimension):
                    weighted[level - 1, above, d] += weighted[level, k, d] * gain
    return 0.5 * value


@jit
def _messages(
    state: State, labels: IntArray, steps: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return Λ, h, and mean and variance of φ given all data, of all blocks."""
    shape = (labels.shape[0] - 1, labels.shape[1])
    dimension = state.data.shape[1]
    precision, weighted = np.empty(shape), np.empty((shape[0], shape[1], dimension))
    _receive(state, labels, steps, precision, weighted)
    mean, variance = np.zeros((shape[0], shape[1], dimension)), np.zeros(shape)
    for level in range(shape[0]):
        for i in range(shape[1]):
            k = labels[level, i]
            if variance[level, k] > 0.0:
                continue
            gain = 1.0 / (1.0 + precision[level, k] * steps[level])
            variance[level, k] = gain * steps[level]
            for d in range(dimension):
                mean[level, k, d] = gain * steps[level] * weighted[level, k, d]
            if level > 0:
                above = labels[level - 1, i]
                variance[level, k] += gain**2 * variance[level - 1, above]
                for d in range(dimension):
                    mean[level, k, d] += gain * mean[level - 1, above, d]
    return precision, weighted, mean, variance


@jit
def _rising(x: float, length: int) -> float:
    """Return the log of x (x + 1) … (x + length − 1)."""
    if length < 4:
        product = 1.0
        for j in range(length):
            product *= x + j
        return math.log(product)
    return math.lgamma(x + length) - math.lgamma(x)


@jit
def _seat(
    state: State,
    rng: RandomState,
    rest: IntArray,
    level: int,
    steps: FloatArray,
    row: IntArray,
    forced: bool,
    precision: FloatArray,
    weighted: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
) -> float:
    """Seat the items of a level of ``rest`` into blocks, written to ``row``, or by force as there.

    Return the log probability. ``steps`` are those into the new level and out of it.
    """
    n_data, dimension = state.data.shape
    last = state.levels.size - 1
    discount = state.scalars[DISCOUNT]
    alpha_above = state.levels[level - 1].alpha
    alpha = 0.0 if level == last else state.levels[level].alpha
    # Items in random order, each by the first of its data.
    first = np.full(n_data, NULL, dtype=np.int32)
    size = np.zeros(n_data, dtype=np.int32)
    items = np.empty(n_data, dtype=np.int32)
    n_items = 0
    for i in range(n_data):
        k = rest[level, i]
        if size[k] == 0:
            first[k] = i
            items[n_items] = k
            n_items += 1
        size[k] += 1
    # Blocks below each node, as linked lists.
    head = np.full(n_data, NULL, dtype=np.int32)
    following = np.full(n_items, NULL, dtype=np.int32)
    n_below = np.zeros(n_data, dtype=np.int32)
    n = np.zeros(n_items, dtype=np.int32)
    n_in = np.zeros(n_items, dtype=np.int32)
    tau, centre = np.empty(n_items), np.empty((n_items, dimension))
    named = np.full(n_data, NULL, dtype=np.int32)  # the block of each label to be forced
    chosen_of = np.empty(n_data, dtype=np.int32)
    weights, blocks = np.empty(n_items + 1), np.empty(n_items + 1, dtype=np.int32)
    x = np.empty(dimension)
    n_blocks, log_probability = 0, 0.0
    for t in range(n_items):
        pick = t + integer(rng, n_items - t)
        items[t], items[pick] = items[pick], items[t]
        item = items[t]
        node, m = rest[level - 1, first[item]], size[item]
        own = steps[1]
        if level == last:
            x[:] = state.data[first[item]]
        else:
            own += 1.0 / precision[level, item]
            x[:] = weighted[level, item] / precision[level, item]
        prior = variance[level - 1, node] + steps[0]
        # The first choice is a new block.
        weight = math.log(alpha_above + discount * n_below[node]) + _rising(1.0 - discount, m - 1)
        if level < last:
            weight -= _rising(alpha + 1.0, m - 1)
        square = 0.0
        for d in range(dimension):
            square += (x[d] - mean[level - 1, node, d]) ** 2
        spread = prior + own
        weights[0] = weight - 0.5 * (dimension * math.log(spread) + square / spread)
        blocks[0] = NULL
        n_choices, best = 1, weights[0]
        block = head[node]
        while block != NULL:
            weight = _rising(n[block] - discount, m)
            if level < last:
                weight += math.log(alpha + discount * n_in[block]) - _rising(alpha + n[block], m)
            spread = 1.0 / tau[block] + own
            square = 0.0
            for d in range(dimension):
                square += (x[d] - centre[block, d]) ** 2
            weight -= 0.5 * (dimension * math.log(spread) + square / spread)
            weights[n_choices], blocks[n_choices] = weight, block
            best = max(best, weight)
            n_choices += 1
            block = following[block]
        total = 0.0
        for c in range(n_choices):
            total += math.exp(weights[c] - best)
        if forced:
            block = named[row[first[item]]]
        else:
            point = uniform(rng) * total
            block = blocks[n_choices - 1]
            for c in range(n_choices):
                point -= math.exp(weights[c] - best)
                if point < 0.0:
                    block = blocks[c]
                    break
        for c in range(n_choices):
            if blocks[c] == block:
                log_probability += weights[c] - best - math.log(total)
        if block == NULL:
            block = n_blocks
            n_blocks += 1
            following[block], head[node] = head[node], block
            n_below[node] += 1
            tau[block] = 1.0 / prior
            centre[block] = mean[level - 1, node]
            if forced:
                named[row[first[item]]] = block
        n[block] += m
        n_in[block] += 1
        tau[block] += 1.0 / own
        centre[block] += (x - centre[block]) / (own * tau[block])
        chosen_of[item] = block
    if not forced:
        number = np.full(n_items, NULL, dtype=np.int32)
        n_blocks = 0
        for i in range(n_data):
            block = chosen_of[rest[level, i]]
            if number[block] == NULL:
                number[block] = n_blocks
                n_blocks += 1
            row[i] = number[block]
    return log_probability


@jit
def _draw_share(rng: RandomState, total: float, noise: bool, scale: float) -> float:
    """Draw the variance of the upper of two steps that sum to ``total``.

    Either of them, drawn by lot, is β/E cut off at the total, with E exponential and β = ``scale``.
    If the lower one is the noise, the upper is 1/(1 + E) of the total.
    """
    exponential = -math.log(1.0 - uniform(rng))
    if noise:
        return total / (1.0 + exponential)
    share = scale / (scale / total + exponential)
    return share if uniform(rng) < 0.5 else total - share


@jit
def _log_share(share: float, total: float, noise: bool, scale: float) -> float:
    """Return the log density of what `_draw_share` draws."""
    if noise:
        return math.log(total) - (total - share) / share - 2.0 * math.log(share)
    other = total - share
    first = scale / total - scale / share - 2.0 * math.log(share)
    second = scale / total - scale / other - 2.0 * math.log(other)
    best = max(first, second)
    both = math.exp(first - best) + math.exp(second - best)
    return math.log(0.5 * scale * both) + best


@jit
def _log_target(
    state: State,
    labels: IntArray,
    steps: FloatArray,
    scale_prior: tuple[float, float],
    noise_prior: tuple[float, float],
) -> float:
    """Return the log density of data, tree and scales, up to a constant."""
    depth, dimension = state.levels.size - 1, state.data.shape[1]
    d = state.scalars[DISCOUNT]
    shape = (labels.shape[0] - 1, labels.shape[1])
    value = _receive(
        state, labels, steps, np.empty(shape), np.empty((shape[0], shape[1], dimension))
    )
    _, n, n_children = _counts(labels[: depth + 1])
    alone = math.lgamma(1.0 - d)
    for level in range(depth + 1):
        alpha = state.levels[level].alpha
        for k in range(labels[level].max() + 1):
            if level > 0 and n[level, k] > 1:
                value += math.lgamma(n[level, k] - d) - alone
            if level < depth:
                value -= _rising(alpha + 1.0, n[level, k] - 1)
                for j in range(1, n_children[level, k]):
                    value += math.log(alpha + j * d)
    noise = steps[depth + 1] / state.scalars[NOISE]
    value -= (noise_prior[0] + 1.0) * math.log(noise) + noise_prior[1] / noise
    for level in range(depth + 1):
        scale = steps[level] / noise
        value -= (scale_prior[0] + 1.0) * math.log(scale) + scale_prior[1] / scale
        value -= math.log(noise)
    return value
