"""Print one table of speed and mixing against peers in the same process."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks import (
    clusters,
    engine,
    group_answers,
    groups,
    mixing,
    scale_chunks,
    scale_cold,
    scale_cost,
    scale_dask,
    scale_sweep,
    start,
    stream,
    summaries,
    time_to_answer,
    wide,
)
from benchmarks.measure import HEADER, Row

PARTS: dict[str, Callable[[bool], Iterator[Row]]] = {
    part.__name__: part
    for part in (
        time_to_answer.time_to_answer,
        start.imports,
        engine.processes,
        engine.engine,
        engine.growth,
        groups.groups,
        groups.groups_of_many,
        group_answers.group_answers,
        group_answers.group_overlap,
        group_answers.group_penguins,
        start.memory,
        start.compiling,
        mixing.mixing,
        mixing.convergence,
        mixing.imputation,
        summaries.answers,
        summaries.summaries,
        stream.stream,
        scale_sweep.scale_sweep,
        scale_cold.scale_cold,
        scale_sweep.scale_growth,
        scale_cold.scale_memory,
        scale_dask.scale_dask,
        scale_chunks.scale_chunks,
        scale_dask.scale_tasks,
        scale_cost.scale_cost,
        clusters.clusters_scores,
        clusters.clusters_scale,
        *wide.PARTS,
    )
}
GROUPS = (
    "scale",
    "group",
    "clusters",
    "wide",
)  # of parts that begin so; they take long, and run when asked for


def main() -> int:
    width = max(map(len, PARTS))
    about = [f"  {name:{width}}  {_first_line(part)}" for name, part in PARTS.items()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog="\n".join(["parts:", *about]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="part",
        help=f"any of those below; {', '.join(GROUPS)} are all that begin so, none is all others",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all runs")
    options = parser.parse_args()
    for part in options.parts:
        if part not in (*PARTS, *GROUPS):
            known = ", ".join((*GROUPS, *PARTS))
            parser.error(f"there is no part {part!r}; parts are {known}")
    print(HEADER, flush=True)
    fine = [print_rows(part, options.quick) for part in asked_for(options.parts)]
    return 0 if all(fine) else 1


def _first_line(part: Callable[[bool], Iterator[Row]]) -> str:
    return (part.__doc__ or "").partition("\n")[0]


def asked_for(names: list[str]) -> list[str]:
    """Return the parts that names stand for, in the order of the table."""

    def is_asked_for(part: str) -> bool:
        group = next((one for one in GROUPS if part.startswith(f"{one}_")), None)
        return part in names or (not names if group is None else group in names)

    return [part for part in PARTS if is_asked_for(part)]


def print_rows(part: str, quick: bool) -> bool:
    """Print the rows of a part; if it breaks, say so and let the others go on."""
    try:
        for row in PARTS[part](quick):
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
