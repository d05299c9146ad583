"""Groups with parents, as every engine has them: sticks of those that are parents beside β.

Groups of rows are the youngest: θ_j ~ DP(γ, κ θ_p + (1 − κ) β) of a group with the parent p is
integrated out, as it is of a group without. The sticks θ_p of groups that are parents are kept at
every point of the tree, as logarithms, for many are too small to write. Rows of a group that is a
parent itself, such as a day that another follows, go by its sticks: it is *direct*. So a row of
group j at a point goes to child k with probability

    (n_jk + γ (κ θ_pk + (1 − κ) β_k))/(n_j + γ),    θ_jk if it is direct,

and p(tree, β, θ) = Π_points f_K(β) Π_p Dirichlet(θ_p; γ (κ θ_elder + (1 − κ) β)) Π_rows.

A stick or what is left of one is a vector here: β first, then log θ_p for every parent, elder ones
before younger. Where it breaks in two, shares are in pairs: those of β, then of every θ_p their
logs. The share of θ_p is Beta(x_1, x_2) a priori, with x_1 and x_2 what the two pieces of its base
make of γ; it is drawn from a mixture of that with Beta(x_1 + c_1, x_2 + c_2), c the customers that
are expected there, half and half, which has no lighter tails.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.links import Index, TreeState
from sticktree.engine.common.logarithms import log_ascent
from sticktree.engine.common.random import RandomState, log_gamma_number, uniform
from sticktree.jit import inlined, linked
from sticktree.tree.arrays import NULL

LEAST = 1e-290  # of sticks: they are never 0
LOG_HALF = math.log(0.5)


class ParentedState(TreeState, Protocol):
    """What a state of any engine has of groups with parents; without parents all are empty."""

    @property
    def seated(self) -> Index:
        """Data of each group at or below each node, shape (M, J + 1): the last has none, ever."""

    @property
    def stick(self) -> FloatArray:
        """Shared sticks, shape (M, L)."""

    @property
    def rest(self) -> FloatArray:
        """What is left of them, shape (M, L)."""

    @property
    def gamma(self) -> FloatArray:
        """γ, shape (1,)."""

    @property
    def present(self) -> Index:
        """The group of the datum at hand, shape (1,); NULL without groups."""

    @property
    def theta(self) -> FloatArray:
        """Logs of the sticks of parents, shape (M, L, P)."""

    @property
    def theta_rest(self) -> FloatArray:
        """Logs of what is left of them, shape (M, L, P)."""

    @property
    def above(self) -> Index:
        """By whose sticks each group goes, shape (J + 1,); NULL if it has no parent."""

    @property
    def direct(self) -> Index:
        """Whether these are the group's own, shape (J + 1,)."""

    @property
    def elder(self) -> Index:
        """The parent of each parent, or NULL, shape (P,)."""

    @property
    def kappa(self) -> FloatArray:
        """κ, shape (1,)."""


@inlined
def has_parents(state: ParentedState) -> bool:
    """Tell whether groups of a state have parents."""
    return state.elder.size > 0


@inlined
def is_direct(state: ParentedState, j: int) -> bool:
    """Tell whether rows of a group go by sticks that are kept."""
    return state.elder.size > 0 and state.direct[j] == 1


@inlined
def pull(state: ParentedState, j: int, shared: float, log_own: float) -> float:
    """Return what a stick adds to the weight of a way for group j: γ (κ θ + (1 − κ) β), or θ."""
    if state.above[j] == NULL:
        return state.gamma[0] * shared
    if state.direct[j] == 1:
        return max(math.exp(log_own), LEAST)
    kappa = state.kappa[0]
    return state.gamma[0] * (kappa * math.exp(log_own) + (1.0 - kappa) * shared)


@linked
def pull_of(state: ParentedState, j: int, stick: FloatArray) -> float:
    """Return `pull` of a stick that is a vector."""
    return pull(state, j, stick[0], stick[1 + state.above[j]])


@linked
def parent_pull(state: ParentedState, p: int, stick: FloatArray) -> float:
    """Return γ times the base of parent p at a stick."""
    elder = state.elder[p]
    if elder == NULL:
        return state.gamma[0] * stick[0]
    kappa = state.kappa[0]
    return state.gamma[0] * (kappa * math.exp(stick[1 + elder]) + (1.0 - kappa) * stick[0])


@linked
def by_parent(state: ParentedState, p: int, stick: FloatArray) -> float:
    """Return the share of tables at a stick that are customers of parent p, of a child of it."""
    own = state.kappa[0] * math.exp(stick[1 + p])
    return own / (own + (1.0 - state.kappa[0]) * stick[0])


