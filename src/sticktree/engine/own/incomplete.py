"""The regularised lower incomplete gamma function P(a, x), on the log scale.

With 1/s ~ Gamma(a, b), P(a, b/f) is the probability that s is at least f: what it costs, or gains,
that no leaf may be narrower than the data's resolution.
"""

from __future__ import annotations

import math

from sticktree.jit import linked

__all__ = ["log_lower_gamma"]

PRECISION = 1e-15


@linked
def log_lower_gamma(a: float, x: float) -> float:
    """Return log P(a, x): by its series up to a + 1, by Legendre's continued fraction beyond."""
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
