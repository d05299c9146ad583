"""Print one table of speed, then one of test density."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks import (
    answers,
    compiling,
    convergence,
    engine,
    growth,
    imports,
    imputation,
    memory,
    mixing,
    processes,
    purity,
)
from benchmarks.density import table as density
from benchmarks.folder import NAMES
from benchmarks.table import HEADER, Row

SPEED: dict[str, Callable[[bool], Iterator[Row]]] = {
    "imports": imports.rows,
    "processes": processes.rows,
    "engine": engine.rows,
    "growth": growth.rows,
    "memory": memory.rows,
    "compiling": compiling.rows,
    "mixing": mixing.rows,
    "convergence": convergence.rows,
    "imputation": imputation.rows,
    "answers": answers.rows,
    "purity": purity.rows,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = (*SPEED, "density")
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(names)}; all by default")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all runs")
    of_density = parser.add_argument_group("density")
    of_density.add_argument("--sets", nargs="+", choices=NAMES, default=list(NAMES))
    of_density.add_argument("--splits", type=int, help="how many splits, 10 by default")
    of_density.add_argument(
        "--draws", type=int, help="warm-up sweeps and draws a chain, the defaults if not given"
    )
    of_density.add_argument(
        "--jobs", type=int, default=min(2, os.cpu_count() or 1), help="fits at a time"
    )
    of_density.add_argument("--fresh", action="store_true", help="use no results of earlier runs")
    options = parser.parse_args()
    parts = options.parts or names
    for part in parts:
        if part not in names:
            parser.error(f"there is no part {part!r}; parts are {', '.join(names)}")
    fine = True
    if set(parts) & SPEED.keys():
        print(HEADER, flush=True)
        for part in SPEED:
            if part in parts:
                fine &= print_rows(part, options.quick)
        print()
    if "density" in parts:
        n_splits = options.splits or (2 if options.quick else 10)
        draws = options.draws or (20 if options.quick else None)
        for line in density.lines(options.sets, n_splits, draws, options.jobs, options.fresh):
            print(line, flush=True)
    return 0 if fine else 1


def print_rows(part: str, quick: bool) -> bool:
    """Print the rows of a part; if it breaks, say so and let the others go on."""
    try:
        for row in SPEED[part](quick):
            print(unjudged(row) if quick else row, flush=True)
    except Exception as error:
        traceback.print_exc()
        print(Row(part, verdict=f"failed: {type(error).__name__}"), flush=True)
        return False
    return True


def unjudged(row: Row) -> Row:
    """Return a row without its verdict, which small sizes have no right to."""
    return replace(row, verdict="not judged") if row.target else row


if __name__ == "__main__":
    sys.exit(main())
