"""The draws' clusterings at one level, fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from sticktree.checks import IntArray, check_integer
from sticktree.engine.draw import Draw

__all__ = ["MAX_DRAWS", "MIN_DRAWS", "affordable", "labelled", "labels_at", "spread"]

MAX_DRAWS = 1000
"""Draws that answers are made from: more would cost time and change next to nothing."""

MAX_LABELS = 100_000_000
"""Labels that are held at a time, 400 MB: large tables are answered from fewer draws."""

MIN_DRAWS = 20

Item = TypeVar("Item")


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """Return all items, or ``most`` of them, spread evenly."""
    places = np.linspace(0, len(items) - 1, min(most, len(items))).astype(int)
    return [items[k] for k in places]


def labelled(draws: Sequence[Draw]) -> list[Draw]:
    """Return those draws that have kept where each row sits, or say that there are none."""
    if not draws:
        raise ValueError("draws must have at least one draw, got none")
    found = [draw for draw in draws if draw.labelled]
    if not found:
        raise ValueError(
            f"draws must have one that has kept the labels of the rows, got {len(draws)} without"
        )
    return found


def affordable(draws: Sequence[Draw], max_draws: int = MAX_DRAWS) -> list[Draw]:
    """Return the labelled draws that :func:`labels_at` takes, in the same order."""
    known = labelled(draws)
    most = max(MAX_LABELS // max(known[0].n_data, 1), MIN_DRAWS)
    return spread(known, min(max_draws, most))


def labels_at(draws: Sequence[Draw], level: int, max_draws: int = MAX_DRAWS) -> IntArray:
    """Return the draws' clusterings at a level: one row a draw, one column a datum.

    Labels count from 0 within each draw, in no particular order. Draws that have kept no labels are
    left out. Of more than ``max_draws`` others, so many are taken, spread evenly; fewer, if they
    would have more than 100 million labels.
    """
    level = check_integer("level", level, minimum=0)
    max_draws = check_integer("max_draws", max_draws, minimum=1)
    used = affordable(draws, max_draws)

    from sticktree.posterior.cutting import cut_at

    labels = np.empty((len(used), used[0].n_data), dtype=np.int32)
    for s, draw in enumerate(used):
        parent, leaf = draw.parent.astype(np.int32), draw.leaf.astype(np.int32)
        cut_at(parent, leaf, draw.level.astype(np.int32), level, labels[s])
    return labels
