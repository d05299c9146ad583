"""Random numbers inside kernels: xoshiro256++ on a state of four 64-bit words.

A kernel that takes a numpy Generator compiles several times slower. So each chain draws the four
words from its Generator once, and keeps them with its state; the same words give the same chain.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sticktree.jit import inlined, linked

RandomState = npt.NDArray[np.uint64]


def random_state(rng: np.random.Generator) -> RandomState:
    """Draw the four words from a Generator."""
    return rng.integers(1, 2**64, size=4, dtype=np.uint64)


@inlined
def uniform(rng: RandomState) -> float:
    """Return a uniform number in [0, 1) with 53 random bits."""
    mixed = rng[0] + rng[3]
    result = ((mixed << np.uint64(23)) | (mixed >> np.uint64(41))) + rng[0]
    shifted = rng[1] << np.uint64(17)
    rng[2] ^= rng[0]
    rng[3] ^= rng[1]
    rng[1] ^= rng[2]
    rng[0] ^= rng[3]
    rng[2] ^= shifted
    rng[3] = (rng[3] << np.uint64(45)) | (rng[3] >> np.uint64(19))
    return float(result >> np.uint64(11)) * 2.0**-53


@inlined
def integer(rng: RandomState, n: int) -> int:
    """Return a uniform integer in 0 … n − 1."""
    return min(int(uniform(rng) * n), n - 1)


@linked
def normal(rng: RandomState) -> float:
    """Return a standard normal number, by Marsaglia's polar method."""
    while True:
        x = 2.0 * uniform(rng) - 1.0
        y = 2.0 * uniform(rng) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@linked
def gumbel(rng: RandomState) -> float:
    """Return a standard Gumbel number: the largest of log weights plus these is a fair choice."""
    return -math.log(-math.log(1.0 - uniform(rng)))


@linked
def gamma(rng: RandomState, shape: float) -> float:
    """Return a Gamma(shape, 1) number, by Marsaglia and Tsang's method."""
    boost = 0.0
    if shape < 1.0:
        # Gamma(a) is Gamma(a + 1)·U^(1/a).
        boost = math.log(1.0 - uniform(rng)) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - uniform(rng)) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v * math.exp(boost)


@linked
def chi_square(rng: RandomState, degrees: float) -> float:
    """Return a χ² number."""
    return 2.0 * gamma(rng, 0.5 * degrees)


@linked
def log_gamma_number(rng: RandomState, shape: float) -> float:
    """Return the log of a Gamma(shape, 1) number, which itself may be too small to write."""
    if shape < 1.0:
        return math.log(gamma(rng, shape + 1.0)) + math.log(1.0 - uniform(rng)) / shape
    return math.log(gamma(rng, shape))


@linked
def share_of_two(a: float, b: float, rng: RandomState) -> tuple[float, float]:
    """Return a Beta(a, b) number and 1 minus it, both exact however small they are."""
    first, second = log_gamma_number(rng, a), log_gamma_number(rng, b)
    if first > second:
        ratio = math.exp(second - first)
        return 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
    ratio = math.exp(first - second)
    return ratio / (1.0 + ratio), 1.0 / (1.0 + ratio)
