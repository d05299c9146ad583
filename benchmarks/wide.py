"""Wide tables: clusters beside peers, the time and memory that an answer takes.

Fits have their defaults; one that takes several times as long as it may is ended, so that the table
comes to an end. Every part is made to take three minutes at most on two free cores, but for
densities of ten splits (`wide_density.py`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.measure import (
    Row,
    Target,
    duration,
    from_fresh_process,
    machine_load,
    peak_bytes,
    skipped,
    verdict,
)
from benchmarks.wide_data import (
    Answer,
    Wide,
    among_factors,
    gene_tables,
    peers,
    plain_classes,
    timed,
)
from benchmarks.wide_density import SETS, SHORT, held_out, rates
from sticktree import DFPMixture
from sticktree.checks import FloatArray

PATIENCE = 3.0  # times the limit, after which a fit is ended
SEEDS = range(6)


# ---- clusters ------------------------------------------------------------------------------------


def wide_plain(quick: bool = False) -> Iterator[Row]:
    """Three classes in 20 of 200 columns, 100 rows."""
    warm_up()
    small = plain_classes(40, 60, 10) if quick else plain_classes()
    aims = Target(0.98, at_least=True), Target(5.0, "s")
    yield from beside_peers("3 classes in some columns", [small], aims[0], quick, aims[1])


def wide_factors(quick: bool = False) -> Iterator[Row]:
    """Classes below factors that all columns share, 300×2,000, six seeds."""
    warm_up()
    seeds = SEEDS[:1] if quick else SEEDS
    size = (60, 80, 20, 2, 3) if quick else (300, 2_000, 40, 5, 5)
    several = [among_factors(*size, seed=seed) for seed in seeds]
    yield from beside_peers("classes among factors", several, Target(0.97, at_least=True), quick)


def wide_noise(quick: bool = False) -> Iterator[Row]:
    """Factors and noise alone: one cluster, whatever the seed."""
    warm_up()
    tables = [
        among_factors(*((60, 80) if quick else (200, 500)), n_classes=1, seed=seed)
        for seed in SEEDS[: 1 if quick else 3]
    ]
    found = [ours(noise.data, 60.0, quick)[0] for noise in tables]
    seconds = float(np.mean([answer.seconds for answer in found]))
    counts = [answer.n_clusters for answer in found]
    yield Row(
        f"clusters of factors and noise alone, {tables[0].size}",
        f"k = {', '.join(map(str, counts))} ({duration(seconds)})",
        target="k = 1",
        verdict=verdict(set(counts) == {1}),
    )


def wide_genes(quick: bool = False) -> Iterator[Row]:
    """Gene expression of tumours: NCI60 and Khan's, of the package ISLP, if it is there."""
    tables = gene_tables()
    if not tables:
        yield skipped("gene expression of tumours", "pip install --no-deps ISLP has the tables")
        return
    warm_up()
    for name, wide in tables.items():
        yield from beside_peers(name, [wide], None, quick)


