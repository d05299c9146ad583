"""The restaurant's side of the state: factors that moves multiply, and the probability of the tree.

A datum goes from a node p of level a to its child k of level b with probability

    (n_k − d)/(n_p + α_a) · Π_{a<j<b} (n_k − d)/(n_k + α_j),

where the product is over the only children on the edge. At any of those, as at any node, it may
open a new branch instead, and then has a leaf of its own with predictive variance at least
r + v_{m+1} + … + v_L, where m is the level of the branching. That bounds its density, whatever the
datum. Bounds add up from the leaves to the root: a node's *offers* are the bounds on all new
branches below it, for a datum that has come by. So the bound on all of them is at hand at the root,
most moves need not look at new branches at all, and one of them is found by a walk down from the
root (see places.py). With groups, all of these are the factors of the group at hand (groups.py).
"""

from __future__ import annotations

from sticktree.checks import FloatArray
from sticktree.engine.common.concentration import draw_concentration
from sticktree.engine.common.franchise import franchise_move
from sticktree.engine.common.groups import add_of_group, is_grouped, opening_at, seats, taking
from sticktree.engine.common.links import ALIVE, DISCOUNT, LEAVES, ROOT, Index, list_nodes
from sticktree.engine.common.random import RandomState
from sticktree.engine.shared.messages import receive, receive_path, send
from sticktree.engine.shared.state import State
from sticktree.jit import inlined, jit, linked
from sticktree.tree.arrays import NULL


@inlined
def _set_factors(state: State, node: int) -> None:
    """Recompute the factors of one node; its offers must be right."""
    if is_grouped(state):
        _set_group_factors(state, node)
        return
    d = state.scalars[DISCOUNT]
    level, n = state.nodes[node].level, state.nodes[node].n
    offer = 0.0
    if level < state.levels.size - 1:
        alpha = state.levels[level].alpha
        # In an empty tree the first datum has no choice, and n + α may be 0.
        state.nodes[node].inverse = 1.0 / (n + alpha) if n > 0 else 1.0
        state.nodes[node].opening = (alpha + d * state.nodes[node].n_children) * state.levels[
            level
        ].bound
        offer = state.nodes[node].inverse * (state.nodes[node].opening + state.nodes[node].offers)
    if node != ROOT:
        passing, opening = n - d, 0.0
        for j in range(state.nodes[state.nodes[node].parent].level + 1, level):
            here = passing / (n + state.levels[j].alpha)
            opening += here * (state.levels[j].alpha + d) * state.levels[j].bound
            passing = here * (n - d)
        state.nodes[node].passing = passing
        state.nodes[node].opening_above = opening
        state.nodes[node].share = opening + passing * offer


@linked
def _set_group_factors(state: State, node: int) -> None:
    """Recompute the factors of one node for the group at hand."""
    level, offer = state.nodes[node].level, 0.0
    if level < state.levels.size - 1:
        state.nodes[node].inverse = 1.0 / seats(state, node, level)
        state.nodes[node].opening = opening_at(state, node, level) * state.levels[level].bound
        offer = state.nodes[node].inverse * (state.nodes[node].opening + state.nodes[node].offers)
    if node != ROOT:
        above = state.nodes[state.nodes[node].parent].level
        passing, opening = taking(state, node, above), 0.0
        for j in range(above + 1, level):
            here = passing / seats(state, node, j)
            opening += here * opening_at(state, node, j) * state.levels[j].bound
            passing = here * taking(state, node, j)
        state.nodes[node].passing = passing
        state.nodes[node].opening_above = opening
        state.nodes[node].share = opening + passing * offer


@jit
def greet(state: State, group: int) -> None:
    """Let the datum at hand be of a group: all factors are those of that group then."""
    if state.present[0] == group:
        return
    state.present[0] = group
    list_nodes(state)
    for k in range(state.sizes[ALIVE] - 1, -1, -1):
        refresh(state, state.order[k])


@linked
def refresh(state: State, node: int) -> None:
    """Recompute the factors of one node, after its data, children or edge have changed."""
    offers = 0.0
    child = state.nodes[node].first_child
    while child != NULL:
        offers += state.nodes[child].share
        child = state.nodes[child].next_sibling
    state.nodes[node].offers = offers
    _set_factors(state, node)


