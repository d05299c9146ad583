"""Leaves that move: between two batches the place of each takes a step of variance u Σ.

What rows before say of the place of a leaf is Λ and h, precision and precision × mean in units of
the noise: at first the number of the rows and their sum. A random walk blurs that as in a Kalman
filter,

    Λ → Λ/(1 + Λu),        h → h/(1 + Λu),

so that the mean stays, and is known no better than by 1/u rows. Rows count as rows all the same: in
the sticks of the tree, in their scatter around the mean, and so in Σ. All blocks of a leaf take the
step together, each with its share of what is left of Λ. By how much less than its rows a block
counts is `Blocks.lost`.

With the tree's prior for the place that a leaf has now, this is the model in which places before
were those of a random walk that ends there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.online.blocks import Blocks, Places


class Moved(NamedTuple):
    """Blocks after a step of the leaves they are in."""

    blocks: Blocks
    products: FloatArray  # (D, D) Σ y yᵀ, with means that count as much as they are known


def moved(blocks: Blocks, products: FloatArray, leaf: Places, step: float) -> Moved:
    """Return the blocks after their leaves have moved by steps of variance ``step``.

    Noise is shared, so that no entries are missing: they have been drawn.
    """
    size = int(leaf.max(initial=-1)) + 1
    precision, total = np.zeros(size), np.zeros((size, blocks.total.shape[1]))
    np.add.at(precision, leaf, blocks.n - blocks.lost)
    np.add.at(total, leaf, blocks.total)
    kept = 1.0 / (1.0 + precision * step)
    mean = total / np.maximum(precision, 1e-300)[:, None]
    gone = precision * (1.0 - kept)
    lost = blocks.n - (blocks.n - blocks.lost) * kept[leaf]
    # Within a leaf the scatter around its mean stays; the mean itself counts less.
    products = products - (gone[:, None] * mean).T @ mean
    return Moved(blocks._replace(total=blocks.total * kept[leaf, None], lost=lost), products)


def moved_sums(parameters: dict[str, npt.NDArray[Any]], step: float) -> dict[str, npt.NDArray[Any]]:
    """Return the parameters of a draw, with the sums of its leaves, after such a step."""
    seen = parameters["sums_seen"]
    kept = 1.0 / (1.0 + seen * step)
    return parameters | {
        "sums_seen": seen * kept,
        "sums_total": parameters["sums_total"] * kept,
    }