def beside_peers(
    what: str, tables: list[Wide], target: Target | None, quick: bool, limit: Target | None = None
) -> Iterator[Row]:
    """Yield the mean index of ours, the number of clusters its own and given, and of every peer.

    With a limit, there is a row for the time that a fit takes. Without a target nothing is judged.
    """
    answers: dict[tuple[str, bool], list[tuple[float, Answer]]] = {}
    patience = 60.0 if limit is None else max(limit.limit, 60.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for wide in tables:
            answer, mixture = ours(wide.data, patience, quick)
            given = timed(partial(mixture.cluster, wide.n_classes))
            scores = mixture.factor_scores_ if mixture.n_factors_ else None
            mine = [("ours", True, answer), ("ours", False, given)]
            for name, own, answer in [*mine, *peers(wide, scores)]:
                place = answers.setdefault((name, own), [])
                place.append((answer.agreement(wide.classes), answer))
    label = f"adjusted Rand index, {what}, {tables[0].size}"
    label += f", mean of {len(tables)} seeds" if len(tables) > 1 else ""
    score = {own: float(np.mean([a for a, _ in answers["ours", own]])) for own in (True, False)}
    counts = ", ".join(str(answer.n_clusters) for _, answer in answers["ours", True])
    seconds = float(np.mean([answer.seconds for _, answer in answers["ours", True]]))
    truth = tables[0].n_classes
    yield Row(
        f"{label}, k by itself",
        f"{score[True]:.3f}, k = {counts} of {truth} ({duration(seconds)})",
        target="" if target is None else str(target),
        verdict="" if target is None else verdict(target.met(score[True])),
    )
    if limit is not None:
        said = f"seconds to clusters, {what}, {tables[0].size} ({machine_load()})"
        yield Row(said, duration(seconds), "", "", str(limit), verdict(limit.met(seconds)))
    for name, own in answers:
        if name == "ours":
            continue
        theirs = float(np.mean([index for index, _ in answers[name, own]]))
        taken = float(np.mean([answer.seconds for _, answer in answers[name, own]]))
        with_k = "k by itself" if own else "k given"
        # To be beaten are peers that find the number themselves.
        judged = own and target is not None
        yield Row(
            f"… beside {name}, {with_k}",
            f"{score[own]:.3f}",
            f"{theirs:.3f} ({duration(taken)})",
            f"{score[own] - theirs:+.3f}",
            "≥ 0" if judged else "",
            verdict(score[own] >= theirs) if judged else "",
        )


def ours(data: FloatArray, limit: float, quick: bool) -> tuple[Answer, Any]:
    """Return the clusters of a fit with its defaults, ended some time after the limit, and it."""
    mixture: Any = DFPMixture(
        random_state=0,
        progress=False,
        max_time=PATIENCE * limit,
        **(SHORT if quick else {}),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return timed(lambda: mixture.fit(data).labels_), mixture


def warm_up() -> None:
    """Have all compiled that a fit needs, before anything is timed."""
    rng = np.random.default_rng(0)
    ours(rng.normal(size=(40, 3)), 60.0, quick=False)


def wide_digits(quick: bool = False) -> Iterator[Row]:
    """Handwritten digits, 1,797×64: k given and by itself."""
    digits = load_digits()
    some = slice(0, 150 if quick else None)
    wide = Wide(np.asarray(digits.data[some]), digits.target[some])
    warm_up()
    parameters = SHORT if quick else {}
    mixture: Any = DFPMixture(random_state=0, progress=False, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = timed(lambda: mixture.fit(wide.data).labels_)
        given = timed(lambda: mixture.cluster(wide.n_classes))
        found = {name: answer.agreement(wide.classes) for name, _, answer in peers(wide)}
    gmm = max(value for name, value in found.items() if name.startswith("GMM"))
    for what, answer, peer, best in (
        ("k given", given, "Ward", found["Ward"]),
        ("k by itself", own, "the better GMM by BIC on PCA", gmm),
    ):
        score = answer.agreement(wide.classes)
        yield Row(
            f"adjusted Rand index, digits {wide.size}, {what}, beside {peer}",
            f"{score:.3f}, k = {answer.n_clusters}",
            f"{best:.3f}",
            f"{score - best:+.3f}",
            "≥ 0",
            verdict(score >= best),
        )


# ---- time and memory -----------------------------------------------------------------------------

Fit = tuple[tuple[int, ...], Target, Target | None]
SIZES: dict[str, Fit] = {
    "1,000×2,000": ((1_000, 2_000, 40, 5, 8), Target(60, "s"), None),
    "10,000×50": ((10_000, 50, 20, 2, 8), Target(90, "s"), None),
    "100×20,000": ((100, 20_000, 100, 5, 4), Target(120, "s"), Target(2_000, "MB")),
}
"""Arguments of `among_factors`, and what a fit may take."""
SMALL: dict[str, Fit] = {"60×150": ((60, 150, 20, 2, 3), Target(60, "s"), Target(2_000, "MB"))}


def fit_of(size: str, quick: bool = False) -> Iterator[Row]:
    """Yield seconds by the clock and of processors, and memory, of one fit in its own process."""
    size = next(iter(SMALL)) if quick else size
    arguments, limit, memory = (SMALL | SIZES)[size]
    asked = (list(arguments), limit.limit, quick)
    found = from_fresh_process("benchmarks.wide", "fitted", *asked)
    seconds, processor, megabytes, agreement, k = found
    right = f"k = {k} of {arguments[-1]}, adjusted Rand index {agreement:.2f}"
    yield Row(
        f"a finished fit of {size} by the clock ({machine_load()})",
        f"{duration(seconds)}, {duration(processor)} of processors, {right}",
        target=str(limit),
        verdict=verdict(limit.met(seconds)),
    )
    if memory is not None:
        yield Row(
            f"memory of a fit of {size}",
            f"{megabytes:,.0f} MB",
            target=str(memory),
            verdict=verdict(memory.met(megabytes)),
        )


def fitted(
    arguments: list[int], limit: float, quick: bool
) -> tuple[float, float, float, float, int]:
    """Return seconds, twice, megabytes, how right clusters are, and how many, of one fit."""
    warm_up()
    wide = among_factors(*arguments)
    start = time.process_time()
    answer, _ = ours(wide.data, limit, quick)
    processor = time.process_time() - start
    index = answer.agreement(wide.classes)
    return answer.seconds, processor, peak_bytes() / 1e6, index, answer.n_clusters


# ---- parts ---------------------------------------------------------------------------------------


def _part(name: str, about: str, run: Callable[[bool], Iterator[Row]]) -> Any:
    """Return a part of the benchmark under its name."""

    def part(quick: bool = False) -> Iterator[Row]:
        yield from run(quick)

    part.__name__, part.__doc__ = name, about
    return part


def _plain(name: str) -> str:
    return name.replace(",", "").replace("×", "x").replace(" with ", "_").lower()


PARTS: list[Callable[[bool], Iterator[Row]]] = [
    wide_plain,
    wide_factors,
    wide_noise,
    wide_genes,
    wide_digits,
    *(
        _part(f"wide_{_plain(size)}", f"Time and memory of {size}.", partial(fit_of, size))
        for size in SIZES
    ),
    *(
        _part(f"wide_rates_{_plain(name)}", f"Learned noise rates on {name}.", partial(rates, name))
        for name in SETS
    ),
    *(
        _part(f"wide_density_{_plain(name)}", f"Rows held out of {name}.", partial(held_out, name))
        for name in SETS
    ),
]
