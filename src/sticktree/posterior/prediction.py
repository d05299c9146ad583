"""Densities, memberships, new rows and missing entries from draws.

Every draw has a predictive distribution of its own; what is asked is answered by their mixture.
"""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.engine import engine_of
from sticktree.engine.draw import Draw
from sticktree.model import Model

__all__ = [
    "imputed",
    "log_predictive",
    "memberships",
    "sample_imputed",
    "sample_predictive",
]


def log_predictive(x: FloatArray, draws: list[Draw], data: FloatArray, model: Model) -> FloatArray:
    """Return the log of the mean over draws of the predictive density of every row of ``x``.

    Of a row with missing entries that is the density of those observed, and of one that has none 0.
    """
    total = np.full(x.shape[0], -np.inf)
    for predictive in engine_of(model).predictives(draws, data, model):
        total = np.logaddexp(total, predictive.log_density(x))
    empty = np.isnan(x).all(axis=1)
    return np.where(empty, 0.0, total - np.log(len(draws)))


def memberships(
    x: FloatArray, labels: IntArray, level: int, draws: list[Draw], data: FloatArray, model: Model
) -> FloatArray:
    """Return the probability of every row of ``x`` to be with each cluster of ``labels``.

    In each draw a row joins a branch at the given level; its probability is shared out as the
    training data of that branch are labelled. A row on a new branch above the level is with all
    data of the node it leaves, and so is one on a branch whose data have all left memory.
    """
    n_clusters = int(labels.max()) + 1
    total = np.zeros((x.shape[0], n_clusters))
    predictives = engine_of(model).predictives(draws, data, model)
    for draw, predictive in zip(draws, predictives, strict=True):
        tree = draw.tree
        # Numbers of each label below each node, from the leaves up.
        below = np.zeros((tree.n_nodes, n_clusters))
        np.add.at(below, (tree.leaf, labels), 1.0)
        for node in range(tree.n_nodes - 1, 0, -1):
            below[tree.parent[node]] += below[node]
        branch = predictive.node.copy()
        start = np.minimum(predictive.level, level)
        empty = below.sum(axis=1) == 0  # all rows below have left memory
        for k in range(branch.size):
            while branch[k] and (
                empty[branch[k]] or tree.level[tree.parent[branch[k]]] >= start[k]
            ):
                branch[k] = tree.parent[branch[k]]
        share = below[branch] / below[branch].sum(axis=1, keepdims=True)
        total += predictive.responsibilities(x) @ share
    return total / len(draws)


def sample_predictive(
    n: int, rng: np.random.Generator, draws: list[Draw], data: FloatArray, model: Model
) -> FloatArray:
    """Draw ``n`` rows, each from the predictive distribution of a draw chosen at random."""
    which = np.sort(rng.integers(len(draws), size=n))
    chosen, counts = np.unique(which, return_counts=True)
    used = [draws[k] for k in chosen]
    predictives = engine_of(model).predictives(used, data, model)
    parts = zip(predictives, counts.tolist(), strict=True)
    rows = [predictive.sample(count, rng) for predictive, count in parts]
    return rng.permutation(np.concatenate([*rows, np.empty((0, data.shape[1]))]))


def imputed(x: FloatArray, draws: list[Draw], data: FloatArray, model: Model) -> FloatArray:
    """Return ``x`` with the posterior mean of what is missing in each row given what is observed.

    A draw counts as much as its density of what is observed.
    """
    rows = np.flatnonzero(np.isnan(x).any(axis=1))
    part, out = x[rows], x.copy()
    mean, total = np.zeros_like(part), np.full(rows.size, -np.inf)
    for predictive in engine_of(model).predictives(draws, data, model):
        total, share = _share(total, predictive.log_density(part))
        mean += share[:, None] * (predictive.conditional_mean(part) - mean)
    out[rows] = np.where(np.isnan(part), mean, part)
    return out


def sample_imputed(
    n: int,
    x: FloatArray,
    rng: np.random.Generator,
    draws: list[Draw],
    data: FloatArray,
    model: Model,
) -> FloatArray:
    """Return ``n`` copies of ``x`` with draws of what is missing, shape (n, rows, D).

    Each comes from a draw of the posterior, chosen by its density of what is observed in the row:
    a draw takes the place of those before with its share in the sum so far.
    """
    rows = np.flatnonzero(np.isnan(x).any(axis=1))
    part, out = x[rows], np.repeat(x[None], n, axis=0)
    total = np.full(rows.size, -np.inf)
    for predictive in engine_of(model).predictives(draws, data, model):
        total, share = _share(total, predictive.log_density(part))
        copy, row = np.nonzero(rng.random((n, rows.size)) < share)
        out[copy, rows[row]] = predictive.conditional_sample(part[row], rng)
    return out


def _share(total: FloatArray, log_density: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log sum with one more density, and the share of that one in it."""
    # Far out a density may underflow in every draw; all then count the same.
    log_density = np.nan_to_num(log_density, nan=-1e300, neginf=-1e300)
    total = np.logaddexp(total, log_density)
    return total, np.exp(log_density - total)
