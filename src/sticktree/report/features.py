"""Columns as people read them, and by which of them a set of rows stands out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.report.packing import packed_column
from sticktree.report.rows import Rows

__all__ = ["Features", "number"]

LEAST_SDS = 0.5  # from the overall mean, for a column to be worth a word
LEAST_EXCESS = 0.15  # of a category's share over that in all rows
NAME_LENGTH = 40


@dataclass(frozen=True, eq=False)
class Features:
    """The columns of a table, with the values of its rows.

    Attributes
    ----------
    names : list of str
    declared : tuple of str
        Kinds in the user's words.
    categories : list of list of str
        Those of each column; empty where it has none.
    values : float array, shape (N, D)
    """

    names: list[str]
    declared: tuple[str, ...]
    categories: list[list[str]]
    values: FloatArray

    @classmethod
    def of(cls, estimator: Any, rows: Rows) -> Features:
        """Take the columns of a fitted estimator."""
        columns = estimator.columns_
        positions = columns.container == "array"
        names = [f"column {name}" if positions else str(name) for name in columns.names]
        categories = [[str(value) for value in values] for values in columns.categories]
        return cls(names, tuple(columns.declared), categories, rows.values)

    @cached_property
    def distances(self) -> FloatArray:
        """The values in standard deviations from the mean; 0 where a column is constant."""
        seen = ~np.isnan(self.values)
        size = np.where(seen, np.abs(self.values), 0.0).max(axis=0, initial=0.0)
        size[size == 0] = 1.0
        part = self.values / size  # so that squares of very large values stay finite
        number = np.maximum(seen.sum(axis=0), 1)
        part = part - np.where(seen, part, 0.0).sum(axis=0) / number
        spread = np.sqrt((np.where(seen, part, 0.0) ** 2).sum(axis=0) / number)
        flat = spread <= 1e-12
        spread[flat] = 1.0
        part[:, flat] = np.where(seen[:, flat], 0.0, np.nan)
        return np.asarray(part / spread)

    def some(self, which: npt.NDArray[np.int64]) -> Features:
        """Return the columns with some of the rows."""
        return replace(self, values=self.values[which])

    def standing_out(self, members: npt.NDArray[Any], most: int = 3) -> list[str]:
        """Say by which columns a set of rows differs from all rows, most unusual first.

        ``members`` are the numbers of these rows, or true where they are.
        """
        found: list[tuple[float, str]] = []
        for d, name in enumerate(self.names):
            column = self.values[members, d]
            column = column[~np.isnan(column)]
            if not column.size:
                continue
            short = name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
            if self.categories[d]:
                found.append(self._category(d, short, column))
            else:
                away = self.distances[members, d]
                sds = float(away[~np.isnan(away)].mean())
                if abs(sds) >= LEAST_SDS:
                    size = np.abs(column).max() or 1.0
                    mean = float((column / size).mean() * size)
                    found.append((abs(sds), f"{short} {number(mean)} ({_signed(sds)} sd)"))
        found = [line for line in found if line[0] > 0]
        found.sort(key=lambda line: -line[0])
        return [text for _, text in found[:most]]

    @cached_property
    def _overall(self) -> dict[int, FloatArray]:
        """The share of each category in all rows, of the columns that have categories."""
        shares = {}
        for d, categories in enumerate(self.categories):
            if categories:
                every = self.values[:, d]
                every = every[~np.isnan(every)].astype(np.int64)
                shares[d] = np.bincount(every, minlength=len(categories)) / max(every.size, 1)
        return shares

    def _category(self, d: int, name: str, column: FloatArray) -> tuple[float, str]:
        """Return how much a category is more frequent than in all rows, and say so."""
        overall = self._overall[d]
        size = overall.size
        here = np.bincount(column.astype(np.int64), minlength=size) / column.size
        c = int(np.argmax(here - overall))
        excess = float(here[c] - overall[c])
        if excess < LEAST_EXCESS:
            return 0.0, ""
        spread = float(np.sqrt(overall[c] * (1 - overall[c])))
        text = f"{name} {self.categories[d][c]} ({here[c]:.0%}, of all {overall[c]:.0%})"
        return excess / spread, text

    def packed(self, order: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return the columns as text, their rows in the given order."""
        return [
            {
                "name": name,
                "kind": kind,
                "categories": categories or None,
                **packed_column(self.values[order, d]),
            }
            for d, (name, kind, categories) in enumerate(
                zip(self.names, self.declared, self.categories, strict=True)
            )
        ]


def _signed(sds: float) -> str:
    return f"{sds:+.1f}".replace("-", "−")


def number(value: float) -> str:
    """Write a number in four digits.

    Examples
    --------
    >>> from sticktree.report.features import number
    >>> number(13.640012), number(120000.0), number(3e-12)
    ('13.64', '120000', '3e-12')
    """
    rounded = float(f"{value:.4g}")
    if rounded == round(rounded) and abs(rounded) < 1e7:
        return str(int(rounded)).replace("-", "−")
    text = f"{rounded:.4g}"
    return "−" + text[1:] if rounded < 0 else text
