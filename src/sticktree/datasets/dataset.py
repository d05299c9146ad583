"""A table with what is known about it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sticktree.checks import FloatArray
from sticktree.optional import optional


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Dataset:
    """A table of numbers with its labels, and where it comes from.

    Attributes
    ----------
    name : str
        What :func:`~sticktree.datasets.load` knows it by.
    title : str
        How to write it in a table or a heading.
    data : float array, shape (n, d)
        One row a datum; NaN where a value is missing.
    columns : tuple of str
        The names of the columns.
    labels : tuple of str, or None
        The true class of every row, where there are classes.
    groups : tuple of str, or None
        Coarser classes: every class of ``labels`` lies in one group. Only sets made for trees have
        them.
    rows : tuple of str, or None
        The names of the rows, where they have names.
    annotations : dict of tuples of str
        What else is known of the rows, such as where they were found; empty text where it is not.
    description, citation, terms, source : str
        What it is, what to cite, on which terms it is offered, and where it is published.
    path : Path or None
        The file it was read from; None if it needs no file.

    Examples
    --------
    >>> from sticktree import datasets
    >>> iris = datasets.load("iris")
    >>> iris
    <Dataset 'iris': Iris, 150 rows, 4 columns, 3 classes>
    >>> iris.columns
    ('sepal length (cm)', 'sepal width (cm)', 'petal length (cm)', 'petal width (cm)')
    >>> print(iris.citation)
    R. A. Fisher, "The use of multiple measurements in taxonomic problems", ...
    """

    name: str
    title: str
    data: FloatArray
    columns: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    rows: tuple[str, ...] | None = None
    annotations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    description: str
    citation: str
    terms: str
    source: str
    path: Path | None = None

    def __repr__(self) -> str:
        """Return the name, the title and the shape."""
        n, d = self.data.shape
        parts = [self.title, f"{n:,} rows", f"{d} columns"]
        if self.labels is not None:
            parts.append(f"{len(set(self.labels))} classes")
        if n_missing := int(np.isnan(self.data).sum()):
            parts.append(f"{n_missing} values missing")
        return f"<Dataset {self.name!r}: {', '.join(parts)}>"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the numbers and labels, to tell whether two runs had the same data."""
        return fingerprint(self.data, self.labels)

    def to_frame(self) -> Any:
        """Return a pandas data frame; labels are its last column, names of rows its index.

        Examples
        --------
        >>> from sticktree import datasets
        >>> datasets.load("wine").to_frame().shape
        (178, 14)
        """
        pandas = optional("pandas", extra="frames", asker="to_frame")
        frame = pandas.DataFrame(self.data, columns=list(self.columns))
        if self.rows is not None:
            frame.index = pandas.Index(self.rows)
        if self.labels is not None:
            frame["label"] = list(self.labels)
        return frame


def fingerprint(data: FloatArray, labels: tuple[str, ...] | None) -> str:
    """Return the SHA-256 of a table's shape, its numbers as little-endian doubles, and labels."""
    # Every NaN is written with the same bits, and so are 0 and −0.
    plain = np.where(np.isnan(data), np.nan, data) + 0.0
    digest = hashlib.sha256(repr(data.shape).encode())
    digest.update(np.ascontiguousarray(plain, dtype="<f8").tobytes())
    digest.update("\n".join(labels or ()).encode())
    return digest.hexdigest()


class Contents(NamedTuple):
    """Numbers and names."""

    data: FloatArray
    columns: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    rows: tuple[str, ...] | None = None
