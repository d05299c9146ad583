"""Random numbers that are functions of a counter: the same row has the same, wherever it is.

J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2,
3", SC 2011: Philox4x32 with ten rounds. The counter is the row, the sweep and the purpose.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.jit import inlined, jit

Word = np.uint64

# Purposes; that of column d is 4 d more.
ASSIGN, IMPUTE, HALVE, JITTER = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLY_0, MULTIPLY_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL_0, WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
# SplitMix64's finaliser: a bijection of 64 bits that mixes them well.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_0, MIX_1 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@inlined
def philox(row: Word, sweep: Word, purpose: Word, key: Word) -> tuple[Word, Word]:
    """Return two words of 64 random bits for a row, all arguments of type uint64."""
    a, b = row & LOW, row >> HALF
    c, d = sweep & LOW, purpose & LOW
    k0, k1 = key & LOW, key >> HALF
    for _ in range(10):
        first, second = MULTIPLY_0 * a, MULTIPLY_1 * c
        a, b, c, d = (second >> HALF) ^ b ^ k0, second & LOW, (first >> HALF) ^ d ^ k1, first & LOW
        k0, k1 = (k0 + WEYL_0) & LOW, (k1 + WEYL_1) & LOW
    return a | (b << HALF), c | (d << HALF)


@inlined
def uniform_of(word: Word) -> float:
    """Return a uniform number in [0, 1) from 64 random bits."""
    return float(word >> S11) * 2.0**-53


@inlined
def normal_of(first: Word, second: Word) -> float:
    """Return a standard normal number from two words, by Box and Muller's method."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform_of(first)))
    return radius * math.cos(2.0 * math.pi * uniform_of(second))


@inlined
def rank_of(row: Word, salt: Word) -> Word:
    """Return the rank of a row in an order that the salt determines; no two rows have the same."""
    x = row * GOLDEN + salt
    x = (x ^ (x >> S30)) * MIX_0
    x = (x ^ (x >> S27)) * MIX_1
    return x ^ (x >> S31)


@jit
def mix(row: Word, salt: Word) -> Word:
    """Return `rank_of`, to be called from Python."""
    return rank_of(row, salt)
