"""Posterior expected loss of a flat clustering.

Let n_k be the size of cluster k of a clustering, n_j that of cluster j of a draw, and n_kj the
number of data that the two share. For both losses

    loss = [Σ_k f(n_k) + Σ_j f(n_j) − 2 Σ_kj f(n_kj)] / c,

with f(n) = n log n and c = N for variation of information, f(n) = n (n − 1) and c = N (N − 1) for
Binder's. So the mean over draws, less what does not depend on the clustering, is a sum over its
clusters, and no N × N array is needed.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray

__all__ = [
    "Loss",
    "as_clustering",
    "as_clusterings",
    "expected_loss",
    "expected_losses",
    "growth",
    "scale",
]

Loss = Literal["vi", "binder"]


def expected_loss(
    labels: npt.ArrayLike, labels_of_draws: npt.ArrayLike, loss: Loss = "vi"
) -> float:
    """Return the mean loss of a clustering over draws.

    Parameters
    ----------
    labels : array of int, shape (N,)
        The clustering.
    labels_of_draws : array of int, shape (S, N)
        The clusterings of the draws.
    loss : {"vi", "binder"}
        Variation of information, in nats, or Binder's loss, the share of pairs of data on which
        two clusterings disagree.

    Examples
    --------
    >>> from sticktree.posterior import expected_loss
    >>> expected_loss([0, 0, 1], [[0, 0, 1], [0, 1, 2]], loss="binder")
    0.16666666666666666
    """
    growth(loss, 0)
    draws = as_clusterings(labels_of_draws)
    return float(expected_losses(as_clustering(labels, draws.shape[1])[None, :], draws, loss)[0])


def expected_losses(clusterings: IntArray, draws: IntArray, loss: Loss) -> FloatArray:
    """Return the mean loss of each of several clusterings over draws, both numbered from 0."""
    from sticktree.posterior.contingency import own_sums, shared_sums

    n_data = draws.shape[1]
    delta = np.diff(growth(loss, n_data))
    shared = np.array([shared_sums(z, draws, delta).mean() for z in clusterings])
    total = own_sums(clusterings, delta) + own_sums(draws, delta).mean() - 2.0 * shared
    expected: FloatArray = np.maximum(total / scale(loss, n_data), 0.0)
    return expected


def growth(loss: str, n: int) -> FloatArray:
    """Return the table f(0), …, f(n) of a loss."""
    if loss not in ("vi", "binder"):
        raise ValueError(f'loss must be "vi" or "binder", got {loss!r}')
    size = np.arange(n + 1, dtype=np.float64)
    table: FloatArray = size * (np.log(np.maximum(size, 1)) if loss == "vi" else size - 1)
    return table


def scale(loss: str, n: int) -> float:
    """Return what sums of f are divided by, the c of the formula."""
    return float(n) if loss == "vi" else float(max(n * (n - 1), 1))


def as_clustering(labels: npt.ArrayLike, n_data: int) -> IntArray:
    """Return labels as numbers from 0, or say what is wrong with them."""
    array = np.asarray(labels)
    if array.shape != (n_data,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"labels must be {n_data} integers, one for each datum, got {array.dtype} of shape "
            f"{array.shape}"
        )
    return np.unique(array, return_inverse=True)[1].reshape(-1).astype(np.int32)


def as_clusterings(labels_of_draws: npt.ArrayLike) -> IntArray:
    """Return the draws' labels, those of each draw from 0 on, or say what is wrong with them."""
    array = np.asarray(labels_of_draws)
    if array.ndim != 2 or not array.size or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            "labels_of_draws must be integers, a row for each draw and a column for each datum, "
            f"got {array.dtype} of shape {array.shape}"
        )
    if array.min() < 0 or array.max() >= array.shape[1]:
        return np.array([as_clustering(row, row.size) for row in array])

    from sticktree.posterior.contingency import has_gaps, without_gaps

    draws = np.ascontiguousarray(array, dtype=np.int32)
    # What needs no change is not copied: of many rows, it is large.
    return without_gaps(draws) if has_gaps(draws) or not draws.flags.writeable else draws
