"""A table with what is known about it."""

from __future__ import annotations

from dataclasses import dataclass

from sticktree.checks import FloatArray

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False, kw_only=True)
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
    labels : tuple of str, or None
        The true class of every row, where there are classes.
    columns : tuple of str
        The names of the columns.
    rows : tuple of str, or None
        The names of the rows, where they have names.
    description, citation, terms, source : str
        What it is, what to cite, on which terms it is offered, and where it is published.
    """

    name: str
    title: str
    data: FloatArray
    columns: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    rows: tuple[str, ...] | None = None
    description: str
    citation: str
    terms: str
    source: str

    def __repr__(self) -> str:
        """Return the name and the shape."""
        n, d = self.data.shape
        return f"<Dataset {self.name!r}: {n} rows, {d} columns>"
