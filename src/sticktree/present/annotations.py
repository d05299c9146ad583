"""What is known of rows beside what was fitted: classes, and annotations of any kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray

FEW_NUMBERS = 12  # distinct ones, up to which numbers are read as names of classes


@dataclass(frozen=True, eq=False)
class Classes:
    """Known classes of rows: ``names[code[i]]``, or none where the code is −1."""

    code: npt.NDArray[np.int64]
    names: list[str]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Classes:
        """Give classes of any kind numbers, in their order; None, NaN and blanks are no class."""
        known = [None if is_missing(cell) else cell for cell in values]
        distinct = {cell for cell in known if cell is not None}
        try:
            ordered = sorted(distinct)
        except TypeError:
            ordered = sorted(distinct, key=lambda cell: (str(type(cell)), str(cell)))
        place = {cell: k for k, cell in enumerate(ordered)}
        code = [-1 if cell is None else place[cell] for cell in known]
        return cls(np.array(code, dtype=np.int64), [_name(cell) for cell in ordered])

    def count(self, rows: npt.NDArray[Any]) -> dict[str, int]:
        """Return how many of some rows are of each class, the most frequent first."""
        known = self.code[rows]
        number = np.bincount(known[known >= 0], minlength=len(self.names))
        order = np.argsort(-number, kind="stable")
        return {self.names[k]: int(number[k]) for k in order if number[k]}


@dataclass(frozen=True, eq=False)
class Annotation:
    """Something known of every row that was not fitted: a class, or a number.

    Attributes
    ----------
    name : str
        What it is called.
    classes : Classes or None
        The classes; None if it is a number.
    values : float array or None
        The numbers, NaN where they are not known; None if it is a class.
    """

    name: str
    classes: Classes | None = None
    values: FloatArray | None = None

    @classmethod
    def of(cls, name: str, given: Sequence[Any]) -> Annotation:
        """Read values of any kind: as numbers if they are many distinct ones, else as classes.

        Examples
        --------
        >>> from sticktree.present.annotations import Annotation
        >>> Annotation.of("age", [str(k) for k in range(40)]).values[:3]
        array([0., 1., 2.])
        >>> Annotation.of("grade", [1, 2, 2, None]).classes.names
        ['1', '2']
        """
        numbers = [_number(cell) for cell in given]
        if all(number is not None for number in numbers):
            values = np.array(numbers, dtype=np.float64)
            if np.unique(values[~np.isnan(values)]).size > FEW_NUMBERS:
                return cls(name, values=values)
        return cls(name, classes=Classes.of(given))


def is_missing(cell: Any) -> bool:
    """Return whether a cell says that nothing is known."""
    if isinstance(cell, float | np.floating):
        return bool(np.isnan(cell))
    if isinstance(cell, str):
        return not cell.strip()
    # What pandas and masked arrays have in place of a missing value is known by its type.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType", "MaskedConstant")


def _number(cell: Any) -> float | None:
    """Return a cell as a finite number, NaN if it is missing, None if it is something else."""
    if is_missing(cell):
        return math.nan
    if isinstance(cell, bool | np.bool_):
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _name(cell: Any) -> str:
    """Return a class as text, 3 for 3.0: classes read from a file with gaps often are floats."""
    whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
    return str(int(cell) if whole else cell)
