"""Clusters: how well they agree with what people see, and what it takes to get them from draws.

The suite of public sets is looked for as in :func:`sticktree.datasets.suite_folder`; the whole
comparison, with every peer, is ``sticktree reproduce clusters``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.data import data_folder
from benchmarks.measure import (
    Row,
    Target,
    duration,
    duration_row,
    from_fresh_process,
    machine_load,
    peak_bytes,
    skipped,
    verdict,
)
from sticktree import datasets
from sticktree.checks import FloatArray
from sticktree.datasets import MissingDataError
from sticktree.posterior import Draw
from sticktree.posterior.cutting import cut_into, longest_lasting, tree_of_rows
from sticktree.posterior.walk import Walk
from sticktree.tree import Tree

if TYPE_CHECKING:
    from sticktree_paper.clustering_programs import Clustering

SEED = 0
FEW = ("wut-x1", "graves-zigzag", "sipu-flame", "other-iris")
SOME = (
    *FEW,
    *("fcps-hepta", "fcps-tetra", "graves-line", "sipu-spiral", "wut-mk1", "wut-twosplashes"),
    *("wut-x3", "wut-z1"),
)
PEERS = {
    "given": ("Genie (raw)", "GMM (z)", "ward linkage (raw)", "spectral, neighbours (raw)"),
    "free": ("HDBSCAN 5, filled in (z)", "HDBSCAN 10, filled in (z)", "GMM by BIC (z)"),
}
N_ROWS, N_DRAWS, N_CLUSTERS = 1_000_000, 100, 50
WANDERING = 0.1  # share of rows that lie between two clusters
TIME, MEMORY = Target(60, "s"), Target(2_000, "MB")


def clusters_scores(quick: bool = False) -> Iterator[Row]:
    """Yield mean adjusted Rand indices on small sets, ours and those of peers in this process."""
    what = "adjusted Rand index"
    try:
        from sticktree_paper.clustering_programs import programs
    except ImportError:
        yield skipped(what, "it needs the package in paper/: pip install -e paper")
        return
    from sticktree_paper.methods import FULL, OURS, QUICK

    folder = data_folder()
    try:
        known = datasets.suite_names(folder)
        names = [name for name in (FEW if quick else SOME) if name in known]
        sets = datasets.load_suite(names, folder=folder)
    except MissingDataError as reason:
        yield skipped(what, reason.hint)
        return
    found = programs(QUICK if quick else FULL)
    wanted = (OURS, *dict.fromkeys(peer for peers in PEERS.values() for peer in peers))
    scores, seconds = scored({name: found[name] for name in wanted if name in found}, sets)
    for question, peers in PEERS.items():
        ours = float(np.mean(scores[OURS, question]))
        for peer in peers:
            label = f"{what}, k {question}, mean of {len(sets)} sets, beside {peer}"
            if peer not in found:
                yield skipped(label, "not installed")
                continue
            theirs = float(np.mean(scores[peer, question]))
            bound = Target(0.0, at_least=True)
            yield Row(
                label,
                f"{ours:.3f} ({duration(seconds[OURS])})",
                f"{theirs:.3f} ({duration(seconds[peer])})",
                f"{ours - theirs:+.3f}",
                str(bound),
                verdict(bound.met(ours - theirs)),
            )


def scored(
    programs: dict[str, Callable[[FloatArray, int], Clustering]], sets: Sequence[datasets.SuiteSet]
) -> tuple[dict[tuple[str, str], list[float]], dict[str, float]]:
    """Return scores by program and question, a set each, and seconds of each program in all."""
    from sticktree_paper.clustering_work import scores

    found: dict[tuple[str, str], list[float]] = {}
    seconds = dict.fromkeys(programs, 0.0)
    order = np.random.default_rng(SEED)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short chains may disagree
        for one in sets:
            rows = order.permutation(len(one.data))
            references = [reference[rows] for reference in one.references]
            for name, program in programs.items():
                start = time.process_time()
                values = scores(program(one.data[rows], SEED), references)
                seconds[name] += time.process_time() - start
                for question in PEERS:
                    if question in values:
                        found.setdefault((name, question), []).append(values[question])
    return found, seconds


def clusters_scale(quick: bool = False) -> Iterator[Row]:
    """Yield what the way from many draws of many rows to clusters takes, beside k-means."""
    n_rows, n_draws = (20_000, 20) if quick else (N_ROWS, N_DRAWS)
    of_rows = f"of {n_rows:,} rows from {n_draws} draws of {N_CLUSTERS} clusters"
    settings = (n_rows, n_draws, N_CLUSTERS)
    seconds, megabytes, agreement = from_fresh_process("benchmarks.clusters", "answered", *settings)
    peer = from_fresh_process("benchmarks.clusters", "kmeans_seconds", n_rows, N_CLUSTERS)
    what = f"labels, confidence and cluster tree {of_rows} ({machine_load()})"
    row = duration_row(what, seconds, TIME.limit, peer=f"{duration(peer)}, k-means in the plane")
    yield Row(row.what, row.ours, row.peer, f"{seconds / peer:.2f}", row.target, row.verdict)
    yield Row(
        f"memory beyond the draws for labels, confidence and cluster tree {of_rows}",
        f"{megabytes:,.0f} MB",
        target=str(MEMORY),
        verdict=verdict(MEMORY.met(megabytes)),
    )
    exact = Target(0.95, at_least=True)
    yield Row(
        f"adjusted Rand index of labels {of_rows} that were made up",
        f"{agreement:.3f}",
        target=str(exact),
        verdict=verdict(exact.met(agreement)),
    )


def answered(n_rows: int, n_draws: int, n_clusters: int) -> tuple[float, float, float]:
    """Return seconds and megabytes from draws to answers, and how right the labels are."""
    from sklearn.metrics import adjusted_rand_score

    from_draws(made_up_draws(1_000, 4, 5)[0])  # imports and compiles
    draws, truth = made_up_draws(n_rows, n_draws, n_clusters)
    before, start = resident_bytes(), time.perf_counter()
    labels, *_ = from_draws(draws)
    seconds = time.perf_counter() - start
    beyond = max(peak_bytes() - before, 0.0)
    return seconds, beyond / 1e6, float(adjusted_rand_score(truth, labels))


def from_draws(draws: list[Draw]) -> tuple[npt.NDArray[np.integer], FloatArray, Tree]:
    """Return labels, confidence and the cluster tree of draws, as a fit has them."""
    walk = Walk.of(draws, depth=1)
    lasting = longest_lasting(walk)
    cut = cut_into(walk, lasting.n_clusters, lasting.steps)
    tree = tree_of_rows(walk.tree(lasting.steps))
    return cut.labels, walk.confidence(cut.labels), tree


def made_up_draws(
    n_rows: int, n_draws: int, n_clusters: int
) -> tuple[list[Draw], npt.NDArray[np.uint8]]:
    """Return draws of clusters of which neighbours exchange some rows, and the true clusters."""
    rng = np.random.default_rng(SEED)
    truth = rng.integers(n_clusters, size=n_rows).astype(np.uint8)
    wandering = np.flatnonzero(rng.random(n_rows) < WANDERING)
    neighbour = ((truth[wandering].astype(np.int64) + 1) % n_clusters).astype(np.uint8)
    parent, level = np.zeros(n_clusters + 1, np.uint8), np.ones(n_clusters + 1, np.uint8)
    level[0] = 0
    draws = []
    for _ in range(n_draws):
        leaf = truth + np.uint8(1)
        moves = rng.random(wandering.size) < 0.3
        leaf[wandering[moves]] = neighbour[moves] + np.uint8(1)
        draws.append(Draw(leaf, parent, level, {}, (), 1.0, 0.0, 0.0))
    return draws, truth


def kmeans_seconds(n_rows: int, n_clusters: int) -> float:
    """Return how long k-means takes on as many rows in the plane, from one start."""
    rows = in_the_plane(n_rows, n_clusters)
    start = time.perf_counter()
    KMeans(n_clusters, n_init=1, random_state=SEED).fit(rows)
    return time.perf_counter() - start


def in_the_plane(n_rows: int, n_clusters: int) -> FloatArray:
    rng = np.random.default_rng(SEED)
    centres = rng.normal(0.0, 10.0, (n_clusters, 2))
    return np.asarray(centres[rng.integers(n_clusters, size=n_rows)] + rng.normal(size=(n_rows, 2)))


def resident_bytes() -> float:
    """Return the memory that this process holds, or the most it ever held where that is all."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS:"):
                return 1024.0 * int(line.split()[1])
    return peak_bytes()
