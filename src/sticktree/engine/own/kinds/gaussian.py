"""Real numbers, and positive ones by their logarithms; a variance for each column or one for all.

    s ~ InvGamma(a, ab) with s ≥ f,   μ ~ N(u, s/κ),   y ~ N(μ, s)

TOTAL and SQUARES of a leaf are the sums of its values and of their squares; PRIOR of a node is φ.
The predictive density is a t, base − power · log(1 + width · (y − centre)²), whose numbers are kept
for every leaf. Unlike columns of other kinds, Gaussian ones of a leaf may belong together: in the
spherical form they have one variance, and in the full form a covariance, for which see wishart.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammainc, gammaincinv

from sticktree.checks import FloatArray
from sticktree.engine.common.logarithms import bound_log
from sticktree.engine.own.kinds.kind import (
    Cells,
    ColumnKind,
    Here,
    Kernels,
    LeafColumn,
    Likelihood,
    numbers,
    refuse,
)
from sticktree.engine.own.state import (
    ABOVE,
    BASE,
    CENTRE,
    COUNT,
    FORM,
    FULL,
    KAPPA,
    LIFT,
    MATTERS,
    PHI,
    POWER,
    PRIOR,
    SCALE,
    SHAPE,
    SPHERICAL,
    SQUARES,
    STEPS,
    TOTAL,
    WIDTH,
    State,
)
from sticktree.jit import inlined, linked

if TYPE_CHECKING:
    from sticktree.engine.common.links import Index

PRECISION = 1e-15
CANCELLED = 1e-7  # share of a rate that must be left, when a datum is taken off, to be exact


# ---- one column ----------------------------------------------------------------------------------


@inlined
def _expect(here: Here, coordinates: FloatArray, node: int) -> None:
    coordinates[node, here.at, PRIOR] = coordinates[node, here.at, PHI]


@inlined
def _add(
    coordinates: FloatArray,
    entries: FloatArray,
    at: int,
    d: int,
    leaf: int,
    y: float,
    trials: float,
    sign: float,
) -> None:
    entries[leaf, d, COUNT] += sign
    coordinates[leaf, at, TOTAL] += sign * y
    entries[leaf, d, SQUARES] += sign * y * y


@inlined
def _rate_of(n: float, total: float, squares: float, u: float, kappa: float) -> float:
    """Return ½ Σ (y − ȳ)² + ½ κn/(κ + n) (ȳ − u)²."""
    if n == 0.0:
        return 0.0
    mean = total / n
    around = max(squares - n * mean * mean, 0.0)
    return 0.5 * (around + kappa * n / (kappa + n) * (mean - u) ** 2)


@inlined
def posterior_rate(state: State, leaf: int, d: int, u: float, kappa: float) -> float:
    """Return what the data of a leaf add to the rate ab of column d, if its parent's φ is u."""
    total = state.coordinates[leaf, state.columns[d].offset, TOTAL]
    n, squares = state.entries[leaf, d, COUNT], state.entries[leaf, d, SQUARES]
    return _rate_of(n, total, squares, u, kappa)


@inlined
def _evidence(here: Here, coordinates: FloatArray, leaf: int, node: int) -> float:
    kappa, a, n, rate = here.kappa, here.a, here.n, here.a * here.b
    total, u = coordinates[leaf, here.at, TOTAL], coordinates[node, here.at, PRIOR]
    b_n = rate + _rate_of(n, total, here.squares, u, kappa)
    a_n = a + 0.5 * n
    value = (
        0.5 * math.log(kappa / (kappa + n))
        + a * math.log(rate)
        - a_n * math.log(b_n)
        + math.lgamma(a_n)
        - math.lgamma(a)
        - 0.5 * n * math.log(2.0 * math.pi)
    )
    if here.floor > 0.0:
        value += log_lower_gamma(a_n, b_n / here.floor) - log_lower_gamma(a, rate / here.floor)
    return value


