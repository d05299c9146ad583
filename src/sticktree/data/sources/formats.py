"""Tables of numbers that are read some rows at a time: npy, memory maps, Parquet and zarr."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.data.sources.tables import ChunkedTable, check_table
from sticktree.files import first_line
from sticktree.npy import read_header


class ArrayTable(ChunkedTable):
    """The rows of an array; of a memory map, pages are given back once they were read."""

    def __init__(self, array: npt.NDArray[Any], name: str = "X") -> None:
        check_table(name, array.shape, array.dtype)
        self.array, self.name, self.names, self.path = array, name, None, None
        self.n_rows, self.columns = array.shape[0], tuple(range(array.shape[1]))

    def read(self, start: int, stop: int) -> FloatArray:
        """Return the rows from ``start`` up to ``stop``."""
        rows = np.array(self._selected(self.array[start:stop]), dtype=np.float64, order="C")
        self._give_back()
        return rows

    def _give_back(self) -> None:
        """Let go of the pages of a memory map, which else count as memory of this process."""
        if not isinstance(self.array, np.memmap) or self.array.mode not in ("r", "r+"):
            return  # pages of mode "c" hold changes that are nowhere else
        pages = getattr(self.array, "_mmap", None)
        if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED)


class NpyTable(ChunkedTable):
    """The rows of a ``.npy`` file, by plain reads: a file that is cut short is an error."""

    def __init__(self, path: Path) -> None:
        self.name, self.names, self.path = str(path), None, path
        with path.open("rb") as file:
            if file.read(2) == b"PK":
                raise ValueError(f"{path} must hold one array, got several")
            file.seek(0)
            try:
                header = read_header(file)
            except ValueError as error:
                raise ValueError(
                    f"{path} is not a plain array of numpy, or cut short: {error}"
                ) from None
            self.offset = file.tell()
        check_table(self.name, header.shape, header.dtype)
        if header.nbytes > path.stat().st_size - self.offset:
            raise ValueError(
                f"{path} is not a plain array of numpy, or cut short: its rows take "
                f"{header.nbytes:,} bytes"
            )
        self.n_rows, self.width = header.shape
        self.columns, self.dtype = tuple(range(self.width)), header.dtype
        self.by_columns = header.by_columns and self.width > 1

    def read(self, start: int, stop: int) -> FloatArray:
        """Return the rows from ``start`` up to ``stop``."""
        stop = min(stop, self.n_rows)
        rows = np.empty((max(stop - start, 0), self.n_columns))
        with Path(self.name).open("rb") as file:
            if self.by_columns:
                for k, column in enumerate(self.columns):
                    rows[:, k] = self._numbers(file, column * self.n_rows + start, len(rows))
            else:
                flat = self._numbers(file, start * self.width, len(rows) * self.width)
                rows[:] = self._selected(flat.reshape(len(rows), self.width))
        return rows

    def _numbers(self, file: Any, first: int, count: int) -> npt.NDArray[Any]:
        file.seek(self.offset + first * self.dtype.itemsize)
        numbers = np.fromfile(file, dtype=self.dtype, count=count)
        if numbers.size != count:
            raise ValueError(f"{self.name} was cut short since it was opened")
        return numbers


# ---- Tables in Parquet files --------------------------------------------------------------------


ENDINGS = (".parquet", ".pq")
BUFFER = 1 << 16  # bytes of a column that are read ahead, rather than all of a row group
BATCH = 1 << 20  # bytes of rows that are decoded at a time


class ParquetTable(ChunkedTable):
    """The rows of a Parquet file, or of all such files in a folder, by their names' numbers."""

    def __init__(self, path: Path) -> None:
        self.name, self.path = str(path), path
        self.files = files_of(path) if path.is_dir() else [path]
        schemas = [self._opened(file) for file in self.files]
        self.file_names, _ = schemas[0]
        for file, (names, _) in zip(self.files, schemas, strict=True):
            different = set(names) ^ set(self.file_names)
            if different:
                raise ValueError(
                    f"{file} has other columns than {self.files[0].name}: see {min(different)!r}"
                )
        self.rows_of = [n_rows for _, n_rows in schemas]
        self.n_rows = sum(self.rows_of)
        if self.n_rows == 0:
            raise ValueError(f"{path} has no rows")
        self.names, self.columns = self.file_names, tuple(range(len(self.file_names)))

    @property
    def _read_names(self) -> list[str]:
        """Names that the columns have in the files."""
        return [self.file_names[column] for column in self.columns]

    def check_numbers(self) -> None:
        """Raise an error if one of the columns that are read does not hold numbers."""
        for file in self.files:
            for name, kind in self._not_numbers(file):
                if name in self._read_names:
                    raise ValueError(
                        f"{file} must hold numbers only, but column {name!r} is of type {kind}"
                    )

    def _not_numbers(self, file: Path) -> list[tuple[str, str]]:
        types = import_module("pyarrow.types")
        with self._reader(file) as reader:
            return [
                (field.name, str(field.type))
                for field in reader.schema_arrow
                if field.name in self.file_names
                and not (
                    types.is_integer(field.type)
                    or types.is_floating(field.type)
                    or types.is_decimal(field.type)
                )
            ]

    def words(self) -> list[Any]:
        """Return all entries of a table of one column, numbers or text; None is missing."""
        (name,), found = self._read_names, []
        for file in self.files:
            with self._reader(file) as reader:
                found += reader.read(columns=[name]).column(name).to_pylist()
        return found

    def _opened(self, file: Path) -> tuple[tuple[str, ...], int]:
        """Return the names of the columns of a file, and how many rows it has."""
        with self._reader(file) as reader:
            # Data frames whose rows have numbers as names write these as a column.
            names = [n for n in reader.schema_arrow.names if not re.fullmatch(r"__index_.*__", n)]
            if not names:
                raise ValueError(f"{file} has no columns")
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise ValueError(f"{file} has several columns with the name {twice!r}")
            return tuple(names), int(reader.metadata.num_rows)

    def _reader(self, file: Path) -> Any:
        try:
            parquet = import_module("pyarrow.parquet")
        except ImportError:
            raise ImportError(
                "to read Parquet files, install pyarrow: pip install 'sticktree[parquet]'"
            ) from None
        try:
            return parquet.ParquetFile(file, buffer_size=BUFFER, pre_buffer=False)
        except FileNotFoundError:
            raise
        except Exception as error:  # what is wrong with metadata has errors of its own
            raise ValueError(
                f"{file} is not a Parquet file, or cut short: {first_line(error)}"
            ) from None

    def read(self, start: int, stop: int) -> FloatArray:
        """Return the rows from ``start`` up to ``stop``."""
        out = [
            rows[max(start - first, 0) : stop - first]
            for first, rows in self.chunks(max(stop - start, 1))
            if first < stop and start < first + len(rows)
        ]
        return np.concatenate([np.empty((0, self.n_columns)), *out])

    def _pieces(self, n_rows: int) -> Iterator[FloatArray]:
        pyarrow = import_module("pyarrow")
        names = self._read_names
        size = max(BATCH // (8 * len(names)), 1)
        for file in self.files:
            with self._reader(file) as reader:
                batches = reader.iter_batches(size, columns=names, use_threads=False)
                while True:
                    try:
                        batch = next(batches, None)
                    except (ValueError, OSError) as error:
                        raise ValueError(f"{file} cannot be read: {first_line(error)}") from None
                    if batch is None:
                        break
                    rows = np.empty((batch.num_rows, len(names)))
                    for k, name in enumerate(names):
                        column = batch.column(name).cast(pyarrow.float64(), safe=False)
                        rows[:, k] = column.to_numpy(zero_copy_only=False)
                    yield rows


def files_of(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of the numbers in their names."""
    entries = [path for path in folder.iterdir() if path.name[0] not in "._"]
    files = [path for path in entries if path.suffix.lower() in ENDINGS and path.is_file()]
    deeper = [path for path in entries if path.is_dir()]
    if deeper:
        raise ValueError(
            f"{folder} must hold Parquet files side by side, but has a folder {deeper[0].name!r}"
        )
    if not files:
        raise ValueError(f"{folder} has no Parquet files, whose names end in .parquet")

    def key(path: Path) -> list[tuple[int, str]]:
        parts = re.split(r"(\d+)", path.name)
        return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]

    return sorted(files, key=key)


# ---- Tables in arrays of zarr -------------------------------------------------------------------


def is_zarr(path: Path) -> bool:
    """Return whether a folder holds an array or a group of zarr."""
    marks = ("zarr.json", ".zarray", ".zgroup")
    return path.is_dir() and (
        path.suffix == ".zarr" or any((path / mark).exists() for mark in marks)
    )


class ZarrTable(ChunkedTable):
    """The rows of a two-dimensional array of zarr; read in multiples of its own chunks."""

    def __init__(self, path: Path) -> None:
        self.name, self.names, self.path = str(path), None, path
        self.array = self._opened(path)
        check_table(self.name, self.array.shape, self.array.dtype)
        self.n_rows, self.columns = self.array.shape[0], tuple(range(self.array.shape[1]))

    def _opened(self, path: Path) -> Any:
        try:
            zarr = import_module("zarr")
        except ImportError:
            raise ImportError(
                "to read arrays of zarr, install it: pip install 'sticktree[zarr]'"
            ) from None
        try:
            found = zarr.open(str(path), mode="r")
        except Exception as error:  # stores and codecs raise errors of many kinds
            raise ValueError(f"{path} cannot be read as an array of zarr: {error}") from None
        if not isinstance(found, zarr.Array):
            inside = [name for name, _ in found.arrays()]
            more = f", such as {path / inside[0]}" if inside else ""
            raise ValueError(f"{path} is a group of zarr: give one array{more}")
        return found

    def read(self, start: int, stop: int) -> FloatArray:
        """Return the rows from ``start`` up to ``stop``."""
        try:
            rows = np.asarray(self.array[start:stop])
        except Exception as error:
            raise ValueError(f"{self.name} cannot be read: {error}") from None
        return np.array(self._selected(rows), dtype=np.float64, order="C")

    def _pieces(self, n_rows: int) -> Iterator[FloatArray]:
        height = int(self.array.chunks[0])  # what is read in part is unpacked whole
        return super()._pieces(height * max(n_rows // height, 1))


# ---- From a path to a table ---------------------------------------------------------------------


def open_table(
    source: str | os.PathLike[str] | npt.NDArray[Any] | ChunkedTable,
    columns: Sequence[str | int] | None = None,
    groups: str | Sequence[str] | None = None,
) -> ChunkedTable:
    """Open a table of numbers without reading it.

    Parameters
    ----------
    source : path or array
        A ``.npy`` file with a table of any type of number; a ``.parquet`` file or a folder of such
        files, whose columns are all numbers, with nulls for what is missing; the folder of an array
        of zarr; or an array, such as one from ``numpy.load(path, mmap_mode="r")``.
    columns : sequence of str or int, optional
        Names or positions of the columns to read, all by default.
    groups : str or sequence of str, optional
        The name of a column that has groups of rows, and may hold text, or names of two, if the
        groups' parents are in another: columns of the table, to be named again in
        ``fit(table, groups=…, parents=…)``.

    Returns
    -------
    ChunkedTable
        Which is read some rows at a time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sticktree.chunks import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.npy"
    ...     np.save(path, np.arange(10).reshape(5, 2))
    ...     table = open_table(path)
    ...     [(first, len(rows)) for first, rows in table.chunks(2)]
    [(0, 2), (2, 2), (4, 1)]
    """
    table = open_unchecked(source)
    of_groups = [groups] if isinstance(groups, str) else list(groups or ())
    if columns is not None:
        wanted = [_position(table, column) for column in (*columns, *of_groups)]
        table = table.select(list(dict.fromkeys(wanted)))
    numbers = table
    if of_groups:
        others = {_position(table, name) for name in of_groups}
        numbers = table.select([k for k in range(table.n_columns) if k not in others])
    numbers.check_numbers()
    return table


def open_unchecked(
    source: str | os.PathLike[str] | npt.NDArray[Any] | ChunkedTable,
) -> ChunkedTable:
    """Open a table some of whose columns may not hold numbers, to select others."""
    if isinstance(source, ChunkedTable):
        return source
    if isinstance(source, np.ndarray):
        return ArrayTable(source)
    path = Path(source)
    if not path.exists():
        raise ValueError(f"there is no file or folder {path}")
    suffix = path.suffix.lower()
    if is_zarr(path):
        return ZarrTable(path)
    if suffix in ENDINGS or path.is_dir():
        return ParquetTable(path)
    if suffix == ".npy":
        return NpyTable(path)
    raise ValueError(
        f"{path} must be a .npy or .parquet file, a folder of .parquet files or an array of zarr"
    )


def _position(table: ChunkedTable, column: str | int) -> int:
    if not isinstance(column, str):
        return column
    if column not in (table.names or ()):
        some = ", ".join(map(repr, (table.names or ())[:10])) or "no names of columns"
        raise ValueError(f"columns: {table.name} has no column {column!r}; it has {some}")
    return (table.names or ()).index(column)
