"""Rows that are forgotten: of all that have left memory, each is kept with probability 1 − ρ.

A block of n rows keeps Binomial(n, 1 − ρ) of them. Seats of a restaurant that are vacated at random
leave a restaurant, so at any time the tree has the law of the model, for the rows that are left
(F. Caron, M. Davy and A. Doucet, "Generalized Polya urn for time-varying Dirichlet process
mixtures", UAI 2007). Which rows of a block are kept is not known any more: its sums are taken in
proportion, so that its mean and its scatter stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sticktree.engine.bulk.sums import PRODUCTS, Sums, symmetric
from sticktree.engine.online.blocks import Blocks

if TYPE_CHECKING:
    from sticktree.checks import FloatArray


def thinned(blocks: Blocks, rate: float, kind: int, rng: np.random.Generator) -> Blocks:
    """Return blocks of the rows that are kept; those of no rows stay in their places.

    Of n rows with s entries in a column, n′ rows have a hypergeometric number of them; rows of each
    group are thinned alike. If nothing at all would be left, one row of the largest block is.
    """
    seated = blocks.seated
    if seated.shape[1]:
        seated = rng.binomial(seated, 1.0 - rate)
        n = seated.sum(axis=1)
    else:
        n = rng.binomial(blocks.n, 1.0 - rate)
    if n.size and not n.any():
        largest = int(np.argmax(blocks.n))
        n[largest] = 1
        if seated.shape[1]:
            seated[largest, np.argmax(blocks.seated[largest])] = 1
    absent = blocks.n[:, None] - blocks.seen
    seen = rng.hypergeometric(blocks.seen, absent, np.broadcast_to(n[:, None], absent.shape))
    share = seen / np.maximum(blocks.seen, 1)
    of_rows = n / blocks.n
    whole = of_rows[:, None]
    second = blocks.second * (whole if kind == PRODUCTS else share[:, : blocks.second.shape[1]])
    lost = blocks.lost * of_rows
    return Blocks(blocks.number, n, seen, blocks.total * share, second, seated, lost)


def thinned_products(products: FloatArray, before: Blocks, after: Blocks) -> FloatArray:
    """Return Σ y yᵀ of the rows that are kept: scatter in proportion, and blocks where they are."""
    between = [_between(blocks) for blocks in (before, after)]
    share = after.n.sum() / max(before.n.sum(), 1)
    return np.asarray(share * (products - between[0]) + between[1])


def _between(blocks: Blocks) -> FloatArray:
    mean = blocks.mean
    return np.asarray(((blocks.n - blocks.lost)[:, None] * mean).T @ mean)


def sums_of_blocks(blocks: Blocks, leaf: npt.NDArray[np.int64], size: int, kind: int) -> Sums:
    """Return the sums of ``size`` leaves whose rows are all in blocks."""
    second = blocks.second
    if kind == PRODUCTS:
        second = symmetric(second, blocks.total.shape[1])
    parts = (blocks.n.astype(np.float64), blocks.weight, blocks.total, second)
    sums = Sums(*(np.zeros((size, *part.shape[1:])) for part in parts))
    for out, part in zip(sums, parts, strict=True):
        np.add.at(out, leaf, part)
    return sums
