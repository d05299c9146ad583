"""What a terminal shows while people wait: one line for all of it, and how much is left.

Whoever has something to say asks for the line with :func:`showing`. The first to ask opens it, and
all that is called meanwhile says what it does on the same one.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sticktree.inference.runner import Run, Schedule, Watch

LEAST_SECONDS = 1.0  # of a phase, from which on the rest of it is foretold


def _shown(show: bool | None) -> bool:
    """Return whether to show anything; None asks the terminal."""
    return sys.stderr.isatty() if show is None else show


class Line:
    """The line that says what is being done. This one is for nobody."""

    def say(
        self, text: str, total: int | None = None, after: int = 0, most: float = math.inf
    ) -> None:
        """Say what is being done from now on, in ``total`` steps if their number is known.

        At most ``after`` more steps of the kind may follow when these are done, and all may take
        ``most`` seconds.
        """

    def step(self) -> None:
        """Show that one more step is done, of any thread."""


class _Log(Line):
    """Lines below each other, for a file."""

    def __init__(self, console: Any) -> None:
        self._console = console

    def say(
        self, text: str, total: int | None = None, after: int = 0, most: float = math.inf
    ) -> None:
        self._console.print(text, highlight=False)


class Pace:
    """How far a phase is, and how long the rest of it may take.

    Parameters
    ----------
    total : int or None
        Its steps, if their number is known.
    after : int
        Steps that may follow when these are done.
    most : float
        Seconds that all of them may take.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        total: int | None,
        after: int = 0,
        most: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total, self.after, self.most, self.done = total, after, most, 0
        self._clock, self._began = clock, clock()

    def words(self) -> str:
        """Return how far it is, how much is left of it, and how much at most of all.

        Examples
        --------
        >>> from sticktree.inference.showing import Pace
        >>> times = iter([0.0, 10.0])
        >>> pace = Pace(100, 400, clock=lambda: next(times))
        >>> pace.done = 50
        >>> pace.words()
        '50 %, 10 s left, 1:30 at most'
        """
        if not self.total:
            return ""
        text = f"{self.done / self.total:.0%}".replace("%", " %")
        taken = self._clock() - self._began
        if not self.done or taken < LEAST_SECONDS:
            return text
        each, left = taken / self.done, self.total - self.done
        ends = max(self.most - taken, 0.0)
        text += f", {_spoken(min(each * left, ends))} left"
        if self.after:
            text += f", {_spoken(min(each * (left + self.after), ends))} at most"
        return text


def _spoken(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class _Bar(Line):
    """A line that moves, for a terminal."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._lock = threading.Lock()
        self._pace = Pace(None)
        self._task = display.add_task("", total=None, pace=self._pace)

    def say(
        self, text: str, total: int | None = None, after: int = 0, most: float = math.inf
    ) -> None:
        with self._lock:
            self._pace = Pace(total, after, most)
            self._display.reset(self._task, total=total, description=text, pace=self._pace)

    def step(self) -> None:
        with self._lock:
            self._pace.done += 1
            self._display.advance(self._task)


_current: ContextVar[Line | None] = ContextVar("line", default=None)


@contextmanager
def showing(show: bool | None) -> Iterator[Line]:
    """Yield the line that says what is being done; ``show=None`` asks the terminal.

    Where a line is open already, it is that one.
    """
    if not _shown(show):
        yield Line()
        return
    known = _current.get()
    if known is not None:
        yield known
        return
    with _opened() as line:
        token = _current.set(line)
        try:
            yield line
        finally:
            _current.reset(token)


@contextmanager
def _opened() -> Iterator[Line]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn
    from rich.text import Text

    class Left(ProgressColumn):
        max_refresh = 0.5

        def render(self, task: Any) -> Text:
            return Text(task.fields["pace"].words())

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Log(console)
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=10), Left()
    with Progress(*columns, console=console, transient=True) as display:
        yield _Bar(display)


@contextmanager
def saying(text: str, show: bool | None = None) -> Iterator[None]:
    """Say, while it lasts, what is being done; ``show=None`` asks the terminal."""
    with showing(show) as line:
        line.say(text)
        yield


@contextmanager
def watching(show: bool | None, runs: Sequence[Run], schedule: Schedule) -> Iterator[Watch]:
    """Yield a function to call after every sweep of runs that go on to the end of a schedule."""
    to_do = sum(max(schedule.n_sweeps - run.n_sweeps, 0) for run in runs)
    with showing(show) as line:
        line.say(f"sampling: {len(runs)} chains to {schedule.n_sweeps} sweeps", to_do)
        yield lambda k, run: line.step()
