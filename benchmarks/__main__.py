"""Print one table of speed."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks import (
    compiling,
    convergence,
    engine,
    growth,
    imports,
    memory,
    mixing,
    processes,
)
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
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = tuple(SPEED)
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(names)}; all by default")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all runs")
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