@linked
def fit_each(state: State, leaf: int, node: int) -> None:
    """Recompute the predictive t of every column, each with a variance of its own."""
    least = math.inf
    for d in state.gaussian:
        at, n = state.columns[d].offset, state.entries[leaf, d, COUNT]
        kappa, a, floor = state.hyper[KAPPA, d], state.hyper[SHAPE, d], state.columns[d].floor
        u = state.coordinates[node, at, PRIOR]
        state.entries[leaf, d, CENTRE] = (kappa * u + state.coordinates[leaf, at, TOTAL]) / (
            kappa + n
        )
        b_n = a * state.hyper[SCALE, d] + posterior_rate(state, leaf, d, u, kappa)
        a_n = a + 0.5 * n
        width = (kappa + n) / (2.0 * b_n * (kappa + n + 1.0))
        base, above, lift = _known_step(state, d, n, a_n), 0.0, 0.0
        base += 0.5 * math.log(width / math.pi)
        if floor > 0.0:
            above = log_lower_gamma(a_n, b_n / floor)
            lift = log_lower_gamma(a_n + 0.5, b_n / floor)
            base += lift - above
        state.entries[leaf, d, ABOVE], state.entries[leaf, d, LIFT] = above, lift
        state.entries[leaf, d, WIDTH] = width
        state.entries[leaf, d, POWER] = a_n + 0.5
        state.entries[leaf, d, BASE] = base
        state.nodes[leaf].base += base
        least = min(least, a_n + 0.5)
    state.nodes[leaf].power = least


@linked
def log_t_each(state: State, leaf: int, i: int, gaps: bool, least: float) -> float:
    """Return the log predictive density of Gaussian columns, each with a variance of its own.

    What is below ``least`` need not be exact: with p the least of all powers, the density is at
    most base − p log Π (1 + width · (y − centre)²), over the columns whose floor matters little.
    Those whose floor matters fall off more slowly than their t: they are at most what they are at
    their centre.
    """
    value, power = state.nodes[leaf].base, state.nodes[leaf].power
    if gaps:
        for d in state.gaussian:
            if math.isnan(state.data[i, d]):
                value -= state.entries[leaf, d, BASE]
    if value < least:
        return -math.inf
    product, most = 1.0, value
    for d in state.gaussian:
        y, lift = state.data[i, d], state.entries[leaf, d, LIFT]
        if lift < MATTERS or (gaps and math.isnan(y)):
            continue
        off = y - state.entries[leaf, d, CENTRE]
        product *= 1.0 + state.entries[leaf, d, WIDTH] * off * off
        most -= lift
        if most - power * bound_log(product) < least:
            return -math.inf
    for d in state.gaussian:
        y, lift = state.data[i, d], state.entries[leaf, d, LIFT]
        if gaps and math.isnan(y):
            continue
        off = y - state.entries[leaf, d, CENTRE]
        width, power = state.entries[leaf, d, WIDTH], state.entries[leaf, d, POWER]
        square = 1.0 + width * off * off
        value -= power * math.log(square)
        if lift < 0.0:
            kappa = state.hyper[KAPPA, d] + state.entries[leaf, d, COUNT]
            b_n = 0.5 * kappa / ((kappa + 1.0) * width)
            value += log_lower_gamma(power, b_n * square / state.columns[d].floor) - lift
            if value < least:
                return -math.inf
    return value


