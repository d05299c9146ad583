"""Logarithms for less than a logarithm costs: bounds, and sums over whole numbers."""

from __future__ import annotations

import math

import numpy as np

from sticktree.jit import inlined

MANTISSA = (1 << 52) - 1
ONE = 1023 << 52  # the bits of 1
WHOLE = (1023 + 52) << 52  # the bits of 2⁵²
CURVE = 0.2786  # a little less than 1 − 1/(2 log 2), with which the bound would touch at m = 2
LOG_2 = math.log(2.0)
FEW = 24.0  # factors that are multiplied one by one
LARGE = 1e12  # a product of so few factors up to this does not overflow


@inlined
def bound_log(x: float) -> float:
    """Return a lower bound on log x, for x ≥ 1: at least .886 of it, and less .014.

    With x = 2^e m and 1 ≤ m < 2, log₂ m ≥ (m − 1)(1 + C (2 − m)).
    """
    bits = np.float64(x).view(np.int64)
    off = np.int64((bits & MANTISSA) | ONE).view(np.float64) - 1.0
    # As whole numbers become floats, but by instructions that take several at a time.
    exponent = np.int64((bits >> 52) | WHOLE).view(np.float64) - (2.0**52 + 1023.0)
    return LOG_2 * (exponent + off * (1.0 + CURVE * (1.0 - off)))


@inlined
def log_ascent(x: float, n: float) -> float:
    """Return log x (x + 1) … (x + n − 1) for a whole number n.

    Few factors are multiplied one by one.
    """
    if x > LARGE:  # the difference would be lost in rounding
        return n * math.log(x + 0.5 * (n - 1.0))
    if n > FEW:
        return math.lgamma(x + n) - math.lgamma(x)
    product = 1.0
    for k in range(int(n)):
        product *= x + k
    return math.log(product)
