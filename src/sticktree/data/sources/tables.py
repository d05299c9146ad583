"""A table of numbers that is read when it is needed, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_integer
from sticktree.errors import ParameterError

CHUNK_ROWS = 1 << 16  # that a function is called with at a time


class ChunkedTable:
    """Rows of numbers, somewhere on disk; NaN is what is missing.

    Made by :func:`~sticktree.chunks.open_table`. Nothing is read before it is asked for, and
    nothing is kept.

    Attributes
    ----------
    name : str
        What errors call it: its path.
    n_rows, n_columns : int
        Its shape.
    names : tuple of str or None
        Names of the columns, if the file has any.
    path : pathlib.Path or None
        Where it is, if it is a file or a folder.
    chunk_rows : int
        How many rows a fitted mixture is asked about at a time.
    """

    name: str
    n_rows: int
    names: tuple[str, ...] | None
    path: Path | None
    columns: tuple[int, ...]  # of the file, that are read
    chunk_rows: int = CHUNK_ROWS

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.n_rows, self.n_columns

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.n_rows

    def __repr__(self) -> str:
        """Return a short description."""
        return f"<{type(self).__name__} {self.name}: {self.n_rows:,} × {self.n_columns}>"

    def select(self, columns: Sequence[int]) -> Self:
        """Return the table with some of its columns, by their positions."""
        for column in columns:
            if check_integer("columns", column, minimum=0) >= self.n_columns:
                most = f"below {self.n_columns}, the number of columns of {self.name}"
                raise ParameterError("columns", column, most)
        if not len(columns):
            raise ParameterError(
                "columns", columns, "at least one column", verb="name", shown="none"
            )
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.columns = tuple(self.columns[column] for column in columns)
        if self.names is not None:
            other.names = tuple(self.names[column] for column in columns)
        return other

    def named(self, names: Sequence[str]) -> Self:
        """Return the table with other names of its columns."""
        if len(names) != self.n_columns:
            wanted = f"{self.n_columns}, one for each column of {self.name}"
            raise ParameterError("names", names, wanted, shown=str(len(names)))
        other = self.select(range(self.n_columns))
        other.names = tuple(names)
        return other

    def check_numbers(self) -> None:
        """Raise an error if one of the columns that are read does not hold numbers."""

    def chunks(self, n_rows: int) -> Iterator[tuple[int, FloatArray]]:
        """Yield the number of the first row and the rows, ``n_rows`` at a time.

        Every array is new and may be changed.
        """
        n_rows = check_integer("n_rows", n_rows, minimum=1)
        first = 0
        for rows in recut(self._pieces(n_rows), n_rows):
            size, box = len(rows), [rows]
            if first + size > self.n_rows:
                break
            del rows  # the array belongs to the caller, who may let go of it before the next
            yield first, box.pop()
            first += size
        if first != self.n_rows:
            raise ValueError(
                f"{self.name} has another number of rows than the {self.n_rows:,} it had when it "
                "was opened"
            )

    def read(self, start: int, stop: int) -> FloatArray:
        """Return the rows from ``start`` up to ``stop``."""
        raise NotImplementedError

    def words(self) -> list[Any]:
        """Return all entries of a table of one column, numbers or text; None is missing."""
        found = [rows[:, 0] for _, rows in self.chunks(self.chunk_rows)]
        return _whole(np.concatenate(found))

    def _pieces(self, n_rows: int) -> Iterator[FloatArray]:
        """Yield all rows in order, in pieces that are easy to read, of about ``n_rows``."""
        for start in range(0, self.n_rows, n_rows):
            yield self.read(start, min(start + n_rows, self.n_rows))

    def _selected(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the columns that are read, of rows with all columns of the file."""
        whole = self.columns == tuple(range(rows.shape[1]))
        return rows if whole else rows[:, list(self.columns)]


def _whole(values: FloatArray) -> list[Any]:
    """Return numbers as a list; whole ones as integers, NaN as None."""
    return [None if x != x else int(x) if x.is_integer() else x for x in values.tolist()]


def recut(pieces: Iterable[FloatArray], n_rows: int) -> Iterator[FloatArray]:
    """Yield the rows of pieces anew, ``n_rows`` at a time; the last may be fewer."""
    kept: list[FloatArray] = []
    size = 0
    for piece in pieces:
        rest = [piece]
        del piece  # what is yielded is not held here
        while size + len(rest[0]) >= n_rows:
            if not kept and len(rest[0]) == n_rows:
                yield rest.pop()
                rest = [np.empty((0, 0))]
            else:
                cut = n_rows - size
                kept.append(rest[0][:cut])
                rest = [rest[0][cut:]]
                box, kept, size = [np.concatenate(kept)], [], 0
                yield box.pop()
        if len(rest[0]):
            kept.append(rest[0])
            size += len(rest[0])
    if kept:
        yield np.concatenate(kept)


def check_table(name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> None:
    """Raise an error if an array is no table of numbers."""
    if len(shape) != 2:
        raise ValueError(f"{name} must be a table with rows and columns, got shape {shape}")
    if np.dtype(dtype).kind not in "fiu":
        raise ValueError(f"{name} must hold numbers, got dtype {np.dtype(dtype)}")
    if shape[0] == 0:
        raise ValueError(f"{name} has no rows")
    if shape[1] == 0:
        raise ValueError(f"{name} has no columns")


def map_table(
    table: ChunkedTable,
    function: Callable[[FloatArray], npt.NDArray[Any]],
    chunk_rows: int | None = None,
    out: npt.NDArray[Any] | None = None,
    new: Callable[[tuple[int, ...], np.dtype[Any]], npt.NDArray[Any]] = np.empty,
) -> npt.NDArray[Any]:
    """Return the answers of a function for all rows, which gets some rows at a time.

    They are written to ``out``, or to an array that ``new`` makes once shape and type are known.
    """
    for first, rows in table.chunks(table.chunk_rows if chunk_rows is None else chunk_rows):
        answer = np.asarray(function(rows))
        if answer.ndim == 0 or len(answer) != len(rows):
            raise ParameterError(
                "function",
                function,
                f"one answer for each of {len(rows)} rows",
                verb="return",
                shown=f"an array of shape {answer.shape}",
            )
        shape = (table.n_rows, *answer.shape[1:])
        if out is None:
            out = new(shape, answer.dtype)
        if out.shape != shape:
            raise ParameterError("out", out, f"shape {shape}", verb="have", shown=str(out.shape))
        out[first : first + len(rows)] = answer
    assert out is not None  # a table has rows
    return out
