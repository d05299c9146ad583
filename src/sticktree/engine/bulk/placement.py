"""Work on many things in threads, few of them in memory at a time."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["fold"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def fold(
    items: Iterable[Item],
    work: Callable[[Item], Result],
    merge: Callable[[Result, Result], Result],
    n_threads: int,
) -> Result:
    """Return all results of work on items, merged in any order.

    Each thread takes an item when it is done with the last, and keeps one result: there are never
    more items or results than threads. After an error, or Ctrl-C, no thread takes another item.
    """
    source, lock, stopped = iter(items), threading.Lock(), threading.Event()

    def loop() -> list[Result]:
        merged: list[Result] = []
        try:
            while True:
                with lock:  # files are read in order
                    if stopped.is_set():
                        break
                    box = list(itertools.islice(source, 1))
                if not box:
                    break
                result = work(box.pop())
                merged = [merge(merged[0], result) if merged else result]
        except BaseException:
            stopped.set()
            raise
        return merged

    if n_threads == 1:
        parts = loop()
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            futures = [pool.submit(loop) for _ in range(n_threads)]
            try:
                parts = [part for future in futures for part in future.result()]
            finally:
                stopped.set()
    out = parts[0]
    for part in parts[1:]:
        out = merge(out, part)
    return out
