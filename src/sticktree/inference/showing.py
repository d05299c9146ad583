"""What a terminal shows while chains run, and while people wait for what comes of them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sticktree.inference.runner import Run, Schedule, Watch


def _shown(show: bool | None) -> bool:
    """Return whether to show anything; None asks the terminal."""
    return sys.stderr.isatty() if show is None else show


class Line:
    """The line that says what is being done. This one is for nobody."""

    def say(self, text: str, total: int | None = None) -> None:
        """Say what is being done from now on, in ``total`` steps if their number is known."""

    def step(self) -> None:
        """Show that one more step is done, of any thread."""


class _Log(Line):
    """Lines below each other, for a file."""

    def __init__(self, console: Any) -> None:
        self._console = console

    def say(self, text: str, total: int | None = None) -> None:
        self._console.print(text)


class _Bar(Line):
    """A line that moves, for a terminal."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._task = display.add_task("", total=None, done="")

    def say(self, text: str, total: int | None = None) -> None:
        done = "" if total is None else f"0/{total}"
        self._display.reset(self._task, total=total, description=text, done=done)

    def step(self) -> None:
        self._display.advance(self._task)
        (task,) = self._display.tasks
        if task.total is not None:
            self._display.update(self._task, done=f"{task.completed:.0f}/{task.total:.0f}")


@contextmanager
def showing(show: bool | None) -> Iterator[Line]:
    """Yield the line that says what is being done; ``show=None`` asks the terminal."""
    if not _shown(show):
        yield Line()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Log(console)
        return
    texts = TextColumn("{task.description}"), TextColumn("{task.fields[done]}")
    columns = SpinnerColumn(), texts[0], BarColumn(), texts[1]
    with Progress(*columns, console=console, transient=True) as display:
        yield _Bar(display)


@contextmanager
def saying(text: str, show: bool | None = None) -> Iterator[None]:
    """Say, while it lasts, what is being done; ``show=None`` asks the terminal."""
    with showing(show) as line:
        line.say(text)
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
