"""Where rows are: partitions of them, passes over these, and what comes back.

A pass is a pure function of a partition, of what its rows chose last, and of a message to all rows.
So it can be made anywhere, in threads of this process, on files or on the workers of a cluster, and
made again where its result was lost.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from sticktree.engine.bulk.partition import ALL, Labelled, Partition, Share, Sided

SHARES = 4  # for each thread: threads that are done early take over from the others
LEAVES, HALVES = "leaves", "halves"  # what rows choose in passes

Item = TypeVar("Item")
Message = TypeVar("Message")
Result = TypeVar("Result")


class Extent(NamedTuple):
    """What must be known of all rows before the first pass."""

    n: int
    largest: float  # absolute entry
    missing: tuple[int, ...]  # entries of each column
    squashed: int = 0  # rows that have left memory, of which sums are kept
    n_groups: int = 0  # the largest number of a group and one more

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.missing)

    @property
    def gaps(self) -> bool:
        """Whether entries are missing."""
        return any(self.missing)

    @property
    def present(self) -> int:
        """Number of rows that are there one by one."""
        return self.n - self.squashed

    @classmethod
    def of(cls, part: Partition) -> Extent:
        """Return the extent of a partition."""
        largest = max(np.abs(part.y).max(initial=0.0), np.nanmax(np.abs(part.gap_y), initial=0.0))
        missing = tuple(np.isnan(part.gap_y).sum(axis=0).tolist())
        return cls(part.n_rows, float(largest), missing, n_groups=part.n_groups)

    @classmethod
    def joined(cls, extents: list[Extent]) -> Extent:
        """Return the extent of the rows of all."""
        return cls(
            sum(extent.n for extent in extents),
            max(extent.largest for extent in extents),
            tuple(map(sum, zip(*(extent.missing for extent in extents), strict=True))),
            n_groups=max(extent.n_groups for extent in extents),
        )


class Choices(NamedTuple):
    """What the rows of a partition chose last: leaves, and halves of units."""

    leaves: Labelled
    halves: Sided

    @classmethod
    def empty(cls, part: Partition) -> Choices:
        """Return room for the choices of a partition."""
        return cls(Labelled.empty(part), Sided.empty(part))


@dataclass(frozen=True)
class Pass(Generic[Message, Result]):
    """One pass over rows.

    Attributes
    ----------
    name : str
        What the dashboard of a cluster shows.
    work : callable
        Takes the message, a partition, the choices of its rows and the share of them to work on,
        and returns a result. Of the choices it may change those that it makes.
    needs : tuple of str
        Which choices it reads: LEAVES, HALVES.
    makes : str or None
        Which choices it makes.
    entries : bool
        Whether it reads entries of rows; else their numbers will do.
    """

    name: str
    work: Callable[[Message, Partition, Choices, Share], Result]
    needs: tuple[str, ...] = ()
    makes: str | None = None
    entries: bool = True


class Placement(Protocol):
    """Partitions of the rows, wherever they are, and the choices of one chain beside them."""

    @property
    def extent(self) -> Extent:
        """Number and size of the rows."""

    def map(self, step: Pass[Message, Result], message: Message) -> list[Result]:
        """Return the results of a pass for each partition, in the order of the rows."""

    def map_reduce(
        self, step: Pass[Message, Result], message: Message, join: Callable[[list[Result]], Result]
    ) -> Result:
        """Return the results of a pass for any parts of the rows, joined in any order."""


class ThreadPlacement:
    """Rows in the memory of this process.

    Parameters
    ----------
    part : Partition
        All rows; several chains may share them.
    n_threads : int, default=1
        How many threads make a pass.
    """

    rows_of_thread = 8192  # fewer are done before a thread has started

    def __init__(self, part: Partition, n_threads: int = 1) -> None:
        self.part, self.choices, self.extent = part, Choices.empty(part), Extent.of(part)
        self.n_threads = min(n_threads, 1 + self.extent.n // self.rows_of_thread)

    def map(self, step: Pass[Message, Result], message: Message) -> list[Result]:
        """Return the result of a pass for all rows."""
        return [step.work(message, self.part, self.choices, ALL)]

    def map_reduce(
        self, step: Pass[Message, Result], message: Message, join: Callable[[list[Result]], Result]
    ) -> Result:
        """Return the results of a pass for shares of the rows, joined."""
        n_shares = self.n_threads * SHARES if self.n_threads > 1 else 1
        shares = (Share(first, n_shares) for first in range(n_shares))

        def work(share: Share) -> Result:
            return step.work(message, self.part, self.choices, share)

        return fold(shares, work, join, self.n_threads)


def fold(
    items: Iterable[Item],
    work: Callable[[Item], Result],
    join: Callable[[list[Result]], Result],
    n_threads: int,
) -> Result:
    """Return all results of work on items, joined in any order.

    Each thread takes an item when it is done with the last, and keeps one result: there are never
    more items or results than threads. After an error, or Ctrl-C, no thread takes another item.
    """
    if n_threads == 1:
        return functools.reduce(lambda mine, its: join([mine, its]), map(work, items))
    source, lock, stopped = iter(items), threading.Lock(), threading.Event()

    def loop() -> list[Result]:
        joined: list[Result] = []
        try:
            while True:
                with lock:  # files are read in order
                    if stopped.is_set():
                        break
                    box = list(itertools.islice(source, 1))
                if not box:
                    break
                result = work(box.pop())
                joined = [join([joined[0], result]) if joined else result]
        except BaseException:
            stopped.set()
            raise
        return joined

    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(loop) for _ in range(n_threads)]
        try:
            parts = [part for future in futures for part in future.result()]
        finally:
            stopped.set()
    return parts[0] if len(parts) == 1 else join(parts)
