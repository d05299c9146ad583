"""The move of c, the factor of the concentrations, and of the discount d: slice sampling.

c ~ Gamma(a, b), d ~ Beta(a, b), and both enter through Π g alone.
"""

from __future__ import annotations

import math

from sticktree.engine.common.links import DISCOUNT, FACTOR, TreeState
from sticktree.engine.common.random import RandomState
from sticktree.engine.common.seating import log_tree_probability
from sticktree.engine.common.slice import slice_sampler
from sticktree.jit import jit, linked


@linked
def _log_factor(x: float, parameters: tuple[TreeState, float, float, bool]) -> float:
    """Return the log density of x = log c."""
    state, shape, rate, less_discount = parameters
    c = math.exp(x)
    value = log_tree_probability(state, c, state.scalars[DISCOUNT], less_discount)
    return value + shape * x - rate * c


@linked
def _log_discount(x: float, parameters: tuple[TreeState, float, float, bool]) -> float:
    """Return the log density of x = log(d/(1 − d))."""
    state, a, b, less_discount = parameters
    d = 1.0 / (1.0 + math.exp(-x))
    if d >= 1.0:
        return -math.inf
    prior = -a * math.log1p(math.exp(-x)) - b * math.log1p(math.exp(x))
    return log_tree_probability(state, state.scalars[FACTOR], d, less_discount) + prior


_draw_factor = slice_sampler(_log_factor)
_draw_discount = slice_sampler(_log_discount)


@jit
def draw_concentration(
    state: TreeState,
    rng: RandomState,
    learn_factor: bool,
    factor_prior: tuple[float, float],
    learn_discount: bool,
    discount_prior: tuple[float, float],
    less_discount: bool,
) -> None:
    """Redraw c and d, as far as they are learned, and with them every α.

    What else depends on them is left as it was.
    """
    if learn_factor:
        start = math.log(state.scalars[FACTOR])
        parameters = (state, factor_prior[0], factor_prior[1], less_discount)
        state.scalars[FACTOR] = math.exp(_draw_factor(start, parameters, 1.0, rng))
    if learn_discount:
        d = state.scalars[DISCOUNT]
        parameters = (state, discount_prior[0], discount_prior[1], less_discount)
        x = _draw_discount(math.log(d / (1.0 - d)), parameters, 1.0, rng)
        state.scalars[DISCOUNT] = 1.0 / (1.0 + math.exp(-x))
    c, less = state.scalars[FACTOR], state.scalars[DISCOUNT] if less_discount else 0.0
    for level in range(state.levels.size):
        state.levels[level].alpha = c * state.levels[level].shape - less
