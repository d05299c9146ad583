"""What it takes to turn draws into answers, and how far shortcuts are from the exact ones.

A posterior of any number of rows is made up: no sampler takes part.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import linkage

from benchmarks.measure import (
    Row,
    Target,
    duration,
    duration_row,
    in_fresh_process,
    peak_bytes,
    race,
    seconds_of,
    verdict,
)
from sticktree import DFPMixture, Tree
from sticktree.checks import FloatArray
from sticktree.metrics import dendrogram_purity, meeting_distance, variation_of_information
from sticktree.posterior import (
    Draw,
    confidence,
    expected_loss,
    flat_clustering,
    labels_at,
)
from sticktree.posterior.consensus import consensus_tree
from sticktree.posterior.flat import best_level
from sticktree.processes import NestedRestaurant

if TYPE_CHECKING:
    from sticktree.engine.chain import ChainLike

N_DRAWS = 64
EXACT_ROWS = 5_000


def summaries(quick: bool = False) -> Iterator[Row]:
    n_rows = 20_000 if quick else 1_000_000
    yield from large(n_rows, quick)
    summary_megabytes = in_fresh_process("benchmarks.summaries", "summary_megabytes", n_rows)
    limit = Target(2_000, "MB")
    yield Row(
        f"peak memory of a process with the same draws of {n_rows:,} rows",
        f"{summary_megabytes:,.0f} MB",
        target=str(limit),
        verdict=verdict(limit.met(summary_megabytes)),
    )
    yield from errors(1_000 if quick else EXACT_ROWS, 16 if quick else N_DRAWS)


def large(n_rows: int, quick: bool) -> Iterator[Row]:
    """Time everything that a fit says at its end, and what users ask for."""
    summed(made_up(2_000, 4))  # compiles the kernels
    made = made_up(n_rows, 8 if quick else N_DRAWS)
    of_rows = f"of {n_rows:,} rows from {len(made.draws)} draws"
    mixture = as_fit(made)
    seconds = seconds_of(lambda: replace(mixture.fit_).summarised(most=n_rows))
    yield duration_row(f"consensus, level, flat labels and confidence {of_rows}", seconds, 60.0)
    start = time.perf_counter()
    flat = mixture.cluster(level=DEPTH)
    seconds = time.perf_counter() - start
    yield duration_row(f"flat labels at another level {of_rows}", seconds, 20.0)
    seconds = seconds_of(lambda: dendrogram_purity(mixture.tree_, made.truth))
    yield duration_row(f"purity of a tree of {n_rows:,} rows", seconds, 2.0)
    with tempfile.TemporaryDirectory() as folder:
        yield from files(mixture, Path(folder))
    yield from at_some_rows(made, mixture.tree_, flat, n_rows // 4 if quick else EXACT_ROWS)


def files(mixture: DFPMixture, folder: Path) -> Iterator[Row]:
    from sticktree.report import write_report

    n_rows = mixture.tree_.n_data
    seconds = seconds_of(lambda: mixture.tree_.write_newick(folder / "tree.nwk"))
    yield duration_row(f"Newick file of {n_rows:,} rows", seconds, 30.0)
    page = folder / "page.html"
    seconds = seconds_of(lambda: write_report(page, mixture))
    yield duration_row(f"report on {n_rows:,} rows", seconds, 30.0)
    limit, size = Target(5, "MB"), page.stat().st_size / 1e6
    what = f"size of the report on {n_rows:,} rows"
    yield Row(what, f"{size:.1f} MB", target=str(limit), verdict=verdict(limit.met(size)))


def at_some_rows(
    made: MadeUp, tree: Tree, flat: npt.NDArray[np.int32], n_chosen: int
) -> Iterator[Row]:
    """Compare the answers for all rows, at some of them, with the exact ones for these alone.

    That these are but some makes a difference too, so that the errors are upper bounds.
    """
    n_rows = len(made.truth)
    chosen = np.sort(np.random.default_rng(1).choice(n_rows, n_chosen, replace=False))
    draws = [replace(draw, leaf=draw.leaf[chosen], n_data=n_chosen) for draw in made.draws]
    exact = consensus_tree(draws, DEPTH + 1.0, max_exact=n_chosen)
    best = flat_clustering(labels_at(draws, DEPTH), tree=exact)
    part = Tree(tree.parent, tree.leaf[chosen], time=tree.time).pruned().compressed()
    truth = made.truth[chosen]
    where = f"{n_chosen:,} of {n_rows:,} rows"
    apart = variation_of_information(flat[chosen], best)
    yield _error(where, "RMS change of where pairs meet", meeting_distance(part, exact), 0.02)
    yield _error(where, "change of purity", _purity_apart(part, exact, truth), 0.05)
    yield _error(where, "flat labels, VI to the exact", apart, 0.1)


def summary_megabytes(n_rows: int) -> float:
    """Sum up a fit and return the peak memory of this process."""
    summed(made_up(n_rows, N_DRAWS))
    return peak_bytes() / 1e6


def summed(made: MadeUp) -> DFPMixture:
    mixture = as_fit(made)
    mixture.fit_.summarised(most=len(made.data))
    return mixture


def errors(n_rows: int, n_draws: int) -> Iterator[Row]:
    """Compare what a million rows would get with the exact answers, where there are such."""
    made = made_up(n_rows, n_draws)
    labels = labels_at(made.draws, DEPTH)
    exact = consensus_tree(made.draws, DEPTH + 1.0, max_exact=n_rows)
    best = flat_clustering(labels, tree=exact)
    with like_a_million(n_rows):
        tree = consensus_tree(made.draws, DEPTH + 1.0)
        flat = flat_clustering(labels, tree=tree)
    loss = expected_loss(best, labels)
    away = np.abs(confidence(flat, labels) - confidence(best, labels)).mean()
    same = best_level(made.draws, DEPTH, tree) == best_level(made.draws, DEPTH, exact)
    truth, where = made.truth, f"{n_rows:,} rows"
    yield _error(where, "RMS change of where pairs meet", meeting_distance(tree, exact), 0.01)
    yield _error(where, "change of purity", _purity_apart(tree, exact, truth), 0.03)
    yield _error(where, "flat labels, VI to the exact", variation_of_information(flat, best), 0.05)
    yield _error(where, "their loss above the exact", expected_loss(flat, labels) / loss - 1, 0.01)
    yield _error(where, "mean change of confidence", float(away), 0.01)
    yield _error(where, "other level chosen (1 if so)", float(not same), 0.0)


@contextmanager
def like_a_million(n_rows: int) -> Iterator[None]:
    """Let few rows be treated as a million are: grouped by twenty draws, searched nearby."""
    with ExitStack() as changed:
        for name, value in (
            ("consensus.GROUPING_CELLS", 20 * n_rows),
            ("flat.ALL_STEPS", 0),
        ):
            changed.enter_context(patch(f"sticktree.posterior.{name}", value))
        yield


def _purity_apart(tree: Tree, exact: Tree, truth: npt.NDArray[np.int32]) -> float:
    return abs(dendrogram_purity(tree, truth) - dendrogram_purity(exact, truth))


def _error(where: str, what: str, error: float, limit: float) -> Row:
    bound = Target(limit)
    return Row(
        f"{what}, {where}",
        f"{error:.4f}",
        "0 (exact)",
        f"{error:.4f}",
        str(bound),
        verdict(bound.met(error)),
    )


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
    from sticktree.data.training import TrainingData
    from sticktree.fit import Fit
    from sticktree.inference.fitting import Plan, Sampled
    from sticktree.inference.runner import Run

    mixture = DFPMixture(
        DEPTH + 1,
        covariance_type="spherical",
        leaf_noise="shared",
        n_chains=n_chains,
        n_draws=len(made.draws) // n_chains,
        random_state=0,
    )
    plan = Plan.of(mixture.model_parameters())
    training = TrainingData.of_table(read_table(made.data), None, True, "gibbs")
    columns = training.scaling.describe(training.data[:1000], None)
    model = plan.candidates.models(columns, None)[0][1]
    chains = []
    for k in range(n_chains):
        chain = []
        for draw in made.draws[k::n_chains]:
            chain += [draw, *[draw.without_labels()] * unlabelled]
        chains.append(chain)
    runs = [Run(cast("ChainLike", None), chain) for chain in chains]  # none goes on
    schedule = plan.schedule_for(training)
    assert schedule is not None
    mixture.fit_ = Fit(training, Sampled(model, None, runs, schedule, True), None, {})
    mixture.n_features_in_ = made.data.shape[1]
    return mixture


def answers(quick: bool = False) -> Iterator[Row]:
    n_data = 2_000 if quick else 100_000
    yield purity("a caterpillar", caterpillar(n_data), n_classes=100)
    for n_classes in (100, n_data // 2):
        yield purity("a random binary tree", binary(n_data), n_classes)
    sizes = ((200, 50, True),) if quick else ((1_000, 1_000, True), (1_000, 1_000, False))
    for n_rows, n_draws, nested in (*sizes, (2_000 if quick else 50_000, 200, True)):
        yield flat(n_rows, n_draws, nested)
    for n_rows, limit in ((300, 5.0),) if quick else ((1_000, 5.0), (50_000, 60.0)):
        yield consensus(n_rows, 50 if quick else 1_000, limit)
    yield grouped(400 if quick else 4_000, 50 if quick else 300)


def consensus(n_rows: int, n_draws: int, limit: float) -> Row:
    """Time the consensus of draws in which one row in twenty is elsewhere."""
    draws = alike(n_rows, n_draws)
    points = np.random.default_rng(0).standard_normal((3_000, 2))
    ours, peer = race(
        lambda: consensus_tree(draws, 4.0), lambda: linkage(points, "average"), rounds=1
    )
    what = f"consensus of {n_draws:,} draws of {n_rows:,} rows"
    return duration_row(what, ours, limit, peer=f"{duration(peer)} (linkage of 3,000)")


def grouped(n_rows: int, n_draws: int) -> Row:
    """Measure how far pairs move if rows are taken in groups, a quarter as many."""
    draws = alike(n_rows, n_draws)
    exact = consensus_tree(draws, 4.0, max_exact=n_rows)
    tree = consensus_tree(draws, 4.0, max_exact=n_rows // 4)
    error = meeting_distance(tree, exact)
    what = f"RMS change of where pairs of {n_rows:,} rows meet, in {n_rows // 4:,} groups"
    return Row(
        what,
        f"{error:.4f} of the depth",
        "0 (exact)",
        f"{error:.4f}",
        "≤ 0.02",
        verdict(error <= 0.02),
    )


def alike(n_rows: int, n_draws: int) -> list[Draw]:
    """Return draws of one tree in which one row in twenty is elsewhere."""
    rng = np.random.default_rng(0)
    tree = NestedRestaurant(2.0, 3).sample(n_rows, rng).compressed()
    draws = []
    for _ in range(n_draws):
        leaf = tree.leaf.copy()
        moved = np.flatnonzero(rng.random(n_rows) < 0.05)
        leaf[moved] = tree.leaf[rng.integers(n_rows, size=moved.size)]
        parent = np.maximum(tree.parent, 0).astype(np.uint16)
        level = tree.level.astype(np.uint8)
        draws.append(Draw(leaf.astype(np.uint16), parent, level, {}, (), 1.0, 0.0, 0.0))
    return draws


def purity(kind: str, tree: Tree, n_classes: int) -> Row:
    labels = np.random.default_rng(0).integers(n_classes, size=tree.n_data)
    points = np.random.default_rng(0).standard_normal((3_000, 2))
    ours, peer = race(
        lambda: dendrogram_purity(tree, labels), lambda: linkage(points, "average"), rounds=5
    )
    what = f"purity of {kind} of {tree.n_data:,} data and {n_classes:,} classes"
    return duration_row(what, ours, 1.0, peer=f"{duration(peer)} (linkage of 3,000)")


def flat(n_rows: int, n_draws: int, nested: bool) -> Row:
    """Time the clustering of draws with twenty clusters and one datum in ten elsewhere."""
    rng = np.random.default_rng(0)
    truth = np.sort(rng.integers(20, size=n_rows))
    other = rng.integers(20, size=(n_draws, n_rows))
    draws = np.where(rng.random((n_draws, n_rows)) < 0.1, other, truth).astype(np.int32)
    tree = binary(n_rows)
    points = rng.standard_normal((3_000, 2))
    ours, peer = race(
        lambda: flat_clustering(draws, tree=tree, nested=nested),
        lambda: linkage(points, "average"),
        rounds=3,
    )
    how = "the best cut of a tree" if nested else "the best flat clustering"
    what = f"{how}, {n_rows:,} data and {n_draws:,} draws"
    return duration_row(what, ours, 5.0, peer=f"{duration(peer)} (linkage of 3,000)")


def caterpillar(n_data: int) -> Tree:
    """Return a tree with one datum at every level."""
    parent = (np.arange(2 * n_data - 1) - 1) // 2 * 2
    parent[0] = -1
    return Tree(parent, np.append(np.arange(1, 2 * n_data - 2, 2), 2 * n_data - 2))


def binary(n_data: int) -> Tree:
    """Return a random tree in which a leaf parts at each step; data are in the tree's order."""
    rng = np.random.default_rng(1)
    parent, tips = [-1], [0]
    for which in rng.integers(np.arange(1, n_data)):
        w = len(parent)
        parent += [tips[which], tips[which]]
        tips[which] = w
        tips.append(w + 1)
    leaf = np.array(tips)
    order = Tree(parent, leaf).preorder[leaf]
    return Tree(parent, leaf[np.argsort(order)])
