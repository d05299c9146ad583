"""The rows of a table, standardised and arranged, in files."""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

import numpy as np

from sticktree.checks import FloatArray, IntArray, check_integer, infinite_entries
from sticktree.data.sources.scratch import Buffer, Scratch, Slot, read_into, removed_with, write
from sticktree.data.sources.tables import ChunkedTable
from sticktree.engine.bulk.measure import Reach, Scale, measure
from sticktree.engine.bulk.partition import ALL, BLOCK, partition
from sticktree.engine.bulk.placement import HALVES, LEAVES, Extent, Pass, fold
from sticktree.engine.bulk.rows import Rows

Item = TypeVar("Item")
Message = TypeVar("Message")
Result = TypeVar("Result")
CHAINS = itertools.count()
CHUNK_BYTES = 64_000_000
"""Size of the rows of a chunk, as they are prepared."""
CHUNKS = 4  # for each thread at least, if there are enough rows: so all threads have work
MEASURED_BYTES = 1 << 20  # of rows that are measured at a time


def rows_of_chunk(n_rows: int, n_columns: int, n_threads: int) -> int:
    """Return how many rows a chunk has by default."""
    fitting = CHUNK_BYTES // (8 * (n_columns + 1))
    balanced = -(-n_rows // (CHUNKS * n_threads))
    return BLOCK * max(min(fitting // BLOCK, -(-balanced // BLOCK)), 1)


def measure_table(table: ChunkedTable, n_threads: int = 1) -> Scale:
    """Return means and standard deviations of the columns; the table is read three times.

    They are the same as those of the rows in memory, to the last bit.

    Raises
    ------
    ValueError
        If entries are infinite, or a column has no value at all.
    """
    height = max(MEASURED_BYTES // (8 * table.n_columns), 1)

    def each(function: Callable[[FloatArray], Result]) -> list[Result]:
        # What comes back of each piece is a few numbers for every column.
        return _each(table.chunks(height), lambda chunk: function(chunk[1]), n_threads)

    def check(reach: Reach) -> None:
        if not np.isfinite(reach.largest).all():
            for first, rows in table.chunks(height):
                wrong = first + np.flatnonzero(np.isinf(rows).any(axis=1))
                if wrong.size:
                    raise infinite_entries(table.name, wrong[:1], 1)
        reach.check_observed(table.name, table.names)

    return measure(each, check)


def _each(items: Iterable[Item], work: Callable[[Item], Result], n_threads: int) -> list[Result]:
    """Return the results of work on items, in any order."""

    def extended(lists: list[list[Result]]) -> list[Result]:
        for more in lists[1:]:
            lists[0].extend(more)
        return lists[0]

    return fold(items, lambda item: [work(item)], extended, n_threads)


class PreparedTable:
    """The rows of a table as the sampler for many rows wants them, in files of a chunk each.

    It is a :class:`~sticktree.data.training.Store`. Chains share it and do not change it; each has
    a `FilePlacement` of its own. The files are removed by `close`, with this object, or when the
    program ends.

    Let c be the number of rows of a chunk, D that of columns and t that of threads. Beyond what
    the program holds anyway, t · c · (25 D + 24) bytes of memory are needed while the files are
    made, and t · c · (8 D + 13) bytes in every pass, for all chains together: neither depends on
    the number of rows N. Rows with gaps need 8 D bytes more in passes. On disk there are
    N · 8 (D + 1) bytes, and 5 N for each chain. Rows that are spread by a jitter are written
    besides, as large again, which takes t · c · 40 (D + 1) bytes of memory.

    A table that can be read in large pieces only, such as an array of zarr with chunks of more than
    c rows, needs the memory of two such pieces besides; of Parquet files, Arrow holds a page of
    each column and some tens of megabytes for itself.

    Parameters
    ----------
    table : ChunkedTable
        The rows. It is read once.
    centre, spread : float array, shape (D,)
        What is taken off each column, and what it is then divided by; see `measure_table`.
    n_threads : int, default=1
        How many threads arrange rows, and how many chunks are in memory at any time.
    chunk_rows : int or None, default=None
        c. None takes chunks of 64 MB, or less where there would be too few for all threads.
    scratch_folder : path or None, default=None
        Where the files are made. None is the system's place for temporary files.
    group : int array, shape (N,), or None, default=None
        The groups of the rows, if they belong to several: 4 N bytes in memory, and on disk.
    """

    def __init__(
        self,
        table: ChunkedTable,
        centre: FloatArray,
        spread: FloatArray,
        *,
        n_threads: int = 1,
        chunk_rows: int | None = None,
        scratch_folder: str | os.PathLike[str] | None = None,
        group: IntArray | None = None,
    ) -> None:
        self.n_threads = check_integer("n_threads", n_threads, minimum=1)
        if chunk_rows is None:
            chunk_rows = rows_of_chunk(*table.shape, n_threads)
        self.chunk_rows = check_integer("chunk_rows", chunk_rows, minimum=1)
        self.dimension, self.group = table.n_columns, group
        self._buffers: list[Buffer] = []
        self._free = threading.BoundedSemaphore(self.n_threads)
        n_chunks = -(-table.n_rows // self.chunk_rows)
        # A partition may have one block that is not full.
        n_bytes = 8 * (table.n_columns + 1) * (table.n_rows + n_chunks * BLOCK)
        n_bytes += 0 if group is None else 4 * (table.n_rows + n_chunks * BLOCK)
        self.scratch = Scratch(scratch_folder)
        try:
            with self.scratch.filling(n_bytes):
                chunks = enumerate(self._standardised(table, centre, spread))
                found = _each(chunks, lambda chunk: self._prepared(*chunk), self.n_threads)
        except BaseException:
            self.scratch.close()
            raise
        self._arranged: dict[bytes | None, tuple[list[Slot], Extent]] = {None: _sorted(found)}
        self._arranging = threading.Lock()
        slots, self.extent = self._arranged[None]
        self._size: int = max(slot.row_bytes + slot.state_bytes for slot in slots)

    def arranged(self, jitter: FloatArray | None = None) -> tuple[list[Slot], Extent]:
        """Return where the rows are, spread by ``jitter`` if it is given, and their extent."""
        key = None if jitter is None else jitter.tobytes()
        with self._arranging:  # chains that want the same rows wait for each other
            if key not in self._arranged:
                slots = self._arranged[None][0]
                name = f"-{len(self._arranged)}"
                with self.scratch.filling(sum(slot.row_bytes for slot in slots)):
                    self._arranged[key] = _sorted(
                        _each(slots, lambda slot: self._spread(slot, name, jitter), self.n_threads)
                    )
            return self._arranged[key]

    def _spread(self, slot: Slot, name: str, jitter: FloatArray | None) -> tuple[Slot, Extent]:
        """Write the rows of a partition again, spread."""
        x = np.empty((slot.n_whole + slot.n_gaps, self.dimension))
        with self.buffer() as buffer:
            read_into(slot.path, buffer[: slot.row_bytes])
            part = slot.part(buffer)
            for row, y, size in zip(part.row, part.y, part.filled, strict=True):
                x[row[:size] - np.uint64(slot.first)] = y[:, :size].T
            x[part.gap_row - np.uint64(slot.first)] = part.gap_y
        return self._written(f"{slot.path.stem}{name}", slot.first, x, jitter)

    def _standardised(
        self, table: ChunkedTable, centre: FloatArray, spread: FloatArray
    ) -> Iterator[tuple[int, FloatArray]]:
        """Yield chunks in the units of the engine, and follow their digest."""
        digest = hashlib.sha256()
        if self.group is not None:
            digest.update(self.group.tobytes())
        for first, x in table.chunks(self.chunk_rows):
            x -= centre
            x /= spread
            np.copyto(x, np.nan, where=np.isnan(x))  # NaN has many forms, and all are the same
            digest.update(x.data)
            box = [x]
            del x
            yield first, box.pop()
        self._digest = digest.hexdigest()

    def _prepared(self, index: int, chunk: tuple[int, FloatArray]) -> tuple[Slot, Extent]:
        """Arrange the rows of a chunk, and write them."""
        return self._written(f"{index:06d}", *chunk, None)

    def _written(
        self, name: str, first: int, x: FloatArray, jitter: FloatArray | None
    ) -> tuple[Slot, Extent]:
        group = None if self.group is None else self.group[first : first + len(x)]
        part = partition(x, first, jitter, group)
        path = self.scratch.path / f"{name}.rows"
        n_whole, n_gaps = int(part.filled.sum()), part.gap_row.size
        slot = Slot(path, first, n_whole, n_gaps, self.dimension, group is not None)
        fill = np.zeros(n_gaps % 2 if slot.grouped else 0, dtype=np.int32)
        rows = part.row, part.gap_row, part.y, part.gap_y
        write(slot.path, (*rows, part.group, part.gap_group, fill))
        return slot, Extent.of(part)

    @contextmanager
    def buffer(self) -> Iterator[Buffer]:
        """Lend room for any partition and its state; wait if all threads have one already."""
        with self._free:
            try:
                buffer = self._buffers.pop()
            except IndexError:
                buffer = np.empty(self._size, dtype=np.uint8)
            try:
                yield buffer
            finally:
                self._buffers.append(buffer)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.extent.n, self.dimension

    def rows(self, n_threads: int, jitter: FloatArray | None = None) -> Rows:
        """Return the rows for one chain, with labels of its own."""
        return Rows(FilePlacement(self, n_threads, jitter))

    def digest(self) -> str:
        """Return a number that is the same for the same rows only, also for those in memory."""
        return self._digest

    @property
    def peak_bytes(self) -> int:
        """Memory that making it took at most, and that all passes take at most."""
        making = self.chunk_rows * (25 * self.dimension + 24)
        return self.n_threads * max(making, self._size)

    def close(self) -> None:
        """Remove all files; also those of its chains."""
        self.scratch.close()
        self._buffers.clear()

    def __enter__(self) -> Self:
        """Return itself, to be closed at the end."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove all files."""
        self.close()


def _sorted(found: list[tuple[Slot, Extent]]) -> tuple[list[Slot], Extent]:
    """Return partitions in the order of their rows, and the extent of all."""
    found.sort()
    return [slot for slot, _ in found], Extent.joined([extent for _, extent in found])


class FilePlacement:
    """The rows of a prepared table, and the choices that they made last in one chain.

    It is a :class:`~sticktree.engine.bulk.placement.Placement`. Choices are in files beside the
    rows, 5 bytes a row: what the system has memory for, it keeps of them by itself.

    Parameters
    ----------
    prepared : PreparedTable
        The rows, which several chains may share.
    n_threads : int or None, default=None
        How many threads make a pass. None takes as many as prepared the table; there are never more
        at work than that, in all chains together.
    jitter : float array, shape (D,), or None, default=None
        Width of the interval that entries of each column are spread over.
    """

    def __init__(
        self,
        prepared: PreparedTable,
        n_threads: int | None = None,
        jitter: FloatArray | None = None,
    ) -> None:
        self.prepared = prepared
        self.slots, self.extent = prepared.arranged(jitter)
        n_threads = prepared.n_threads if n_threads is None else n_threads
        self.n_threads = check_integer("n_threads", n_threads, minimum=1)
        self.folder = prepared.scratch.path / f"chain-{next(CHAINS)}"
        n_bytes = sum(slot.state_bytes for slot in self.slots)
        self._remove = removed_with(self, self.folder)
        try:
            with prepared.scratch.filling(n_bytes):
                self.folder.mkdir()
                for slot in self.slots:  # room on the disk is taken now, not in mid-sweep
                    labels = np.zeros(slot.label_bytes, dtype=np.uint8)
                    write(self.choices(slot), (labels, np.full(slot.side_bytes, -1, np.int8)))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the choices of the chain."""
        self._remove()

    def choices(self, slot: Slot) -> Path:
        """Return the file with the choices of the rows of a partition."""
        return self.folder / f"{slot.path.stem}.state"

    def map(self, step: Pass[Message, Result], message: Message) -> list[Result]:
        """Return the results of a pass for each partition, in the order of the rows."""
        pairs = _each(
            enumerate(self.slots),
            lambda at: (at[0], self._work(step, message, at[1])),
            self.n_threads,
        )
        results = dict(pairs)
        return [results.pop(k) for k in range(len(self.slots))]

    def map_reduce(
        self, step: Pass[Message, Result], message: Message, join: Callable[[list[Result]], Result]
    ) -> Result:
        """Return the results of a pass for all partitions, joined."""
        return fold(self.slots, lambda slot: self._work(step, message, slot), join, self.n_threads)

    def _work(self, step: Pass[Message, Result], message: Message, slot: Slot) -> Result:
        """Make a pass over a partition, which is read for it; write the choices that it makes."""
        with self.prepared.buffer() as buffer:
            read_into(slot.path, buffer[: slot.row_bytes if step.entries else slot.number_bytes])
            state = buffer[slot.row_bytes :][: slot.state_bytes]
            labels, sides = state[: slot.label_bytes], state[slot.label_bytes :]
            if step.needs:
                read_into(self.choices(slot), state if HALVES in step.needs else labels)
            result = step.work(message, slot.part(buffer), slot.choices(state), ALL)
            if step.makes == LEAVES:
                write(self.choices(slot), (labels,), 0)
            elif step.makes == HALVES:
                write(self.choices(slot), (sides,), slot.label_bytes)
            return result