@linked
def log_t_within(state: State, leaf: int, i: int, gaps: bool) -> float:
    """Return the same of a datum that is in the leaf, given all others there.

    With c and b_n those of the leaf as it is, and off = y − c, the others have the rate
    b = b_n − ½ κ_n/(κ_n − 1) off², and 1 + width · (y − centre)² without the datum is b_n/b. Where
    little is left of b, it is not exact enough: then NaN is returned.
    """
    value, peak = 0.0, 1.0
    for d in state.gaussian:
        y = state.data[i, d]
        if gaps and math.isnan(y):
            continue
        n, a_n = state.entries[leaf, d, COUNT], state.entries[leaf, d, POWER] - 0.5
        kappa = state.hyper[KAPPA, d] + n
        off = y - state.entries[leaf, d, CENTRE]
        b_n = 0.5 * kappa / ((kappa + 1.0) * state.entries[leaf, d, WIDTH])
        b = b_n - 0.5 * kappa / (kappa - 1.0) * off * off
        if not b > CANCELLED * b_n:
            return math.nan
        value += _known_step(state, d, n - 1.0, a_n - 0.5) + a_n * math.log(b / b_n)
        peak *= (kappa - 1.0) / (2.0 * math.pi * kappa * b)
        if not 1e-250 < peak < 1e250:
            value += 0.5 * math.log(peak)
            peak = 1.0
        floor = state.columns[d].floor
        if floor > 0.0:
            value += state.entries[leaf, d, ABOVE] - log_lower_gamma(a_n - 0.5, b / floor)
    return value + 0.5 * math.log(peak)


@inlined
def _constants(state: State, d: int) -> float:
    return 0.0


@inlined
def _approximate(state: State, d: int, leaf: int, p: int) -> tuple[float, float]:
    n, kappa = state.entries[leaf, d, COUNT], state.hyper[KAPPA, d]
    mean = state.coordinates[leaf, p, TOTAL] / n
    column = state.gaussian[0] if state.sizes[FORM] == SPHERICAL else d
    a, b = state.hyper[SHAPE, column], state.hyper[SCALE, column]
    if state.sizes[FORM] == FULL:
        column = state.gaussian[0]
        kappa, a = state.hyper[KAPPA, column], state.hyper[SHAPE, column]
        e = 0
        while state.gaussian[e] != d:
            e += 1
        b = 0.5 * state.psi[e, e] / a
    rate = a * b + posterior_rate(state, leaf, d, mean, kappa)
    # The precision of n observations of a parameter that itself varies as κ observations do.
    return mean, (a + 0.5 * n) / rate * kappa * n / (kappa + n)


@inlined
def _known_step(state: State, d: int, n: float, a_n: float) -> float:
    """Return log Γ(a_n + ½) − log Γ(a_n) of a column of n entries, from the table if there."""
    if n >= STEPS:
        return _half_step(a_n)
    k = int(n)
    if math.isnan(state.steps[d, k]):
        state.steps[d, k] = _half_step(a_n)
    return state.steps[d, k]


@inlined
def _half_step(x: float) -> float:
    """Return log Γ(x + ½) − log Γ(x): where x is large, by Stirling's series."""
    if x < 20.0:
        return math.lgamma(x + 0.5) - math.lgamma(x)
    y = 1.0 / x
    square = y * y
    series = 1.0 / 192.0 - square * (1.0 / 640.0 - square * 17.0 / 14336.0)
    return 0.5 * math.log(x) - y * (0.125 - square * series)


@linked
def log_lower_gamma(a: float, x: float) -> float:
    """Return log P(a, x), the regularised lower incomplete gamma function.

    With 1/s ~ Gamma(a, b), P(a, b/f) is the probability that s is at least f: what it costs, or
    gains, that no leaf may be narrower than the data's resolution. It is computed by its series up
    to a + 1, by Legendre's continued fraction beyond.
    """
    if x > a + 9.0 * math.sqrt(a) + 40.0:
        return 0.0
    front = a * math.log(x) - x - math.lgamma(a)
    if x < a + 1.0:
        term, total, k = 1.0 / a, 1.0 / a, a
        while term > PRECISION * total:
            k += 1.0
            term *= x / k
            total += term
        return front + math.log(total)
    # The upper function by Lentz's method: b_k = x + 2k + 1 − a, a_k = −k (k − a).
    b = x + 1.0 - a
    ratio, inverse = 1e300, 1.0 / b
    value, k, change = inverse, 0.0, 2.0
    while abs(change - 1.0) > PRECISION:
        k += 1.0
        factor = -k * (k - a)
        b += 2.0
        inverse = 1.0 / (factor * inverse + b)
        ratio = b + factor / ratio
        change = inverse * ratio
        value *= change
    return math.log1p(-math.exp(front) * value)


