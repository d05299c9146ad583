"""A suite of small sets with reference labellings, by which clusterings are compared.

It is a folder of CSV files ``<collection>-<name>.csv``: columns ``x0``, ``x1``, … and one or more
reference labellings ``label0``, ``label1``, …, numbered from 1; 0 marks noise. The files are not
part of this library.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.datasets.places import DATA_VARIABLE, MissingDataError, data_folder
from sticktree.errors import ParameterError

COLLECTIONS = ("fcps", "g2mg", "graves", "h2mg", "mnist", "other", "sipu", "uci", "wut")
FOLDER = "suite"
NOISE = 0


@dataclass(frozen=True, eq=False, repr=False)
class SuiteSet:
    """A table with one or more ways in which people have clustered it.

    Attributes
    ----------
    name : str
        Its collection and its name in it, as in "wut-x1".
    data : float array, shape (n, d)
        The rows, in their own units.
    references : tuple of int arrays, shape (n,)
        Labellings, each numbered from 1; 0 marks rows that are noise.
    """

    name: str
    data: FloatArray
    references: tuple[IntArray, ...]

    @property
    def collection(self) -> str:
        """The collection that it is from."""
        return self.name.partition("-")[0]

    def __repr__(self) -> str:
        """Return the name, the shape and the number of labellings."""
        n, d = self.data.shape
        return f"<SuiteSet {self.name!r}: {n:,} rows, {d} columns, {len(self.references)} labelled>"


def suite_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder with the files of the suite.

    Parameters
    ----------
    folder : path, optional
        Where to look: that folder itself, a folder ``suite`` in it, or one beside it. By default
        the data folder, which is chosen by :func:`~sticktree.datasets.set_data_folder` or else by
        the environment variable ``STICKTREE_DATA``.

    Raises
    ------
    MissingDataError
        If no such folder has a file of the suite.
    """
    place = data_folder() if folder is None else Path(folder).expanduser()
    if place is not None:
        for one in (place, place / FOLDER, place.parent / FOLDER):
            if any(_files(one)):
                return one
    where = "no data folder is chosen" if place is None else f"{place} has none, nor {FOLDER} by it"
    raise MissingDataError(
        f"the files of the clustering suite, such as wut-x1.csv, are not on this machine: {where}; "
        f"set {DATA_VARIABLE} to a folder that has them, or a folder {FOLDER} with them",
        hint=f"set {DATA_VARIABLE} to a folder with the clustering suite",
    )


def load_suite(
    names: Iterable[str] | None = None, *, folder: str | os.PathLike[str] | None = None
) -> tuple[SuiteSet, ...]:
    r"""Return sets with reference labellings, to compare clusterings by.

    Parameters
    ----------
    names : iterable of str, optional
        Which; all that are there by default.
    folder : path, optional
        Where to look, see :func:`suite_folder`; the data folder by default.

    Returns
    -------
    tuple of SuiteSet
        In the order of ``names``, or by name.

    Notes
    -----
    The sets are those of M. Gagolewski, A framework for benchmarking clustering algorithms,
    SoftwareX 20, 2022. Rows that a reference marks as noise are left out when a clustering is
    scored by it, and the best score over the references counts.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sticktree import datasets
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "wut-few.csv").write_text("x0,x1,label0\n0,1,1\n0,2,1\n9,9,2\n5,5,0\n")
    >>> datasets.load_suite(folder=folder)
    (<SuiteSet 'wut-few': 4 rows, 2 columns, 1 labelled>,)
    """
    files = {path.stem: path for path in _files(suite_folder(folder))}
    chosen = list(files) if names is None else list(names)
    for name in chosen:
        if name not in files:
            raise ParameterError("names", name, f"any of {', '.join(files)}")
    return tuple(_read(files[name]) for name in chosen)


def suite_names(folder: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """Return the names of the sets that are there."""
    return tuple(path.stem for path in _files(suite_folder(folder)))


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        for path in sorted(folder.glob("*-*.csv")):
            if path.stem.partition("-")[0] in COLLECTIONS:
                yield path


def _read(path: Path) -> SuiteSet:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        header, *body = [line for line in csv.reader(stream) if line] or [[]]
    d = sum(name.startswith("x") for name in header)
    expected = [f"x{k}" for k in range(d)] + [f"label{k}" for k in range(len(header) - d)]
    if header != expected or not 0 < d < len(header):
        raise ValueError(
            f"{path} must have the header x0,x1,…,label0,…, got {','.join(header) or 'nothing'}"
        )
    try:
        data = np.array([line[:d] for line in body], dtype=np.float64)
        labels = np.array([line[d:] for line in body], dtype=np.int32)
    except ValueError as error:
        raise ValueError(
            f"{path} must have {d} numbers and {len(header) - d} labels in every row: {error}"
        ) from None
    if not len(body) or labels.shape[1] != len(header) - d or labels.min() < NOISE:
        raise ValueError(f"{path} must have rows with labels numbered from 1, or 0 for noise")
    return SuiteSet(path.stem, data, tuple(labels.T.copy()))
