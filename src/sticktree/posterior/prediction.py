"""Densities, memberships and new data from draws: every draw is a Gaussian mixture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.model import Model
from sticktree.posterior.draws import Draw

if TYPE_CHECKING:
    from sticktree.engine.mixture import Mixture

__all__ = ["log_predictive", "memberships", "sample_predictive"]


def _factor(draw: Draw, dimension: int) -> FloatArray:
    """Return A as a matrix."""
    if draw.factor.ndim == 2:
        return draw.factor
    return np.diag(np.broadcast_to(draw.factor, dimension))


def mixtures(
    draws: list[Draw], data: FloatArray, model: Model
) -> Iterator[tuple[Draw, FloatArray, Mixture]]:
    """Yield every draw with its A and its predictive mixture, in coordinates whitened by A."""
    from sticktree.engine.chain import rebuild
    from sticktree.engine.mixture import predictive_mixture
    from sticktree.engine.state import empty_state

    zeros = np.zeros_like(data)
    state = empty_state(zeros, model.shape, np.ones(model.depth + 1), 1.0, 0.0, model.noise)
    for draw in draws:
        factor = _factor(draw, data.shape[1])
        np.matmul(data, np.linalg.inv(factor).T, out=state.data)
        rebuild(state, draw.tree, draw.concentration, draw.discount, draw.scales)
        yield draw, factor, predictive_mixture(state)


def log_predictive(x: FloatArray, draws: list[Draw], data: FloatArray, model: Model) -> FloatArray:
    """Return the log of the mean over draws of the predictive density of every row of ``x``."""
    from sticktree.engine.mixture import log_density

    total = np.full(x.shape[0], -np.inf)
    for _, factor, mixture in mixtures(draws, data, model):
        log_det = np.linalg.slogdet(factor)[1]
        white = np.ascontiguousarray(x @ np.linalg.inv(factor).T)
        total = np.logaddexp(total, log_density(mixture, white) - log_det)
    return np.asarray(total - np.log(len(draws)))


def memberships(
    x: FloatArray, labels: IntArray, level: int, draws: list[Draw], data: FloatArray, model: Model
) -> FloatArray:
    """Return the probability of every row of ``x`` to be with each cluster of ``labels``.

    In each draw a row joins a branch at the given level; its probability is shared out as the
    training data of that branch are labelled. A row on a new branch above the level is with all
    data of the node it leaves.
    """
    from sticktree.engine.mixture import responsibilities

    n_clusters = int(labels.max()) + 1
    total = np.zeros((x.shape[0], n_clusters))
    for draw, factor, mixture in mixtures(draws, data, model):
        tree = draw.tree
        white = np.ascontiguousarray(x @ np.linalg.inv(factor).T)
        # Numbers of each label below each node, from the leaves up.
        below = np.zeros((tree.n_nodes, n_clusters))
        np.add.at(below, (tree.leaf, labels), 1.0)
        for node in range(tree.n_nodes - 1, 0, -1):
            below[tree.parent[node]] += below[node]
        branch = mixture.node.copy()
        start = np.minimum(mixture.level, level)
        for k in range(branch.size):
            while branch[k] and tree.level[tree.parent[branch[k]]] >= start[k]:
                branch[k] = tree.parent[branch[k]]
        share = below[branch] / below[branch].sum(axis=1, keepdims=True)
        total += responsibilities(mixture, white) @ share
    return total / len(draws)


def sample_predictive(
    n: int, rng: np.random.Generator, draws: list[Draw], data: FloatArray, model: Model
) -> FloatArray:
    """Draw ``n`` rows, each from the predictive mixture of a draw chosen at random."""
    which = np.sort(rng.integers(len(draws), size=n))
    chosen, counts = np.unique(which, return_counts=True)
    rows = []
    used = [draws[k] for k in chosen]
    for (_, factor, mixture), count in zip(mixtures(used, data, model), counts, strict=True):
        component = rng.choice(mixture.weight.size, count, p=mixture.weight / mixture.weight.sum())
        spread = np.sqrt(mixture.variance[component])[:, None]
        white = mixture.mean[component] + spread * rng.standard_normal((count, data.shape[1]))
        rows.append(white @ factor.T)
    return rng.permutation(np.concatenate([*rows, np.empty((0, data.shape[1]))]))
