"""Who is with whom: confidence of rows in their clusters, and matrices for chosen rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.draw import Draw
from sticktree.posterior.levels import MAX_DRAWS, labelled, spread
from sticktree.posterior.loss import as_clustering, as_clusterings
from sticktree.tree.validation import check_range, integers

__all__ = ["MAX_ROWS", "coclustering", "confidence", "meeting_times", "summed_meeting_levels"]

MAX_ROWS = 20_000
"""Rows of the largest matrix that is made: 1.6 GB."""

SharedMatrix = npt.NDArray[np.float32]


def confidence(labels: npt.ArrayLike, labels_of_draws: npt.ArrayLike) -> FloatArray:
    """Return how sure each datum's cluster is, between 0 and 1.

    It is the posterior probability that the datum is with another member of its cluster, on average
    over those members. For a datum alone in its cluster it is the probability that it is alone.

    Parameters
    ----------
    labels : array of int, shape (N,)
        A flat clustering.
    labels_of_draws : array of int, shape (S, N)
        The draws' clusterings.

    Examples
    --------
    >>> from sticktree.posterior import confidence
    >>> confidence([0, 0, 1], [[0, 0, 1], [0, 0, 0], [0, 1, 2], [0, 0, 1]])
    array([0.75, 0.75, 0.75])
    """
    draws = as_clusterings(labels_of_draws)
    codes = as_clustering(labels, draws.shape[1])

    from sticktree.posterior.contingency import shares_of_company

    return shares_of_company(codes, draws)


def coclustering(labels_of_draws: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> SharedMatrix:
    """Return the posterior probability of each pair of data to be in one cluster.

    Parameters
    ----------
    labels_of_draws : array of int, shape (S, N)
        The draws' clusterings.
    rows : array of int, optional
        For which data, and in which order; by default all. At most 20,000.

    Returns
    -------
    array of float32, square
        Single precision holds shares of draws well enough, in half the memory.

    Examples
    --------
    >>> from sticktree.posterior import coclustering
    >>> coclustering([[0, 0, 1], [0, 1, 1]])
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]], dtype=float32)
    """
    draws = as_clusterings(labels_of_draws)
    chosen = _check_rows(rows, draws.shape[1])

    from sticktree.posterior.matrices import times_together

    return times_together(np.ascontiguousarray(draws[:, chosen].T)) / np.float32(len(draws))


def meeting_times(draws: Sequence[Draw], rows: npt.ArrayLike | None = None) -> SharedMatrix:
    """Return the posterior mean of the level of the deepest node that each pair of data shares.

    Parameters
    ----------
    draws : sequence of Draw
        At most a thousand of those that have labels are used, spread evenly.
    rows : array of int, optional
        For which data, and in which order; by default all. At most 20,000.

    Returns
    -------
    array of float32, square
        On the diagonal is the level of the datum's own leaf.
    """
    used = spread(labelled(draws), MAX_DRAWS)
    chosen = _check_rows(rows, used[0].n_data)
    return summed_meeting_levels(used, [chosen] * len(used)) / np.float32(len(used))


def summed_meeting_levels(draws: Sequence[Draw], rows: Sequence[npt.NDArray[Any]]) -> SharedMatrix:
    """Return the sum over draws of the level at which rows i and j of those chosen for each meet.

    Single precision holds these whole numbers without rounding.
    """
    from sticktree.posterior.matrices import add_meeting_levels, mirror

    n = len(rows[0])
    total = np.zeros((n, n), dtype=np.float32)
    for draw, chosen in zip(draws, rows, strict=True):
        parent, leaf = draw.parent.astype(np.int32), draw.leaf[chosen].astype(np.int32)
        add_meeting_levels(parent, leaf, draw.level.astype(np.int32), total)
    mirror(total)
    return total


def _check_rows(rows: npt.ArrayLike | None, n_data: int) -> IntArray:
    chosen = np.arange(n_data, dtype=np.int32) if rows is None else integers("rows", rows)
    if chosen.size > MAX_ROWS:
        raise ValueError(
            f"rows must be at most {MAX_ROWS:,}, got {chosen.size:,}: a matrix of all their pairs "
            "would not fit in memory; choose some rows, e.g. a random sample"
        )
    check_range("rows", chosen, n_data)
    return chosen