@linked
def fill_stick(state: ParentedState, node: int, level: int, out: FloatArray) -> None:
    """Write the stick of a node at the point of a level as a vector."""
    out[0] = state.stick[node, level]
    for p in range(state.elder.size):
        out[1 + p] = state.theta[node, level, p]


@linked
def fill_rest(state: ParentedState, node: int, level: int, out: FloatArray) -> None:
    """Write what is left at a point as a vector."""
    out[0] = state.rest[node, level]
    for p in range(state.elder.size):
        out[1 + p] = state.theta_rest[node, level, p]


@linked
def whole_stick(state: ParentedState) -> FloatArray:
    """Return the stick of a point that nothing has been broken off from."""
    stick = np.zeros(1 + state.elder.size)
    stick[0] = 1.0
    return stick


@linked
def log_sum(a: float, b: float) -> float:
    """Return log(e^a + e^b)."""
    if a < b:
        a, b = b, a
    return a if b == -math.inf else a + math.log1p(math.exp(b - a))


@linked
def log_share_of_two(a: float, b: float, rng: RandomState) -> tuple[float, float]:
    """Return the log of a Beta(a, b) number, and of 1 minus it."""
    first, second = log_gamma_number(rng, a), log_gamma_number(rng, b)
    total = log_sum(first, second)
    return first - total, second - total


# ---- rows ----------------------------------------------------------------------------------------


@inlined
def log_ways(state: ParentedState, j: int, x: float, before: float, n: float) -> float:
    """Return log (x + before)_n of n rows of a group that come to ``before``, or n log x."""
    if is_direct(state, j):
        return n * math.log(x)
    return log_ascent(x + before, n)


@linked
def log_ways_of(state: ParentedState, stick: FloatArray, counts: Index) -> float:
    """Return Σ_j of `log_ways` of rows of groups at a stick where there are no others."""
    value = 0.0
    for j in range(counts.size):
        n = float(counts[j])
        if n > 0.0:
            value += log_ways(state, j, pull_of(state, j, stick), 0.0, n)
    return value


@linked
def log_seats(state: ParentedState, before: Index, counts: Index) -> float:
    """Return log Π_j (γ + n_j)_{N_j} of rows that leave a point by some way."""
    value = 0.0
    for j in range(counts.size):
        if counts[j] > 0 and not is_direct(state, j):
            value += log_ascent(state.gamma[0] + before[j], float(counts[j]))
    return value


@linked
def _tables(x: float, n: float) -> float:
    """Return about how many tables n customers have."""
    if n <= 1.0:
        return n
    return min(n, 1.0 + x * math.log((x + n - 0.5) / (x + 0.5)))


@linked
def expected_customers(
    state: ParentedState, stick: FloatArray, share: float, counts: Index
) -> FloatArray:
    """Return about how many customers β and each parent have on a share of a stick.

    ``counts`` are the rows of each group there; β has one customer at least.
    """
    out, any_row = np.zeros(1 + state.elder.size), False
    for j in range(counts.size):
        n, p = float(counts[j]), state.above[j]
        if n == 0.0:
            continue
        any_row = True
        if state.direct[j] == 1:
            out[1 + p] += n
            continue
        many = _tables(share * pull_of(state, j, stick), n)
        if p != NULL:
            routed = many * by_parent(state, p, stick)
            out[1 + p] += routed
            many -= routed
        out[0] += many
    for p in range(state.elder.size - 1, -1, -1):
        many = _tables(share * parent_pull(state, p, stick), out[1 + p])
        elder = state.elder[p]
        if elder != NULL:
            routed = many * by_parent(state, elder, stick)
            out[1 + elder] += routed
            many -= routed
        out[0] += many
    if any_row:
        out[0] = max(out[0], 1.0)
    return out


# ---- sticks that break in two --------------------------------------------------------------------


@linked
def pieces(
    stick: FloatArray, shares: FloatArray, p: int, first: FloatArray, rest: FloatArray
) -> None:
    """Write entry p of both pieces of a stick that is broken in shares."""
    if p == 0:
        first[0], rest[0] = max(stick[0] * shares[0], LEAST), max(stick[0] * shares[1], LEAST)
    else:
        first[p], rest[p] = stick[p] + shares[2 * p], stick[p] + shares[2 * p + 1]


