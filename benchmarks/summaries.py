"""What it takes to sum up a million rows, and how far that is from the exact answers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from benchmarks.fresh import in_fresh_process
from benchmarks.made_up import DEPTH, MadeUp, as_fit, made_up
from benchmarks.table import Row, Target, duration_row, verdict
from benchmarks.timing import seconds_of
from sticktree import DFPMixture, Tree
from sticktree.metrics import dendrogram_purity, meeting_distance, variation_of_information
from sticktree.posterior import confidence, expected_loss, flat_clustering, labels_at
from sticktree.posterior.agreement import best_level
from sticktree.posterior.consensus import consensus_tree

N_DRAWS = 64
EXACT_ROWS = 5_000


def rows(quick: bool = False) -> Iterator[Row]:
    n_rows = 20_000 if quick else 1_000_000
    yield from large(n_rows, quick)
    megabytes = in_fresh_process("benchmarks.summaries", "megabytes", n_rows)
    limit = Target(2_000, "MB")
    yield Row(
        f"peak memory of a process with the same draws of {n_rows:,} rows",
        f"{megabytes:,.0f} MB",
        target=str(limit),
        verdict=verdict(limit.met(megabytes)),
    )
    yield from errors(1_000 if quick else EXACT_ROWS, 16 if quick else N_DRAWS)


def large(n_rows: int, quick: bool) -> Iterator[Row]:
    """Time everything that a fit says at its end, and what users ask for."""
    summed(made_up(2_000, 4))  # compiles the kernels
    made = made_up(n_rows, 8 if quick else N_DRAWS)
    of_rows = f"of {n_rows:,} rows from {len(made.draws)} draws"
    mixture = as_fit(made)
    seconds = seconds_of(lambda: mixture._summarise(None))
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


def megabytes(n_rows: int) -> float:
    """Sum up a fit and return the peak memory of this process."""
    from benchmarks.memory import peak_bytes

    summed(made_up(n_rows, N_DRAWS))
    return peak_bytes() / 1e6


def summed(made: MadeUp) -> DFPMixture:
    mixture = as_fit(made)
    mixture._summarise(None)
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
            ("search.ALL_STEPS", 0),
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
