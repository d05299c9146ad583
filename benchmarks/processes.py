"""Recursive sticks and the nested restaurant against the least that they could cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.table import Row, ratio_row
from benchmarks.timing import race
from sticktree.checks import FloatArray
from sticktree.jit import jit
from sticktree.processes import NestedRestaurant, RecursiveSticks


@jit
def plain_restaurant(alpha: float, discount: float, uniform: FloatArray) -> int:
    """Seat data in one restaurant by walking along the tables, the textbook way."""
    count = np.zeros(uniform.size, dtype=np.int64)
    table = np.empty(uniform.size, dtype=np.int64)
    n_tables = 0
    for i in range(uniform.size):
        left = uniform[i] * (i + alpha)
        k = 0
        while k < n_tables and left >= count[k] - discount:
            left -= count[k] - discount
            k += 1
        n_tables = max(n_tables, k + 1)
        count[k] += 1
        table[i] = k
    return n_tables


def rows(quick: bool = False) -> Iterator[Row]:
    for discount in (0.0, 0.3):
        yield sticks(discount)
    for discount in (0.0, 0.3):
        yield restaurant(discount)


def sticks(discount: float) -> Row:
    rng = np.random.default_rng(0)
    law = RecursiveSticks(1.0, depth=5, discount=discount)
    return ratio_row(
        f"1,000,000 paths of depth 5 from recursive sticks, d = {discount:g}, "
        "vs 5,000,000 uniforms",
        *race(lambda: law.sample_paths(1_000_000, rng), lambda: rng.random(5_000_000)),
        target=10,
    )


def restaurant(discount: float) -> Row:
    rng = np.random.default_rng(0)
    law = NestedRestaurant(1.0, depth=5, discount=discount)
    return ratio_row(
        f"100,000 data in the nested restaurant of depth 5, d = {discount:g}, "
        "vs one plain restaurant in numba",
        *race(
            lambda: law.sample(100_000, rng),
            lambda: plain_restaurant(1.0, discount, rng.random(100_000)),
        ),
        target=3,
    )
