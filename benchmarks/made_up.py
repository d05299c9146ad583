"""A posterior of any number of rows, made up: no sampler takes part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree import DFPMixture
from sticktree.checks import FloatArray
from sticktree.posterior import Draw, Posterior

DEPTH = 3
SIDES = (4, 5, 5)  # children of the nodes of each level
STEPS = (60.0, 14.0, 3.0)  # how far children are from their parents; the noise is 1
NEAR = 4  # leaves that a row may be in
MERGED, SPLIT = 0.02, 0.02  # shares of leaves that are so in a draw


class MadeUp(NamedTuple):
    """Rows of a hundred clusters in a tree of three levels, and draws of that tree."""

    data: FloatArray
    truth: npt.NDArray[np.int32]
    draws: list[Draw]


def made_up(n_rows: int, n_draws: int, seed: int = 0) -> MadeUp:
    """Make rows, and draws whose labels differ at the borders of clusters.

    In every draw some leaves are merged with a sibling, and some are two.
    """
    rng = np.random.default_rng(seed)
    centres = _centres(rng)
    truth = rng.integers(len(centres), size=n_rows).astype(np.int32)
    data = centres[truth] + rng.standard_normal((n_rows, 2))
    # Distances of leaves of the same branch: rows never leave it.
    leaves = np.arange(len(centres)).reshape(-1, SIDES[-1])
    candidates = leaves[truth // SIDES[-1]]
    squares = ((data[:, None, :] - centres[candidates]) ** 2).sum(axis=2)
    draws = [_draw(data, centres, candidates, squares, rng) for _ in range(n_draws)]
    return MadeUp(data, truth, draws)


def _centres(rng: np.random.Generator) -> FloatArray:
    places = np.zeros((1, 2))
    for side, step in zip(SIDES, STEPS, strict=True):
        angle = 2 * np.pi * (np.arange(side) / side + rng.random((len(places), 1)))
        arms = step * np.stack([np.cos(angle), np.sin(angle)], axis=2)
        places = (places[:, None, :] + arms).reshape(-1, 2)
    return places


def _draw(
    data: FloatArray,
    centres: FloatArray,
    candidates: npt.NDArray[np.int64],
    squares: FloatArray,
    rng: np.random.Generator,
) -> Draw:
    noise = rng.gumbel(size=squares.shape)
    label = np.take_along_axis(candidates, np.argmax(noise - squares / 2, axis=1)[:, None], 1)[:, 0]
    n_leaves, n_last = len(centres), SIDES[-1]
    merged = np.flatnonzero(rng.random(n_leaves) < MERGED)
    into = merged // n_last * n_last + (merged + 1) % n_last
    name = np.arange(n_leaves)
    name[merged] = into
    label = name[label]
    split = np.flatnonzero(rng.random(n_leaves) < SPLIT)
    number = np.full(n_leaves, -1)
    number[split] = np.arange(split.size)
    beyond = (number[label] >= 0) & (data[:, 0] > centres[label, 0])
    label = np.where(beyond, n_leaves + number[label], label)
    above_leaf = np.concatenate([np.arange(n_leaves), split]) // n_last
    occupied, leaf = np.unique(label, return_inverse=True)
    first, second = SIDES[0], SIDES[0] * SIDES[1]
    start = 1 + first + second
    parent = np.concatenate(
        [
            np.zeros(1 + first),
            1 + np.arange(second) // SIDES[1],
            1 + first + above_leaf[occupied],
        ]
    )
    level = np.repeat(np.arange(DEPTH + 1), [1, first, second, occupied.size])
    return Draw(
        leaf=(start + leaf).astype(np.uint16),
        parent=parent.astype(np.uint16),
        level=level.astype(np.uint8),
        parameters={
            "scales": np.ones(DEPTH + 1),
            "factor": np.array(0.02),
            "noise": np.array(0.02),
        },
        traced=("scales", "noise"),
        concentration=float(rng.gamma(20.0, 0.05)),
        discount=0.0,
        log_joint=float(rng.normal()),
    )


def as_fit(made: MadeUp, n_chains: int = 2, unlabelled: int = 0) -> DFPMixture:
    """Return an estimator that has these draws, as a fit would leave it, but for summaries.

    Behind each draw come ``unlabelled`` more that have kept no labels.
    """
    from sticktree.data import read_table
    from sticktree.data.preparation import Preparation
    from sticktree.inference.candidates import Candidates
    from sticktree.inference.parameters import checked
    from sticktree.posterior.diagnostics import diagnose

    mixture = DFPMixture(
        DEPTH + 1,
        covariance_type="spherical",
        leaf_noise="shared",
        n_chains=n_chains,
        n_draws=len(made.draws) // n_chains,
        random_state=0,
    )
    table = read_table(made.data)
    preparation = Preparation.of(table.values, table.columns, standardize=True)
    mixture._preparation, mixture.columns_ = preparation, table.columns
    mixture._data = preparation.standardised(table.values)
    specification = Candidates.of(checked(mixture._parameters()))
    columns = preparation.describe(mixture._data[:1000], None)
    mixture._model_ = specification.models(columns, None)[0][1]
    mixture._rows = np.arange(len(made.data))
    mixture._outside = mixture._data[:0]
    mixture.n_features_in_, mixture.selection_ = made.data.shape[1], None
    mixture.covariance_type_, mixture.leaf_noise_ = "spherical", "shared"
    mixture.depth_ = DEPTH + 1
    chains = []
    for k in range(n_chains):
        chain = []
        for draw in made.draws[k::n_chains]:
            chain += [draw, *[draw.without_labels()] * unlabelled]
        chains.append(chain)
    mixture.posterior_ = Posterior(chains, DEPTH)
    mixture.diagnosis_ = diagnose(mixture.posterior_)
    return mixture