# ---- columns that share one variance -------------------------------------------------------------


@linked
def fit_together(state: State, leaf: int, node: int) -> None:
    """Recompute centres and widths of Gaussian columns that share one variance."""
    if state.gaussian.size == 0:
        return
    column = state.gaussian[0]
    kappa, a = state.hyper[KAPPA, column], state.hyper[SHAPE, column]
    b_n, a_n = a * state.hyper[SCALE, column], a
    for d in state.gaussian:
        u = state.coordinates[node, state.columns[d].offset, PRIOR]
        b_n += posterior_rate(state, leaf, d, u, kappa)
        a_n += 0.5 * state.entries[leaf, d, COUNT]
    state.nodes[leaf].power = a_n
    size = 0.5 * state.gaussian.size
    base = math.lgamma(a_n + size) - math.lgamma(a_n)
    state.entries[leaf, column, ABOVE] = 0.0
    if state.columns[column].floor > 0.0:
        state.entries[leaf, column, ABOVE] = log_lower_gamma(a_n, b_n / state.columns[column].floor)
        base -= state.entries[leaf, column, ABOVE]
    state.entries[leaf, column, POWER] = b_n
    for d in state.gaussian:
        at, n = state.columns[d].offset, state.entries[leaf, d, COUNT]
        u = state.coordinates[node, at, PRIOR]
        state.entries[leaf, d, CENTRE] = (kappa * u + state.coordinates[leaf, at, TOTAL]) / (
            kappa + n
        )
        width = (kappa + n) / (2.0 * b_n * (kappa + n + 1.0))
        state.entries[leaf, d, WIDTH] = width
        state.entries[leaf, d, BASE] = 0.5 * math.log(width / math.pi)
        base += state.entries[leaf, d, BASE]
    state.nodes[leaf].base = base


@linked
def log_t_together(state: State, leaf: int, i: int, gaps: bool) -> float:
    """Return the log predictive density of Gaussian columns that share one variance."""
    value, power = state.nodes[leaf].base, state.nodes[leaf].power
    square, there = 1.0, 0
    for d in state.gaussian:
        y = state.data[i, d]
        if not math.isnan(y):
            square += state.entries[leaf, d, WIDTH] * (y - state.entries[leaf, d, CENTRE]) ** 2
            there += 1
        else:
            value -= state.entries[leaf, d, BASE]
    if there == 0:
        return 0.0
    if gaps:
        value += math.lgamma(power + 0.5 * there) - math.lgamma(power + 0.5 * state.gaussian.size)
    value -= (power + 0.5 * there) * math.log(square)
    column = state.gaussian[0]
    floor = state.columns[column].floor
    if floor > 0.0:
        rate = state.entries[leaf, column, POWER] * square
        value += log_lower_gamma(power + 0.5 * there, rate / floor)
    return value


@linked
def evidence_together(state: State, leaf: int, node: int) -> float:
    """Return the log evidence of Gaussian columns that share one variance."""
    column = state.gaussian[0]
    kappa, a = state.hyper[KAPPA, column], state.hyper[SHAPE, column]
    rate = a * state.hyper[SCALE, column]
    b_n, a_n, value = rate, a, 0.0
    for d in state.gaussian:
        n = state.entries[leaf, d, COUNT]
        b_n += posterior_rate(
            state, leaf, d, state.coordinates[node, state.columns[d].offset, PRIOR], kappa
        )
        a_n += 0.5 * n
        value += 0.5 * math.log(kappa / (kappa + n))
    value += a * math.log(rate) - a_n * math.log(b_n) + math.lgamma(a_n) - math.lgamma(a)
    floor = state.columns[column].floor
    if floor > 0.0:
        value += log_lower_gamma(a_n, b_n / floor) - log_lower_gamma(a, rate / floor)
    return value - (a_n - a) * math.log(2.0 * math.pi)


