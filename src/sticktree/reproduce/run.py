"""Do many pieces of work, several at a time, and keep what comes out of each at once."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager

from sticktree.reproduce.methods import Length
from sticktree.reproduce.results import Key, Result, ResultsFile
from sticktree.reproduce.work import evaluate

__all__ = ["FitError", "run"]

Outcome = Result | BaseException
Watch = Callable[[Key, Outcome], None]


class FitError(RuntimeError):
    """Some pieces of work failed; those that did not are kept."""


def run(
    wanted: Sequence[Key],
    file: ResultsFile,
    length: Length,
    *,
    n_jobs: int = 1,
    fresh: bool = False,
    progress: bool | None = None,
) -> list[Result]:
    """Return the results of all that is wanted, old and new ones.

    What the file has is not done again unless ``fresh``. If interrupted, what is done is kept, and
    another call goes on from there.
    """
    known = {} if fresh else file.read()
    missing = [key for key in wanted if key not in known]
    failed: dict[Key, BaseException] = {}
    if missing:
        with _watching(progress, len(wanted), len(wanted) - len(missing)) as watch:
            for key, outcome in _outcomes(missing, length, n_jobs):
                if isinstance(outcome, Result):
                    known[key] = outcome
                    file.keep(outcome)
                else:
                    failed[key] = outcome
                watch(key, outcome)
    if failed:
        key, error = next(iter(failed.items()))
        raise FitError(
            f"{len(failed)} of {len(missing)} fits failed, the first being {key.method} on "
            f"{key.name}, split {key.split}: {error!r}. The others are kept; run again to go on"
        )
    return [known[key] for key in wanted]


def _outcomes(
    keys: Sequence[Key], length: Length, n_jobs: int
) -> Iterator[tuple[Key, Result | BaseException]]:
    context = multiprocessing.get_context("spawn")  # threads of numba and BLAS survive no fork
    pool = ProcessPoolExecutor(
        min(n_jobs, len(keys)), mp_context=context, initializer=_die_when_interrupted
    )
    try:
        futures: dict[Future[Result], Key] = {
            pool.submit(evaluate, key, length): key for key in keys
        }
        for future in as_completed(futures):
            error = future.exception()
            yield futures[future], future.result() if error is None else error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _die_when_interrupted() -> None:
    """Let Ctrl-C end a worker at once; a fit would keep its draws and score with these few."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _watching(show: bool | None, total: int, done: int) -> Iterator[Watch]:
    """Yield a function that shows each outcome: a bar on terminals, else a line each."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    if show is False:
        yield lambda key, outcome: None
        return
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    if not sys.stderr.isatty():
        count = done

        def line(key: Key, outcome: Outcome) -> None:
            nonlocal count
            count += 1
            console.print(f"{count}/{total}  {_words(key, outcome)}", markup=False)

        yield line
        return
    with Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
        console=console,
    ) as display:
        task = display.add_task("", total=total, completed=done, last="")

        def advance(key: Key, outcome: Outcome) -> None:
            display.update(task, advance=1, last=_words(key, outcome))

        yield advance


def _words(key: Key, outcome: Outcome) -> str:
    what = f"{key.name}, {'seed' if key.part == 'purity' else 'split'} {key.split}, {key.method}"
    if not isinstance(outcome, Result):
        return f"{what}: failed: {outcome!r}"
    value = outcome.values["pairs" if key.part == "purity" else "test"]
    return f"{what}: {value:.3f} in {outcome.seconds:.1f} s"