@linked
def both_pieces(stick: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both pieces of a stick that is broken in shares."""
    first, rest = np.empty_like(stick), np.empty_like(stick)
    for p in range(stick.size):
        pieces(stick, shares, p, first, rest)
    return first, rest


@linked
def draw_parent_shares(
    state: ParentedState,
    stick: FloatArray,
    shares: FloatArray,
    first_customers: FloatArray,
    other_customers: FloatArray,
    rng: RandomState,
) -> None:
    """Draw the shares of parents; those of β are there."""
    first, rest = np.empty_like(stick), np.empty_like(stick)
    pieces(stick, shares, 0, first, rest)
    for p in range(state.elder.size):
        a, b = parent_pull(state, p, first), parent_pull(state, p, rest)
        if uniform(rng) < 0.5:
            a += first_customers[1 + p]
            b += other_customers[1 + p]
        shares[2 * p + 2], shares[2 * p + 3] = log_share_of_two(a, b, rng)
        pieces(stick, shares, 1 + p, first, rest)


@linked
def log_parent_ratio(
    state: ParentedState,
    stick: FloatArray,
    shares: FloatArray,
    first_customers: FloatArray,
    other_customers: FloatArray,
) -> float:
    """Return the log of the prior of all shares of parents over the law that draws them."""
    first, rest = both_pieces(stick, shares)
    value = 0.0
    for p in range(state.elder.size):
        a, b = parent_pull(state, p, first), parent_pull(state, p, rest)
        c, e = first_customers[1 + p], other_customers[1 + p]
        more = math.lgamma(a + b + c + e) - math.lgamma(a + c) - math.lgamma(b + e)
        more -= math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        more += c * shares[2 * p + 2] + e * shares[2 * p + 3]
        value -= LOG_HALF + log_sum(0.0, more)
    return value


@linked
def log_parent_shares(state: ParentedState, stick: FloatArray, shares: FloatArray) -> float:
    """Return the log density of all shares of parents a priori."""
    first, rest = both_pieces(stick, shares)
    value = 0.0
    for p in range(state.elder.size):
        a, b = parent_pull(state, p, first), parent_pull(state, p, rest)
        value += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        value += (a - 1.0) * shares[2 * p + 2] + (b - 1.0) * shares[2 * p + 3]
    return value


@linked
def log_rows_split(
    state: ParentedState, stick: FloatArray, shares: FloatArray, halves: Index
) -> float:
    """Return the log ratio of the rows of groups where a stick breaks in two; (2, J)."""
    first, rest = both_pieces(stick, shares)
    value = log_ways_of(state, first, halves[0]) + log_ways_of(state, rest, halves[1])
    return value - log_ways_of(state, stick, halves[0] + halves[1])


@linked
def break_for_row(
    state: ParentedState, stick: FloatArray, shares: FloatArray, rng: RandomState
) -> None:
    """Draw the shares of parents for a row of the group at hand that is the first on a new branch.

    β has its share, which is that of a branch by which something went. The row came by the sticks
    of its parent or by β, and so did what is above: a parent by which it came has one customer.
    """
    first, rest = np.empty_like(stick), np.empty_like(stick)
    pieces(stick, shares, 0, first, rest)
    came, j = np.zeros(state.elder.size), state.present[0]
    p = state.above[j]
    if p != NULL and state.direct[j] == 0 and uniform(rng) >= by_parent(state, p, stick):
        p = NULL
    while p != NULL:
        came[p], elder = 1.0, state.elder[p]
        if elder != NULL and uniform(rng) >= by_parent(state, elder, stick):
            elder = NULL
        p = elder
    for p in range(state.elder.size):
        a, b = parent_pull(state, p, first) + came[p], parent_pull(state, p, rest)
        shares[2 * p + 2], shares[2 * p + 3] = log_share_of_two(a, b, rng)
        pieces(stick, shares, 1 + p, first, rest)


# ---- leaves that are split or joined -------------------------------------------------------------


@linked
def joined_sticks(
    state: ParentedState, first: int, second: int, level: int
) -> tuple[FloatArray, FloatArray]:
    """Return the stick of a leaf, or of two siblings together, as a vector, and their shares."""
    stick, shares = np.empty(1 + state.elder.size), np.full(2 + 2 * state.elder.size, LOG_HALF)
    fill_stick(state, first, level, stick)
    shares[0], shares[1] = 0.5, 0.5
    if first != second:
        other = np.empty_like(stick)
        fill_stick(state, second, level, other)
        whole = stick[0] + other[0]
        shares[0], shares[1] = stick[0] / whole, other[0] / whole
        stick[0] = whole
        for p in range(1, stick.size):
            together = log_sum(stick[p], other[p])
            shares[2 * p], shares[2 * p + 1] = stick[p] - together, other[p] - together
            stick[p] = together
    return stick, shares