# ---- means and draws -----------------------------------------------------------------------------


def _mean(leaves: LeafColumn, shares: FloatArray, trials: FloatArray) -> FloatArray:
    return np.asarray(shares @ leaves.entries[CENTRE])


def _sample(leaves: LeafColumn, trials: FloatArray, rng: np.random.Generator) -> FloatArray:
    kappa = leaves.hyper[KAPPA] + leaves.entries[COUNT]
    rate = 0.5 * kappa / ((kappa + 1.0) * leaves.entries[WIDTH])
    s = _variance(leaves.entries[POWER] - 0.5, rate, leaves.floor, rng)
    noise = np.sqrt(s * (kappa + 1.0) / kappa) * rng.standard_normal(s.size)
    return np.asarray(leaves.entries[CENTRE] + noise)


def sample_together(state: State, out: FloatArray, leaf: Index, rng: np.random.Generator) -> None:
    """Draw the missing entries of rows in Gaussian columns that share one variance."""
    if not state.gaussian.size:
        return
    column = int(state.gaussian[0])
    shape, rate = state.nodes["power"][leaf].copy(), state.entries[leaf, column, POWER].copy()
    off = out[:, state.gaussian] - state.entries[leaf[:, None], state.gaussian, CENTRE]
    there = ~np.isnan(off)
    widths = state.entries[leaf[:, None], state.gaussian, WIDTH]
    shape += 0.5 * there.sum(axis=1)
    rate *= 1.0 + np.where(there, widths * off**2, 0.0).sum(axis=1)
    s = _variance(shape, rate, float(state.columns["floor"][column]), rng)
    for d in state.gaussian:
        gap = np.flatnonzero(np.isnan(out[:, d]))
        kappa = state.hyper[KAPPA, column] + state.entries[leaf[gap], d, COUNT]
        noise = rng.standard_normal(gap.size) * np.sqrt(s[gap] * (kappa + 1.0) / kappa)
        out[gap, d] = state.entries[leaf[gap], d, CENTRE] + noise


def _variance(
    shape: FloatArray, rate: FloatArray, floor: float, rng: np.random.Generator
) -> FloatArray:
    """Draw s with 1/s ~ Gamma(shape, rate), not below a floor."""
    if floor == 0.0:
        return np.asarray(rate / rng.standard_gamma(shape))
    below = gammainc(shape, rate / floor) * rng.uniform(size=np.shape(shape))
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(rate / gammaincinv(shape, below), floor))


# ---- cells ---------------------------------------------------------------------------------------


def _logarithms(cells: Cells, categories: object) -> FloatArray:
    values = numbers(cells)
    refuse(cells, values, values <= 0, "is not above 0, as a lognormal column needs")
    return np.log(values)


def _exponentials(values: FloatArray, categories: object) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.exp(values)


GAUSSIAN = ColumnKind(
    "gaussian",
    Likelihood(
        "gaussian",
        medians=(0.1, 2.0, 0.1),  # of standardised values
        deviations=(1.5, 1.0, 1.5),
        kernels=Kernels(_expect, _add, _evidence, None, _constants, _approximate),
        mean=_mean,
        sample=_sample,
        is_continuous=True,
    ),
    encode=numbers,
    decode=lambda values, _: values.copy(),
    inferred_from=("real", "integer"),
)
LOGNORMAL = ColumnKind(
    "lognormal",
    GAUSSIAN.likelihood,
    encode=_logarithms,
    decode=_exponentials,
    is_log=True,
)
