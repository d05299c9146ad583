"""A data set by its name, read from a table of the project's own form or from its originals.

A table is a CSV file with a header, features first, the label last.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from pathlib import Path

import numpy as np

from sticktree.datasets.built_in import ABOUT, make_diffusion, make_synthetic, read_penguins, ship
from sticktree.datasets.catalogue import ENTRIES, LABEL, Entry
from sticktree.datasets.dataset import Contents, Dataset, fingerprint
from sticktree.datasets.places import DownloadError, cache_folder, data_folder, fetch, missing
from sticktree.errors import ParameterError

FROM_FILES = {entry.name: entry for entry in ENTRIES}
BUILT_IN: dict[str, Callable[[], Dataset]] = {
    "synthetic": make_synthetic,
    "diffusion": make_diffusion,
    "penguins": read_penguins,
    **{name: partial(ship, name) for name in ABOUT},
}


def names() -> tuple[str, ...]:
    """Return the names that :func:`load` knows.

    Examples
    --------
    >>> from sticktree import datasets
    >>> datasets.names()[:4]
    ('r15', 'd31', 'aggregation', 'glass')
    """
    return (*FROM_FILES, *BUILT_IN)


def load(
    name: str, *, folder: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Return a data set with its labels, and where it comes from.

    Parameters
    ----------
    name : str
        One of :func:`names`. These need no file: "synthetic" (small clusters in groups, made by
        hand), "diffusion" (drawn from the model), "penguins" (of three islands), "iris", "wine",
        "breast_cancer" and "digits" (they come with scikit-learn). These are files: "r15", "d31",
        "aggregation", "glass", "ccle" (log sensitivities, as in the paper), "ccle_activity" (the
        same measurements, with gaps) and "macaque".
    folder : path, optional
        Where to look for files first. Then follow the data folder, which is chosen by
        :func:`set_data_folder` or else by the environment variable ``STICKTREE_DATA``, and the
        cache, :func:`cache_folder`.
    download : bool, default=True
        Whether a file that is in none of them is downloaded from its public source into the cache.
        That takes pooch: ``pip install sticktree[data]``. What is downloaded must have the known
        checksum. "macaque" has no public source.

    Returns
    -------
    Dataset
        The table, labels, names and references.

    Raises
    ------
    MissingDataError
        If the file is nowhere; the message says where to get it and where to put it.
    ValueError
        If there is no data set of this name, or its file has other contents than it should.

    Notes
    -----
    A file is either a CSV table with a header, features first and ``label`` last, or that of the
    public source as it is; both give the same numbers.

    Examples
    --------
    >>> from sticktree import datasets
    >>> datasets.load("synthetic")
    <Dataset 'synthetic': Synthetic, 96 rows, 2 columns, 12 classes>
    >>> datasets.load("r16")
    Traceback (most recent call last):
    ValueError: name must be one of r15, d31, ..., got 'r16'; did you mean 'r15'?
    """
    if not isinstance(name, str) or name not in names():
        raise ValueError(_no_such(name))
    if name in BUILT_IN:
        return BUILT_IN[name]()
    entry = FROM_FILES[name]
    named = None if folder is None else Path(folder).expanduser()
    if named is not None and not named.is_dir():
        raise ParameterError("folder", str(folder), "a folder that exists")
    for place in (named, data_folder(), cache_folder()):
        if place is not None and (found := _read_from(place, entry)) is not None:
            return found
    return _downloaded(entry, named, download)


def _no_such(name: object) -> str:
    message = f"name must be one of {', '.join(names())}, got {name!r}"
    near = get_close_matches(name.lower(), names(), n=1) if isinstance(name, str) else []
    return f"{message}; did you mean {near[0]!r}?" if near else message


def _read_from(place: Path, entry: Entry) -> Dataset | None:
    table = place / entry.file
    if table.is_file():
        return _checked(entry, table, read_table(table, entry))
    originals = [place / original.name for original in entry.originals]
    if originals and all(path.is_file() for path in originals):
        return _from_originals(entry, originals)
    return None


def _downloaded(entry: Entry, folder: Path | None, download: bool) -> Dataset:
    if not entry.originals:
        raise missing(entry, folder, entry.source)
    if not download:
        raise missing(entry, folder, "was not downloaded: download is False")
    try:
        originals = [fetch(original, cache_folder()) for original in entry.originals]
    except DownloadError as error:
        raise missing(entry, folder, f"was not downloaded: {error}") from error
    return _from_originals(entry, originals)


def _from_originals(entry: Entry, paths: list[Path]) -> Dataset:
    assert entry.read is not None
    files = ", ".join(map(str, paths))
    try:
        contents = entry.read(*paths)
    except Exception as error:  # of whichever reader, for whichever damage
        raise ValueError(
            f"{files} cannot be read as {entry.title}: {error!r}; delete it to have it downloaded"
        ) from error
    found = _checked(entry, paths[0], contents)
    if fingerprint(found.data, found.labels) != entry.fingerprint:
        raise ValueError(
            f"{files} must have the numbers of {entry.title}, got others; delete it to have it "
            f"downloaded, or write the table {entry.file} if that is what you mean"
        )
    return found


def _checked(entry: Entry, path: Path, contents: Contents) -> Dataset:
    if contents.data.shape != entry.shape:
        n, d = contents.data.shape if contents.data.ndim == 2 else (len(contents.data), 0)
        raise ValueError(
            f"{path} must have {entry.shape[0]} rows of {entry.shape[1]} numbers, got {n} of {d}"
        )
    return Dataset(
        name=entry.name,
        title=entry.title,
        data=contents.data,
        columns=entry.columns or contents.columns,
        labels=contents.labels,
        rows=contents.rows,
        description=entry.description,
        citation=entry.citation,
        terms=entry.terms,
        source=entry.source,
        path=path,
    )


def read_table(path: Path, entry: Entry) -> Contents:
    """Return the contents of ``path``, or raise if it is not this data set."""
    with path.open(newline="", encoding="utf-8-sig") as stream:
        lines = [line for line in csv.reader(stream) if line]
    header, *body = lines or [[]]
    labelled = header[-1:] == [LABEL]
    first, last = int(entry.row_names is not None), len(header) - labelled
    columns = tuple(header[first:last])
    if not _is_header_of(entry, header[:first], columns, labelled):
        raise ValueError(
            f"{path} must have the header {entry.header}, got {','.join(header) or 'nothing'}"
        )
    for number, line in enumerate(body, start=2):
        if len(line) != len(header):
            raise ValueError(
                f"{path} must have {len(header)} fields in every row, got {len(line)} in row "
                f"{number}"
            )
    data = np.array(
        [
            [_number(path, number, text) for text in line[first:last]]
            for number, line in enumerate(body, start=2)
        ]
    )
    return Contents(
        data=data,
        columns=entry.columns or columns,
        labels=tuple(line[-1] for line in body) if labelled else None,
        rows=tuple(line[0] for line in body) if first else None,
    )


def _is_header_of(
    entry: Entry, row_names: list[str], columns: tuple[str, ...], labelled: bool
) -> bool:
    if row_names != [entry.row_names] * len(row_names):
        return False
    if entry.columns is None:  # any names will do, but a first row of numbers is no header
        return len(columns) == entry.shape[1] and not any(map(_is_number, columns))
    numbered = tuple(f"x{k}" for k in range(entry.shape[1]))
    return columns in (entry.columns, numbered) and labelled == entry.labelled


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(path: Path, row: int, text: str) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        raise ValueError(
            f"{path} must have numbers, or nothing where a value is missing, got {text!r} in row "
            f"{row}"
        ) from None
