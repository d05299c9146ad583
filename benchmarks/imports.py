"""How long ``import sticktree`` takes beyond numpy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.table import Row, duration_row
from benchmarks.timing import median

LIMIT = 500  # ms
PROGRAM = """
import time, numpy
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def rows(quick: bool = False) -> Iterator[Row]:
    for module in ("sticktree", "sticktree.processes"):
        yield duration_row(f"import {module}", seconds(module), LIMIT, "ms")


def seconds(module: str, rounds: int = 5) -> float:
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    return median(
        [
            float(subprocess.run(command, capture_output=True, check=True).stdout)
            for _ in range(rounds)
        ]
    )
