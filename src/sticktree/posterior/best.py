"""One sampled tree for many: the draw whose flat clustering is nearest to all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.draw import Draw
from sticktree.posterior.levels import affordable, labels_at, spread
from sticktree.posterior.loss import Loss, growth

__all__ = ["best_draw"]

STEPS = 2_000_000_000
"""Comparisons of single data, between draws, that are made: a few seconds."""


def best_draw(draws: Sequence[Draw], level: int, loss: Loss = "vi") -> Draw:
    """Return the draw with the least expected loss at a level, whatever its clusters are called.

    Parameters
    ----------
    draws : sequence of Draw
        The draws; those that :func:`labels_at` takes are compared.
    level : int
        The level at which their trees are cut.
    loss : {"vi", "binder"}
        Mean variation of information to the others, or mean Binder loss.

    Notes
    -----
    All draws are compared with all, unless that takes too long: then all are compared with some,
    and the best of them with all.
    """
    growth(loss, 0)
    labels = labels_at(draws, level)
    n_draws, n_data = labels.shape
    most = int(STEPS // (n_draws * n_data))
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
    return affordable(draws)[best]


def _losses(candidates: IntArray, draws: IntArray, loss: Loss) -> FloatArray:
    """Return expected losses of candidates, but for a constant and a factor."""
    from sticktree.posterior.contingency import own_sums, shared_sums

    delta = np.diff(growth(loss, draws.shape[1]))
    shared = np.array([shared_sums(z, draws, delta).mean() for z in candidates])
    losses: FloatArray = own_sums(candidates, delta) - 2.0 * shared
    return losses


def _losses_to_each_other(draws: IntArray, loss: Loss) -> FloatArray:
    """Return the same of all draws, each pair compared once."""
    from sticktree.posterior.contingency import own_sums, shared_sums

    delta = np.diff(growth(loss, draws.shape[1]))
    shared = np.zeros(len(draws))
    for k, labels in enumerate(draws):
        with_later = shared_sums(labels, draws[k:], delta)
        shared[k] += with_later.sum()
        shared[k + 1 :] += with_later[1:]
    losses: FloatArray = own_sums(draws, delta) - 2.0 * shared / len(draws)
    return losses
