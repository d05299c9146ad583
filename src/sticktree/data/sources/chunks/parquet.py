"""Tables in Parquet files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.data.sources.chunks.table import ChunkedTable

__all__ = ["ENDINGS", "ParquetTable", "files_of"]

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
        """Say which of the columns that are read does not hold numbers."""
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
        except (ValueError, OSError) as error:  # ArrowInvalid is a ValueError
            raise ValueError(f"{file} is not a Parquet file, or cut short: {error}") from None

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
                        raise ValueError(f"{file} cannot be read: {error}") from None
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