@linked
def refresh_path(state: State, node: int) -> None:
    """Recompute the factors of a node and of all above it."""
    while node != NULL:
        refresh(state, node)
        node = state.nodes[node].parent


@inlined
def seat(state: State, leaf: int, change: float) -> None:
    """Add to the number of data of a leaf and of all above it, and to what depends on it."""
    if is_grouped(state):
        add_of_group(state, leaf, state.present[0], int(change))
    more, node = 0.0, leaf
    while node != NULL:
        before = state.nodes[node].share
        state.nodes[node].n += int(change)
        state.nodes[node].offers += more
        _set_factors(state, node)
        more = state.nodes[node].share - before
        node = state.nodes[node].parent


@inlined
def bound_of_branches(state: State) -> float:
    """Return the sum of the bounds on all new branches."""
    root = state.nodes[ROOT]
    return root.inverse * (root.opening + root.offers)


@jit
def settle(state: State) -> None:
    """Recompute all that depends on the tree."""
    list_nodes(state)
    for k in range(state.sizes[ALIVE] - 1, -1, -1):
        receive(state, state.order[k])
        refresh(state, state.order[k])
    send(state)


@jit
def settle_data(state: State) -> None:
    """Recompute all that depends on the data."""
    dimension = state.total.shape[1]
    for slot in range(state.sizes[LEAVES]):
        for d in range(dimension):
            state.total[state.leaves[slot], d] = 0.0
    for i in range(state.leaf.size):
        for d in range(dimension):
            state.total[state.leaf[i], d] += state.data[i, d]
    settle(state)


@linked
def settle_detached(state: State, changed: int) -> None:
    """Recompute what a `detach` has changed on the way up; ``changed`` is what it returned."""
    receive_path(state, changed)
    refresh_path(state, changed)


@linked
def settle_attached(state: State, node: int, shortened: int) -> None:
    """Recompute what an `attach` has changed on the way up; ``shortened`` is what it returned."""
    if shortened != NULL:
        receive(state, shortened)
        refresh(state, shortened)
    receive_path(state, node)
    refresh_path(state, node)


@jit
def concentration_move(
    state: State,
    rng: RandomState,
    learn_factor: bool,
    factor_prior: tuple[float, float],
    learn_discount: bool,
    discount_prior: tuple[float, float],
    less_discount: bool,
) -> None:
    """Redraw c and d, and bring the seats up to date."""
    draw_concentration(
        state, rng, learn_factor, factor_prior, learn_discount, discount_prior, less_discount
    )
    for k in range(state.sizes[ALIVE] - 1, -1, -1):
        refresh(state, state.order[k])


@jit
def grouped_concentration_move(
    state: State,
    rng: RandomState,
    learn_factor: bool,
    factor_prior: tuple[float, float],
    learn_discount: bool,
    discount_prior: tuple[float, float],
    less_discount: bool,
    learn_gamma: bool,
    gamma_scale: float,
    learn_kinship: bool = False,
) -> None:
    """Redraw c, d, γ, κ and the sticks that are kept, and bring the seats up to date."""
    franchise_move(
        state, rng, learn_factor, factor_prior, learn_discount, discount_prior, less_discount,
        learn_gamma, gamma_scale, learn_kinship,
    )  # fmt: skip
    for k in range(state.sizes[ALIVE] - 1, -1, -1):
        refresh(state, state.order[k])


@jit
def take_sums(
    state: State, leaves: Index, n: FloatArray, seen: FloatArray, total: FloatArray
) -> None:
    """Give each leaf the number and the sum of its rows; all else follows.

    Its place is known by ``seen`` of them, fewer than n if it has moved: a state that has no room
    for that takes all.
    """
    list_nodes(state)
    for k in range(state.sizes[ALIVE]):
        state.nodes[state.order[k]].n = 0
    for k in range(leaves.size):
        state.nodes[leaves[k]].n = int(n[k])
        if state.lost.size:
            state.lost[leaves[k]] = n[k] - seen[k, 0]
        for d in range(total.shape[1]):
            state.total[leaves[k], d] = total[k, d]
    for k in range(state.sizes[ALIVE] - 1, 0, -1):
        node = state.order[k]
        state.nodes[state.nodes[node].parent].n += state.nodes[node].n
    settle(state)
