"""What a sweep of the parallel sampler costs, and how that grows with the number of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from benchmarks.measure import (
    Row,
    Target,
    busy,
    duration,
    in_turn,
    machine_load,
    median,
    processor_seconds,
    ratio_row,
    slope,
    verdict,
)
from benchmarks.scale_data import Clusters, PlantedChain, clusters, planted
from sticktree.checks import FloatArray
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.partition import partition
from sticktree.engine.bulk.placement import ThreadPlacement
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.sums import NO_RANK
from sticktree.jit import jit

THREADS = 2
LOOPS = 50_000  # of arithmetic: some ten milliseconds
SWEEPS = 5  # in a row, for each iteration of the peer
FASTER = Target(1.7, "×", at_least=True)


def scale_sweep(quick: bool = False) -> Iterator[Row]:
    share, rounds = (20, 1) if quick else (1, 3)
    chains = {}
    for n_rows, dimension, n_leaves in ((1_000_000, 2, 100), (200_000, 16, 50)):
        made = clusters(n_rows // share, dimension, n_leaves)
        chain = planted(made, THREADS)
        yield against_em(chain, made, rounds)
        yield one_thread_more(chain, 10 * rounds)
        chains[dimension] = chain, made
    yield from more_leaves(*chains[2], 1_000_000 // share, 5 * rounds)
    yield incomplete(clusters(200_000 // share, 5, 100), 3 * rounds)


def title(chain: PlantedChain) -> str:
    n, dimension = chain.rows.extent.n, chain.rows.extent.dimension
    return f"{n:,}×{dimension}, {chain.leaves.size} leaves"


def against_em(chain: PlantedChain, made: Clusters, rounds: int) -> Row:
    """Compare with ``_e_step`` and ``_m_step`` of a mixture with as many components.

    Both have two threads, the peer those of its linear algebra.
    """
    what = f"parallel sweep, {THREADS} threads, {title(chain)}, vs one EM iteration"
    peer = fitted_peer(made, chain.leaves.size)

    def iteration() -> None:
        peer._m_step(made.data, peer._e_step(made.data)[1])

    with threadpool_limits(limits=THREADS):
        seconds = in_turn(lambda: sweep(chain, SWEEPS), iteration, rounds=rounds)
    ours, its = median(seconds[0]) / SWEEPS, median(seconds[1])
    row = ratio_row(what, ours, its, target=0.15)
    return replace(row, figure=f"{ours / its:.3f} ({machine_load()})")


def sweep(chain: PlantedChain, times: int) -> None:
    for _ in range(times):
        chain.sweep()


def fitted_peer(made: Clusters, n_components: int) -> GaussianMixture:
    """Return a mixture that has been through one iteration on a few of the rows."""
    chosen = np.random.default_rng(0).choice(len(made.data), 50 * n_components)
    peer = GaussianMixture(
        n_components, covariance_type="spherical", max_iter=1, init_params="random_from_data"
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        peer.fit(made.data[chosen])
    return peer


def one_thread_more(chain: PlantedChain, rounds: int) -> Row:
    """Compare two threads with one, by the fastest of many sweeps of each.

    Beside it stands what two threads gain in a loop that needs neither memory nor each other: where
    that is far below 2, others have the machine.
    """
    placement = chain.rows.placement
    assert isinstance(placement, ThreadPlacement)

    def with_threads(n_threads: int) -> Callable[[], None]:
        def run() -> None:
            placement.n_threads = n_threads
            chain.sweep()

        return run

    arithmetic(1)
    with threadpool_limits(limits=1), ThreadPoolExecutor(1) as pool:

        def both() -> None:
            other = pool.submit(arithmetic, LOOPS)
            arithmetic(LOOPS)
            other.result()

        one, two, alone, beside = in_turn(
            with_threads(1),
            with_threads(2),
            lambda: arithmetic(2 * LOOPS),
            both,
            rounds=rounds,
        )
    ratio, possible = min(one) / min(two), min(alone) / min(beside)
    return Row(
        f"parallel sweep, 2 threads vs 1, {title(chain)}; fastest of {rounds}",
        duration(min(two)),
        duration(min(one)),
        f"{ratio:.2f}× ({machine_load()}; the machine gives {possible:.2f}× to arithmetic)",
        str(FASTER),
        "not judged: others want the cores" if busy() else verdict(FASTER.met(ratio)),
    )


@jit
def arithmetic(n: int) -> FloatArray:
    """Multiply and add in the nearest cache."""
    values = np.ones(512)
    for _ in range(n):
        for i in range(values.size):
            values[i] = ((values[i] * 0.999 + 0.001) * 0.999 + 0.001) * 0.999 + 0.001
    return values


def incomplete(made: Clusters, rounds: int) -> Row:
    """Compare rows a tenth of which lack entries with complete ones, where columns depend."""
    rng = np.random.default_rng(0)
    leaves = planted(made, THREADS).components()
    root = np.sqrt(leaves.precision)[:, :, None] * leaves.transform
    root[:, range(1, 5), range(4)] = 0.1 * root[:, range(1, 5), range(1, 5)]
    leaves = leaves._replace(root=root, impute=True)
    gaps = made.data.copy()
    some = rng.choice(len(gaps), len(gaps) // 10, replace=False)
    for column in (rng.integers(5, size=some.size), rng.integers(5, size=some.size)):
        gaps[some, column] = np.nan
    ours, its = (Rows(ThreadPlacement(partition(data, 0), THREADS)) for data in (gaps, made.data))
    seconds = in_turn(lambda: ours.assign(leaves), lambda: its.assign(leaves), rounds=rounds)
    row = ratio_row(
        f"pass over {len(gaps):,}×5, {leaves.log_weight.size} leaves of full covariance, "
        "a tenth of the rows incomplete vs none",
        min(seconds[0]),
        min(seconds[1]),
        0.0,
    )
    return replace(row, figure=f"{row.figure} ({machine_load()})", target="", verdict="")


def more_leaves(few: PlantedChain, made: Clusters, n_rows: int, rounds: int) -> Iterator[Row]:
    """Compare a thousand leaves with a hundred, as processor time of one thread."""
    # In quick runs there are too few rows for so many leaves.
    n_more = min(1_000, n_rows // 200)
    others = clusters(n_rows, 2, n_more)
    many = planted(others, 1)
    few.rows.n_threads = 1  # type: ignore[attr-defined]
    leaves, more = few.components(), many.components()
    crowd = overlapping(leaves, n_more // leaves.log_weight.size)
    between = f"{many.leaves.size} leaves vs {few.leaves.size}, {n_rows:,}×2, as many clusters"
    with threadpool_limits(limits=1):
        for name, (ours, its), target in (
            (f"parallel sweep, {between}", (many.sweep, few.sweep), 3.0),
            (
                f"its pass over rows alone, {between}",
                (lambda: many.rows.assign(more), lambda: few.rows.assign(leaves)),
                None,
            ),
            (
                f"the same pass, {crowd.log_weight.size} leaves on top of each other in "
                f"{few.leaves.size} clusters",
                (lambda: few.rows.assign(crowd), lambda: few.rows.assign(leaves)),
                None,
            ),
        ):
            seconds = in_turn(ours, its, rounds=rounds)
            row = ratio_row(name, min(seconds[0]), min(seconds[1]), target or 0.0)
            row = replace(row, figure=f"{row.figure} ({machine_load()})")
            yield row if target else replace(row, target="", verdict="")


def overlapping(leaves: Components, copies: int) -> Components:
    """Return every leaf several times, half its width away from where it was."""
    copies = max(copies, 2)

    def again(array: np.ndarray[Any, Any]) -> FloatArray:
        return np.ascontiguousarray(np.repeat(array, copies, axis=0))

    centre, precision = again(leaves.centre), again(leaves.precision)
    noise = np.random.default_rng(0).standard_normal(centre.shape) / np.sqrt(precision)
    size = len(centre)
    return leaves._replace(
        log_weight=again(leaves.log_weight - np.log(copies)),
        centre=centre + 0.5 * noise,
        precision=precision,
        limit=np.zeros(size, dtype=np.uint64),  # no leaf has an anchor, nor turns rows away
        anchor=np.full(size, NO_RANK),
    )


EXPONENT = Target(1.05)
LEAVES = 100


def scale_growth(quick: bool = False) -> Iterator[Row]:
    """Fit the exponent of the whole sweep, of which the coordinator's share does not grow.

    It is that of processor time on one thread: what else the machine does matters little.
    """
    sizes = (10_000, 30_000, 100_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000)
    seconds, leaves = [], []
    with threadpool_limits(limits=1):
        for n_rows in sizes:
            chain = planted(clusters(n_rows, 2, LEAVES), 1, n_sweeps=0)
            # Few rows choose several times in a sweep; here they choose once, as many do.
            chain.n_rounds = 1
            chain.sweep()
            rounds = 5 if n_rows > 1_000_000 else 15
            seconds.append(median([processor_seconds(chain.sweep) for _ in range(rounds)]))
            leaves.append(chain.leaves.size)
    exponent, last = slope(sizes, seconds), slope(sizes[-2:], seconds[-2:])
    yield Row(
        "parallel sweep, 1 thread, exponent in the number of rows: "
        + ", ".join(f"{n:,} ({k} leaves)" for n, k in zip(sizes, leaves, strict=True)),
        ours=", ".join(duration(taken) for taken in seconds),
        figure=f"{exponent:.2f}, {last:.2f} over the last step ({machine_load()})",
        target=str(EXPONENT),
        verdict=verdict(EXPONENT.met(exponent)),
    )
