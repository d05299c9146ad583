"""The table of test log density, as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.density.interval import paired_difference, signed
from benchmarks.density.methods import OURS
from benchmarks.density.peers import best_peers, peers_file, peers_on
from benchmarks.density.results import Result
from benchmarks.density.run import keys, run
from benchmarks.density.splits import PREPROCESSING
from benchmarks.folder import NAMES, TITLES, MissingDataError, load

HEADER = (
    "| data | method | mean | ours − method, 95 % | splits | ours is |\n"
    "| --- | --- | --- | --- | --- | --- |"
)
EXPLANATION = """\
Mean log density of test rows (natural log), in the units that stand with the data. A tenth of the
rows is tested, in the same splits for every method; differences are paired by split."""
ELSEWHERE = " ¹"
ABOUT_ELSEWHERE = "¹ Measured elsewhere, on those of the same splits that it has."
ABOUT_CCLE = (
    "CCLE codes missing values as 0: a variance of one's own can put a spike there, which says "
    "little of the rest."
)
ABOUT_GAPS = (
    "CCLE with gaps: the density is that of the entries that are observed. We take missing values "
    "as missing; the others are fitted to a table with training means in place of them, and the "
    "gaps of test rows are integrated out."
)
ABOUT_FILLED = (
    "CCLE with gaps filled: all methods, ours too, are fitted to and scored on the table with "
    "training means in place of missing values. A mean that repeats is a spike to whoever has "
    "narrow components."
)


def lines(
    names: Sequence[str] = NAMES,
    n_splits: int = 10,
    draws: int | None = None,
    n_jobs: int = 2,
    fresh: bool = False,
) -> Iterator[str]:
    """Yield the table and what is needed to read it, line by line."""
    reasons = {}
    for name in names:
        try:
            load(name)
        except MissingDataError as reason:
            reasons[name] = reason
    found = [name for name in names if name not in reasons]
    results = run(found, n_splits, draws, n_jobs, fresh)
    yield EXPLANATION
    yield ""
    yield HEADER
    for name in names:
        if name in reasons:
            yield row(TITLES[name], verdict=f"skipped: {reasons[name]}")
        else:
            yield from rows(name, [result for result in results if result.key.name == name])
    yield ""
    if peers_file() is not None:
        yield ABOUT_ELSEWHERE
    if "ccle" in found:
        yield ABOUT_CCLE
    if "ccle_missing" in found:
        yield ABOUT_GAPS
    if "ccle_imputed" in found:
        yield ABOUT_FILLED
    n_wanted = n_splits * sum(len(keys(name, 0, draws)) for name in found)
    if len(results) < n_wanted:
        yield f"{n_wanted - len(results)} of {n_wanted} results are missing."


def rows(name: str, results: Sequence[Result]) -> Iterator[str]:
    """Yield our row, those of the methods run here, and those of the best measured elsewhere."""
    by_method: dict[str, dict[int, float]] = {}
    for result in results:
        by_method.setdefault(result.key.method, {})[result.key.split] = result.log_density
    data = f"{TITLES[name]}, {PREPROCESSING[name]}"
    ours = by_method.pop(OURS, None)
    if ours is None:
        yield row(data, OURS, verdict="no results yet")
        for method, values in by_method.items():
            yield row("", method, mean(values), splits=len(values))
        return
    yield row(data, f"**{OURS}**", mean(ours), splits=len(ours))
    elsewhere = best_peers(ours, peers_on(name, PREPROCESSING[name]))
    others = by_method | {peer + ELSEWHERE: values for peer, values in elsewhere.items()}
    for method, values in others.items():
        if ours.keys() & values.keys():
            difference = paired_difference(ours, values)
            yield row(
                "",
                method,
                mean(values),
                str(difference),
                difference.n_splits,
                difference.verdict,
            )


def mean(values: dict[int, float]) -> str:
    return signed(float(np.mean(list(values.values()))))


def row(
    data: str,
    method: str = "",
    mean: str = "",
    difference: str = "",
    splits: int | str = "",
    verdict: str = "",
) -> str:
    return f"| {data} | {method} | {mean} | {difference} | {splits} | {verdict} |"
