"""The draws' clusterings at a level, how far they are from each other, and which rows are together.

Let n_k be the size of cluster k of a clustering, n_j that of cluster j of a draw, and n_kj the
number of data that the two share. For both losses

    loss = [Σ_k f(n_k) + Σ_j f(n_j) − 2 Σ_kj f(n_kj)] / c,

with f(n) = n log n and c = N for variation of information, f(n) = n (n − 1) and c = N (N − 1) for
Binder's. So the mean over draws, less what does not depend on the clustering, is a sum over its
clusters, and no N × N array is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.engine.draw import Draw
from sticktree.errors import ParameterError
from sticktree.tree.validation import check_range, integers

MAX_DRAWS = 1000
"""Draws that answers are made from: more would cost time and change next to nothing."""

MAX_LABELS = 100_000_000
"""Labels that are held at a time, 400 MB: large tables are answered from fewer draws."""

MIN_DRAWS = 20

MAX_STEPS = 2_000_000_000
"""Comparisons of single data, between draws, that are made: a few seconds."""

MAX_ROWS = 20_000
"""Rows of the largest matrix that is made: 1.6 GB."""

Item = TypeVar("Item")
Loss = Literal["vi", "binder"]
SharedMatrix = npt.NDArray[np.float32]


# ---- labels -------------------------------------------------------------------------------------


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """Return all items, or ``most`` of them, spread evenly."""
    places = np.linspace(0, len(items) - 1, min(most, len(items))).astype(int)
    return [items[k] for k in places]


def labelled(draws: Sequence[Draw]) -> list[Draw]:
    """Return the draws that have kept where each row sits; raise if there are none."""
    if not draws:
        raise ParameterError("draws", draws, "at least one draw", verb="have", shown="none")
    found = [draw for draw in draws if draw.labelled]
    if not found:
        expected = "one that has kept the labels of the rows"
        raise ParameterError("draws", draws, expected, verb="have", shown=f"{len(draws)} without")
    return found


def affordable(
    draws: Sequence[Draw], max_draws: int = MAX_DRAWS, max_labels: int = MAX_LABELS
) -> list[Draw]:
    """Return the labelled draws that :func:`labels_at` takes, in the same order."""
    known = labelled(draws)
    most = max(max_labels // max(known[0].n_data, 1), MIN_DRAWS)
    return spread(known, min(max_draws, most))


def labels_at(
    draws: Sequence[Draw],
    level: int,
    max_draws: int = MAX_DRAWS,
    *,
    max_labels: int = MAX_LABELS,
) -> IntArray:
    """Return the draws' clusterings at a level: a row per draw, a column per datum.

    Labels count from 0 within each draw, in no particular order. Draws that have kept no labels are
    left out. Of more than ``max_draws`` others, ``max_draws`` are taken, spread evenly; fewer, if
    they would have more than ``max_labels``, but at least twenty.
    """
    level = check_integer("level", level, minimum=0)
    max_draws = check_integer("max_draws", max_draws, minimum=1)
    used = affordable(draws, max_draws, max_labels)

    from sticktree.posterior.counting import cut_at

    labels = np.empty((len(used), used[0].n_data), dtype=np.int32)
    for s, draw in enumerate(used):
        parent, leaf = draw.parent.astype(np.int32), draw.leaf.astype(np.int32)
        cut_at(parent, leaf, draw.level.astype(np.int32), level, labels[s])
    return labels


# ---- losses -----------------------------------------------------------------------------------


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
    from sticktree.posterior.counting import own_sums

    n_data = draws.shape[1]
    delta = np.diff(growth(loss, n_data))
    shared = _mean_shared(clusterings, draws, delta)
    total = own_sums(clusterings, delta) + own_sums(draws, delta).mean() - 2.0 * shared
    expected: FloatArray = np.maximum(total / scale(loss, n_data), 0.0)
    return expected


def _mean_shared(clusterings: IntArray, draws: IntArray, delta: FloatArray) -> FloatArray:
    """Return the mean over draws of Σ_kj f(n_kj), for each clustering."""
    from sticktree.posterior.counting import shared_sums

    return np.array([shared_sums(z, draws, delta).mean() for z in clusterings])


def growth(loss: str, n: int) -> FloatArray:
    """Return the table f(0), …, f(n) of a loss."""
    if loss not in ("vi", "binder"):
        raise ParameterError("loss", loss, '"vi" or "binder"')
    size = np.arange(n + 1, dtype=np.float64)
    table: FloatArray = size * (np.log(np.maximum(size, 1)) if loss == "vi" else size - 1)
    return table


def scale(loss: str, n: int) -> float:
    """Return what sums of f are divided by, the c of the formula."""
    return float(n) if loss == "vi" else float(max(n * (n - 1), 1))


def as_clustering(labels: npt.ArrayLike, n_data: int) -> IntArray:
    """Return labels as numbers from 0; raise if they are not one integer for each datum."""
    array = np.asarray(labels)
    if array.shape != (n_data,) or not np.issubdtype(array.dtype, np.integer):
        expected = f"{n_data} integers, one for each datum"
        raise ParameterError(
            "labels", labels, expected, shown=f"{array.dtype} of shape {array.shape}"
        )
    return np.unique(array, return_inverse=True)[1].reshape(-1).astype(np.int32)


def as_clusterings(labels_of_draws: npt.ArrayLike) -> IntArray:
    """Return the draws' labels, each draw's from 0; raise if they are not a table of integers."""
    array = np.asarray(labels_of_draws)
    if array.ndim != 2 or not array.size or not np.issubdtype(array.dtype, np.integer):
        expected = "integers, a row for each draw and a column for each datum"
        shown = f"{array.dtype} of shape {array.shape}"
        raise ParameterError("labels_of_draws", labels_of_draws, expected, shown=shown)
    if array.min() < 0 or array.max() >= array.shape[1]:
        return np.array([as_clustering(row, row.size) for row in array])

    from sticktree.posterior.counting import has_gaps, without_gaps

    draws = np.ascontiguousarray(array, dtype=np.int32)
    # What needs no change is not copied: of many rows, it is large.
    return without_gaps(draws) if has_gaps(draws) or not draws.flags.writeable else draws


def expected_adjusted_rand(labels: npt.ArrayLike, labels_of_draws: npt.ArrayLike) -> float:
    """Return the mean over draws of the adjusted Rand index of a clustering with the draw's.

    Unlike a loss, it can be compared between levels: 1 is agreement, 0 no more than chance, also
    for one cluster of all data and for all data apart.

    Examples
    --------
    >>> from sticktree.posterior.clusterings import expected_adjusted_rand
    >>> expected_adjusted_rand([0, 0, 1, 1], [[1, 1, 0, 0], [0, 0, 1, 1]])
    1.0
    """
    from sticktree.posterior.counting import own_sums, shared_sums

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


def best_draw(
    draws: Sequence[Draw],
    level: int,
    loss: Loss = "vi",
    *,
    max_labels: int = MAX_LABELS,
    max_steps: int = MAX_STEPS,
) -> Draw:
    """Return the draw with the least expected loss at a level, however its clusters are labelled.

    Parameters
    ----------
    draws : sequence of Draw
        The draws; those that :func:`labels_at` takes are compared.
    level : int
        The level at which their trees are cut.
    loss : {"vi", "binder"}
        Mean variation of information to the others, or mean Binder loss.
    max_labels : int, default=100_000_000
        As of :func:`labels_at`.
    max_steps : int, default=2_000_000_000
        All draws are compared with all, unless that takes more comparisons of single data: then all
        are compared with some, and the best of them with all.
    """
    growth(loss, 0)
    labels = labels_at(draws, level, max_labels=max_labels)
    n_draws, n_data = labels.shape
    most = int(max_steps // (n_draws * n_data))
    candidates = np.arange(n_draws)
    if n_draws <= most:
        losses = _losses_to_each_other(labels, loss)
    else:
        few = max(most // 2, 1)
        rough = _losses(labels, labels[spread(range(n_draws), few)], loss)
        candidates = np.sort(np.argsort(rough, kind="stable")[:few])
        losses = _losses(labels[candidates], labels, loss)
    # Of equals the first, so that rounding does not decide.
    best = int(candidates[np.argmax(losses <= losses.min() + 1e-12 * abs(losses.min()))])
    return affordable(draws, max_labels=max_labels)[best]


def _losses(candidates: IntArray, draws: IntArray, loss: Loss) -> FloatArray:
    """Return expected losses of candidates, up to a constant and a factor."""
    from sticktree.posterior.counting import own_sums

    delta = np.diff(growth(loss, draws.shape[1]))
    losses: FloatArray = own_sums(candidates, delta) - 2.0 * _mean_shared(candidates, draws, delta)
    return losses


def _losses_to_each_other(draws: IntArray, loss: Loss) -> FloatArray:
    """Return the same of all draws, each pair compared once."""
    from sticktree.posterior.counting import own_sums, shared_sums

    delta = np.diff(growth(loss, draws.shape[1]))
    shared = np.zeros(len(draws))
    for k, labels in enumerate(draws):
        with_later = shared_sums(labels, draws[k:], delta)
        shared[k] += with_later.sum()
        shared[k + 1 :] += with_later[1:]
    losses: FloatArray = own_sums(draws, delta) - 2.0 * shared / len(draws)
    return losses


# ---- which rows are together --------------------------------------------------------------


def confidence(labels: npt.ArrayLike, labels_of_draws: npt.ArrayLike) -> FloatArray:
    """Return how certain the cluster of each datum is, between 0 and 1.

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

    from sticktree.posterior.counting import shares_of_company

    return shares_of_company(codes, draws)


def coclustering(labels_of_draws: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> SharedMatrix:
    """Return the posterior probability that each pair of data is in one cluster.

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
    chosen = check_rows(rows, draws.shape[1])

    from sticktree.posterior.counting import times_together

    return times_together(np.ascontiguousarray(draws[:, chosen].T)) / np.float32(len(draws))


def check_rows(rows: npt.ArrayLike | None, n_data: int) -> IntArray:
    """Return the rows of a matrix of pairs, by default all; raise if they are too many."""
    chosen = np.arange(n_data, dtype=np.int32) if rows is None else integers("rows", rows)
    if chosen.size > MAX_ROWS:
        raise ValueError(
            f"rows must be at most {MAX_ROWS:,}, got {chosen.size:,}: a matrix of all their pairs "
            "would not fit in memory; choose some rows, e.g. a random sample"
        )
    check_range("rows", chosen, n_data)
    return chosen
