"""How well draws agree on a flat clustering, and on which level they do best."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.engine.draw import Draw
from sticktree.posterior.flat import flat_clustering
from sticktree.posterior.levels import labels_at
from sticktree.posterior.loss import as_clustering, as_clusterings, growth
from sticktree.tree import Tree

__all__ = ["best_level", "expected_adjusted_rand"]

MAX_DRAWS = 200


def expected_adjusted_rand(labels: npt.ArrayLike, labels_of_draws: npt.ArrayLike) -> float:
    """Return the mean over draws of the adjusted Rand index of a clustering with the draw's.

    Unlike a loss, it can be compared between levels: 1 is agreement, 0 no more than chance, also
    for one cluster of all data and for all data apart.

    Examples
    --------
    >>> from sticktree.posterior.agreement import expected_adjusted_rand
    >>> expected_adjusted_rand([0, 0, 1, 1], [[1, 1, 0, 0], [0, 0, 1, 1]])
    1.0
    """
    from sticktree.posterior.contingency import own_sums, shared_sums

    draws = as_clusterings(labels_of_draws)
    codes = as_clustering(labels, draws.shape[1])
    n = draws.shape[1]
    delta = np.diff(growth("binder", n))
    both = shared_sums(codes, draws, delta)
    mine, theirs = own_sums(codes[None, :], delta)[0], own_sums(draws, delta)
    by_chance = mine * theirs / max(n * (n - 1), 1)
    most = 0.5 * (mine + theirs)
    telling = most - by_chance > 1e-9  # else all data are together, or all apart, in both
    index = np.divide(both - by_chance, most - by_chance, out=np.zeros(len(draws)), where=telling)
    return float(index.mean())


def best_level(draws: list[Draw], depth: int, tree: Tree) -> int:
    """Return the level, from 1 to ``depth``, on whose clusters the draws agree best.

    Of each level that is the best cut of the tree. Where no level tells anything, it is the last.
    """
    agreement = [0.0]
    for level in range(1, depth + 1):
        labels = labels_at(draws, level, MAX_DRAWS)
        cut = flat_clustering(labels, tree=tree, nested=True)
        agreement.append(expected_adjusted_rand(cut, labels))
    return int(np.argmax(agreement)) if max(agreement) > 0 else depth
