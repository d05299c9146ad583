"""The draws' clusterings at one level, fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from sticktree.checks import IntArray, check_integer
from sticktree.posterior.draws import Draw

__all__ = ["MAX_DRAWS", "MIN_DRAWS", "labels_at", "spread"]

MAX_DRAWS = 1000
"""Draws that answers are made from: more would cost time and change next to nothing."""

MAX_LABELS = 50_000_000
"""Labels that are held at a time, 200 MB: large tables are answered from fewer draws."""

MIN_DRAWS = 20

Item = TypeVar("Item")


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """Return all items, or ``most`` of them, spread evenly."""
    places = np.linspace(0, len(items) - 1, min(most, len(items))).astype(int)
    return [items[k] for k in places]


def labels_at(draws: Sequence[Draw], level: int, max_draws: int = MAX_DRAWS) -> IntArray:
    """Return the draws' clusterings at a level: one row a draw, one column a datum.

    Labels count from 0 within each draw, in no particular order. Of more than ``max_draws`` draws,
    so many are taken, spread evenly; fewer, if they would have more than 50 million labels.
    """
    level = check_integer("level", level, minimum=0)
    max_draws = check_integer("max_draws", max_draws, minimum=1)
    if not draws:
        raise ValueError("draws must have at least one draw, got none")

    from sticktree.posterior.cutting import cut_at

    affordable = max(MAX_LABELS // draws[0].leaf.size, MIN_DRAWS)
    used = spread(draws, min(max_draws, affordable))
    labels = np.empty((len(used), used[0].leaf.size), dtype=np.int32)
    for s, draw in enumerate(used):
        parent, leaf = draw.parent.astype(np.int32), draw.leaf.astype(np.int32)
        cut_at(parent, leaf, draw.level.astype(np.int32), level, labels[s])
    return labels
