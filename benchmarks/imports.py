"""How long ``import sticktree`` takes beyond numpy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

LIMIT = 0.5
PROGRAM = """
import time, numpy
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def seconds(module: str, rounds: int = 5) -> float:
    program = PROGRAM.format(module=module)
    taken = [
        float(
            subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
        )
        for _ in range(rounds)
    ]
    return sorted(taken)[rounds // 2]


def lines() -> Iterator[str]:
    for module in ("sticktree", "sticktree.processes"):
        taken = seconds(module)
        verdict = "ok" if taken <= LIMIT else "MISSED"
        yield f"| import {module} | {1e3 * taken:.0f} ms | | | ≤ {1e3 * LIMIT:g} ms | {verdict} |"
