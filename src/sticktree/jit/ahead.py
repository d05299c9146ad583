"""Compiling ahead, in several processes: what a task will call and the cache does not have.

The processes are plain ones, ``python -c``, that take numbers of entries from a pipe and put code
into the cache, from where this process loads it. They need nothing of the program that asks: no
guard of its main module, no notebook, no fork. Where they cannot be had, or would not pay, this
process compiles by itself.

Programs that start at once on one cache share the work: what another is about comes last, and is
then waited for.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

import numba
from numba import config
from numba.core.registry import cpu_target

from sticktree.jit.cache import KernelCache
from sticktree.jit.claims import claimed
from sticktree.jit.entries import FILE, Entry, entries
from sticktree.jit.sources import source_digest

WORTH = 400  # kB of code for which processes are started, which takes two seconds
PATIENCE = 180.0  # seconds for what another program compiles: it may have been stopped
VARIABLE = "STICKTREE_COMPILERS"  # how many processes, in place of one for each core
# Not the present folder: a file there may be called as a module is.
WORKER = "-P", "-c", "from sticktree.jit.ahead import serve; serve()"
Tell = Callable[[int, int], None]
"""Called with how many kernels are compiled, and how many there are to compile."""

_done: set[str] = set()


def compile_ahead(tasks: Iterable[str], tell: Tell = lambda done, total: None) -> int:
    """Compile what tasks will call and the cache lacks; return how many kernels that were."""
    wanted = sorted(set(tasks) - _done)
    if not wanted or config.DISABLE_JIT:
        return 0
    _done.update(wanted)
    mark = _mark(wanted)
    if mark is not None and mark.exists():
        return 0
    lacking = missing(wanted)
    if lacking:
        tell(0, len(lacking))
        n_processes = 0 if mark is None else _processes(lacking)
        left = lacking if n_processes < 2 else _in_processes(lacking, n_processes, tell)
        _here(left, len(lacking), tell)
    if mark is not None and not missing(wanted):
        with suppress(OSError):
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
    return len(lacking)


def missing(tasks: Iterable[str]) -> list[Entry]:
    """Return the entries of tasks that the cache does not have, the largest first."""
    return [entry for entry in entries().needed(tasks) if not is_cached(entry)]


def is_cached(entry: Entry) -> bool:
    """Return whether an entry need not be compiled: it is cached, or is not as in the list."""
    try:
        kernel, signature = entry.kernel, entry.signature(entries().records)
        cache = kernel._cache
        return (
            not isinstance(cache, KernelCache)
            or cache.code(signature, kernel.targetctx) is not None
        )
    except Exception:
        return True


def compile_entry(entry: Entry, patience: float = 0.0) -> bool:
    """Compile an entry into the cache; if the list is wrong, do nothing.

    Returns False where another process has been about it for ``patience`` seconds. After some
    patience it is compiled all the same.
    """
    with suppress(Exception):
        kernel, signature = entry.kernel, entry.signature(entries().records)
        with _claimed(kernel, signature, patience) as mine:
            if not mine and not patience:
                return False
            kernel.compile(signature)  # or load what has been compiled meanwhile
    return True


def _claimed(kernel: Any, signature: Any, patience: float) -> AbstractContextManager[bool]:
    cache = kernel._cache
    if not (isinstance(cache, KernelCache) and cache.kept):
        return nullcontext(True)
    code = cache.path(signature, kernel.targetctx)
    return claimed(_folder() / "claims", str(code), patience)


def _folder() -> Path:
    """Return where what concerns all kernels is kept."""
    return Path(KernelCache(compile_ahead).cache_path)


def _mark(tasks: list[str]) -> Path | None:
    """Return a file that is there if all that tasks call is in the cache; None without a cache.

    Its name says of which sources, on which processor. To look at each of the files would take
    longer.
    """
    modules = sorted({entry.module for entry in entries().needed(tasks)})
    if not modules:
        return None
    what = hashlib.sha256(FILE.read_bytes())
    for text in (*tasks, *map(source_digest, modules), numba.__version__, sys.version):
        what.update(text.encode())
    what.update(repr(cpu_target.target_context.codegen().magic_tuple()).encode())
    kept = KernelCache(compile_ahead).kept
    return _folder() / f"compiled-{what.hexdigest()[:24]}" if kept else None


def _processes(lacking: list[Entry]) -> int:
    """Return how many processes are to compile; 0 is this one alone."""
    given = os.environ.get(VARIABLE, "")
    if given:
        return int(given) if given.isdigit() else 0
    alone = (
        multiprocessing.parent_process() is not None  # its sisters may be about the same
        or getattr(sys, "frozen", False)
        or not sys.executable
        or sum(entry.size for entry in lacking) < WORTH
    )
    if alone:
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, 8, len(lacking))


def _here(left: list[Entry], total: int, tell: Tell) -> None:
    """Compile in this process, first what no other is about."""
    n_done = total - len(left)
    for patience in (0.0, PATIENCE):
        held = []
        for entry in left:
            if compile_entry(entry, patience):
                n_done += 1
                tell(n_done, total)
            else:
                held.append(entry)
        left = held


def _in_processes(lacking: list[Entry], n_processes: int, tell: Tell) -> list[Entry]:
    """Have processes compile; return the entries that they did not."""
    waiting = list(lacking)
    answers: queue.Queue[tuple[int, str]] = queue.Queue()
    started = {k: _start(k, answers) for k in range(n_processes)}
    workers = {k: worker for k, worker in started.items() if worker is not None}
    alive, n_done = set(workers), 0
    given: dict[int, Entry] = {}
    held: list[Entry] = []
    failed: list[Entry] = []
    try:
        while alive:
            k, word = answers.get()
            if word == "gone":
                alive.discard(k)
                failed += [given.pop(k)] if k in given else []
                continue
            if word == "done":
                n_done += 1
                tell(n_done, len(lacking))
            last = given.pop(k, None)
            if word == "held" and last is not None:
                held.append(last)
            patience = 0.0 if waiting else PATIENCE
            if waiting or held:
                given[k] = _take(waiting or held, last)
                _write(workers[k], f"{entries().known.index(given[k])} {patience}\n")
            else:
                _write(workers[k], "")
    finally:
        for worker in workers.values():
            worker.kill()
            _write(worker, "")
            worker.wait()
    return failed + waiting + held


def _take(waiting: list[Entry], last: Entry | None) -> Entry:
    """Take an entry from the list: the next of the room where the last was, or the largest.

    Kernels of one room call the same others, which a process compiles once.
    """
    room = "" if last is None else last.module.rpartition(".")[0]
    near = (k for k, entry in enumerate(waiting) if entry.module.startswith(room))
    return waiting.pop(next(near, 0))


def _start(k: int, answers: queue.Queue[tuple[int, str]]) -> subprocess.Popen[str] | None:
    """Start a process, whose words are put into a queue; None if that cannot be done."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "NUMBA_CACHE_DIR": getattr(config, "CACHE_DIR", ""),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    try:
        worker = subprocess.Popen(
            [sys.executable, *WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # of Windows
        )
    except OSError:
        return None

    def listen(words: IO[str]) -> None:
        with words:
            for word in map(str.strip, words):
                if word in ("ready", "done", "held"):
                    answers.put((k, word))
        answers.put((k, "gone"))

    assert worker.stdout is not None
    threading.Thread(target=listen, args=(worker.stdout,), daemon=True).start()
    return worker


def _write(worker: subprocess.Popen[str], line: str) -> None:
    """Send a line to a process; an empty one ends it."""
    assert worker.stdin is not None
    with suppress(OSError, ValueError):  # it may have ended
        worker.stdin.write(line)
        worker.stdin.flush()
    if not line:
        with suppress(OSError):
            worker.stdin.close()


def serve() -> None:
    """Compile the entries whose numbers come in, until no more do."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks
    print("ready", flush=True)
    for line in sys.stdin:
        number, patience = line.split()
        is_done = compile_entry(entries().known[int(number)], float(patience))
        print("done" if is_done else "held", flush=True)


if __name__ == "__main__":  # compile everything
    compile_ahead(entries().tasks, lambda done, total: print(f"compiled {done} of {total} kernels"))
