"""One tree for many draws: the draw whose flat clustering is nearest to all others."""

from __future__ import annotations

import numpy as np

from sticktree.checks import IntArray
from sticktree.posterior.draws import Draw

__all__ = ["best_draw", "variation_of_information"]

MAX_DRAWS = 100
"""Draws that are compared with each other: their number squared is what it costs."""


def variation_of_information(a: IntArray, b: IntArray) -> float:
    """Return the variation of information between two labellings, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.posterior.point import variation_of_information
    >>> variation_of_information(np.array([0, 0, 1]), np.array([1, 1, 0]))
    0.0
    """
    pair = a.astype(np.int64) * (int(b.max()) + 1) + b

    def entropy(labels: np.ndarray) -> float:
        share = np.unique(labels, return_counts=True)[1] / labels.size
        return float(-(share * np.log(share)).sum())

    return max(2.0 * entropy(pair) - entropy(a) - entropy(b), 0.0)


def best_draw(draws: list[Draw], level: int) -> Draw:
    """Return the draw with the least mean variation of information to the others at a level.

    The draws compared are at most a hundred, spread evenly; a single draw, or the last, is no
    answer.
    """
    used = [draws[k] for k in np.unique(np.linspace(0, len(draws) - 1, MAX_DRAWS).astype(int))]
    labels = [draw.tree.cut(level) for draw in used]
    loss = np.zeros(len(used))
    for i in range(len(used)):
        for j in range(i):
            distance = variation_of_information(labels[i], labels[j])
            loss[i] += distance
            loss[j] += distance
    best: Draw = used[int(np.argmin(loss))]
    return best
