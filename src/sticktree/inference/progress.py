"""A display of running chains, for terminals only."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sticktree.inference.runner import Run, Schedule, Watch

__all__ = ["choosing", "watching"]


def _shown(show: bool | None) -> bool:
    """Tell whether to show anything; None asks the terminal."""
    return sys.stderr.isatty() if show is None else show


@contextmanager
def choosing(show: bool | None, n_models: int) -> Iterator[None]:
    """Say, while it lasts, that the data choose among models."""
    if not _shown(show):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"choosing among {n_models} models by short chains"):
        yield


@contextmanager
def watching(show: bool | None, n_chains: int, schedule: Schedule) -> Iterator[Watch]:
    """Yield a function that shows the progress of each chain; ``show=None`` asks the terminal."""
    if not _shown(show):
        yield lambda k, run: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    lock = threading.Lock()
    with Progress(
        TextColumn("chain {task.fields[chain]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[seen]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as display:
        tasks = [
            display.add_task("", total=schedule.n_sweeps, chain=k + 1, seen="")
            for k in range(n_chains)
        ]

        def watch(k: int, run: Run) -> None:
            seen = None
            if run.draws and run.n_sweeps % 10 == 0:
                draw = run.draws[-1]
                nodes = "·".join(map(str, draw.nodes_per_level(run.chain.model.depth)))
                seen = f"log joint {draw.log_joint:.1f}  nodes per level {nodes}"
            elif not run.draws:
                seen = "warming up"
            with lock:
                display.update(tasks[k], completed=run.n_sweeps)
                if seen is not None:
                    display.update(tasks[k], seen=seen)

        yield watch
