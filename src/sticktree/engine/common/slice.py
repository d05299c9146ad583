"""Slice sampling of one number (R. M. Neal, Annals of Statistics 31, 2003)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sticktree.engine.common.random import RandomState, uniform
from sticktree.jit import linked

MAX_STEPS = 50
"""Widths by which the bracket may grow; the slice is cut there, at no cost to correctness."""

MAX_SHRINKS = 200
"""Points that are tried; by then the bracket is far below rounding."""


def slice_sampler(log_density: Callable[..., float]) -> Callable[..., float]:
    """Return a kernel that draws x from ``log_density(x, parameters)`` given the last draw.

    It steps out and shrinks. The steps are shared out at random between both sides, which keeps
    the density invariant. (A kernel that takes the density as an argument cannot be kept on disk.)
    """

    @linked
    def slice_sample(start: float, parameters: Any, width: float, rng: RandomState) -> float:
        level = log_density(start, parameters) + math.log(1.0 - uniform(rng))
        low = start - width * uniform(rng)
        high = low + width
        left = int(uniform(rng) * MAX_STEPS)
        right = MAX_STEPS - 1 - left
        while left > 0 and log_density(low, parameters) > level:
            low -= width
            left -= 1
        while right > 0 and log_density(high, parameters) > level:
            high += width
            right -= 1
        for _ in range(MAX_SHRINKS):
            x = low + uniform(rng) * (high - low)
            if log_density(x, parameters) > level:
                return x
            if x < start:
                low = x
            else:
                high = x
        return start

    return slice_sample
