"""How numbers are written in a text: decimal points or commas, thousands apart, percent signs.

A column is read by what its own cells show. ``1,5`` has a decimal comma and ``1,234,567`` thousands
apart; ``1,234`` alone may be either, and takes after the other columns of its file. Where those
show nothing, it is not guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray

SIGNS = "%‰$€£¥°"
"""What may stand before or behind all numbers of a column."""
SPACES = " \u00a0\u2009\u202f"  # those that are put between thousands
THOUSANDS = (",", ".", "'", "’", *SPACES)
MINUS = "−"

_EXPONENT = r"(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(rf"[+-]?(?:\d+\.?\d*|\.\d+){_EXPONENT}")
_COMMA = re.compile(rf"[+-]?(?:\d+,\d*|,\d+){_EXPONENT}")
_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:([,.'’ \u00a0\u2009\u202f])\d{3})(?:\1\d{3})*")
_GROUPS_AND_REST = re.compile(
    r"[+-]?[1-9]\d{0,2}(?:([,.'’ \u00a0\u2009\u202f])\d{3})(?:\1\d{3})*([.,])\d+"
)

Cells = Sequence[str] | npt.NDArray[Any]
Shown = Literal["whole", "point", "comma", "either", "grouped", "no"]


@dataclass(frozen=True)
class Numerals:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : str
        What separates whole numbers from fractions.
    thousands : str
        What stands between thousands; nothing if they are not kept apart.
    sign : str
        What stands before or behind every number, such as %.
    """

    decimal: str = "."
    thousands: str = ""
    sign: str = ""

    def values(self, cells: Cells) -> FloatArray | None:
        """Return cells as numbers, or None if one is not written like this."""
        if self == PLAIN:
            try:
                found = np.asarray(cells, dtype=object).astype(np.float64)
            except ValueError:
                return None
            # 1_000 is a number for Python alone.
            return None if any("_" in cell for cell in cells) else found
        values = [self.value(cell) for cell in cells]
        if None in values:
            return None
        return np.array(values, dtype=np.float64)

    def value(self, cell: str) -> float | None:
        """Return a cell as a number, or None if it is not written like this.

        Examples
        --------
        >>> from sticktree.data.sources.numerals import Numerals
        >>> Numerals(",", ".", "%").value("1.234,5 %"), Numerals().value("1,5")
        (1234.5, None)
        """
        bare = without_sign(cell)[0] if self.sign else cell.strip()
        bare = bare.replace(MINUS, "-")
        if self.thousands and self.thousands in bare:
            whole, mark, rest = bare.partition(self.decimal)
            if not _GROUPS.fullmatch(whole) or self.thousands in rest:
                return None
            bare = whole.replace(self.thousands, "") + mark + rest
        if self.decimal != ".":
            if "." in bare:
                return None
            bare = bare.replace(self.decimal, ".")
        return float(bare) if is_number(bare) else None

    def typed(self, cells: Cells) -> npt.NDArray[np.float64 | np.int64] | None:
        """Return cells as numbers, as integers if all are written as such, or None."""
        values = self.values(cells)
        if values is None:
            return None
        fraction = re.compile(f"[{re.escape(self.decimal)}eEnNiI]")  # or an exponent, inf, nan
        if not any(map(fraction.search, cells)) and (np.abs(values) < 2**53).all():
            return values.astype(np.int64)
        return values

    def words(self) -> list[str]:
        """Return what is unusual about it."""
        found = []
        if self.decimal == ",":
            found.append("decimal commas")
        elif self.decimal != ".":
            found.append(f"decimal {self.decimal!r}")
        if self.thousands:
            mark = "spaces" if self.thousands in SPACES else repr(self.thousands)
            found.append(f"{mark} between thousands")
        if self.sign:
            found.append(f"{self.sign} taken off")
        return found


PLAIN = Numerals()
"""As Python writes numbers."""


class MixedError(ValueError):
    """Numbers of a column are written in ways that do not go together, or may mean two things.

    Attributes
    ----------
    remedies : tuple of (str, str)
        Options of reading, each of which would settle it.
    """

    def __init__(self, problem: str, *remedies: tuple[str, str]) -> None:
        super().__init__(problem)
        self.remedies = remedies


def is_number(cell: str, decimal: str = ".") -> bool:
    """Tell whether a cell is a number."""
    try:
        float(cell if decimal == "." else cell.replace(decimal, "."))
    except ValueError:
        return False
    return "_" not in cell  # 1_000 is a number for Python alone


def without_sign(cell: str) -> tuple[str, str]:
    """Return a cell without the sign before or behind its number, and the sign.

    Examples
    --------
    >>> from sticktree.data.sources.numerals import without_sign
    >>> without_sign("12,5 %"), without_sign("$3"), without_sign("3")
    (('12,5', '%'), ('3', '$'), ('3', ''))
    """
    bare = cell.strip()
    if bare and bare[-1] in SIGNS:
        return bare[:-1].strip(), bare[-1]
    if bare[-2:] in ("°C", "°F"):
        return bare[:-2].strip(), bare[-2:]
    if bare and bare[0] in SIGNS:
        return bare[1:].strip(), bare[0]
    return bare, ""


def shown_by(cell: str) -> tuple[Shown, str]:
    """Return what a cell shows of how numbers are written, and the mark between its thousands.

    "either" is a number like 1,234 or 1.234, whose mark may be decimal or between thousands.
    """
    bare = cell.replace(MINUS, "-")
    both = _GROUPS_AND_REST.fullmatch(bare)
    if both and both[1] != both[2]:
        return ("point" if both[2] == "." else "comma"), both[1]
    grouped = _GROUPS.fullmatch(bare)
    if grouped:
        mark = grouped[1]
        return ("either", mark) if mark in ",." and bare.count(mark) == 1 else ("grouped", mark)
    if _PLAIN.fullmatch(bare):
        return ("point" if "." in bare else "whole"), ""
    if _COMMA.fullmatch(bare):
        return "comma", ""
    return ("whole", "") if is_number(bare) else ("no", "")  # inf and the like


def looks_numeric(cell: str) -> bool:
    """Tell whether a cell is a number, however it is written."""
    return shown_by(without_sign(cell)[0])[0] != "no"


@dataclass(frozen=True)
class Evidence:
    """What the cells of a column show of how numbers are written in it.

    Attributes
    ----------
    examples : dict of str
        A cell for each thing that was shown: a decimal "point" or "comma", "either".
    groups : frozenset of str
        Marks between thousands.
    signs : frozenset of str
        Signs at its numbers; the empty one is for none.
    n_numbers : int
        How many cells are numbers.
    """

    examples: dict[str, str]
    groups: frozenset[str]
    signs: frozenset[str]
    n_numbers: int

    @classmethod
    def of(cls, cells: Iterable[str]) -> Evidence:
        """Look at all cells that are numbers."""
        examples: dict[str, str] = {}
        groups, signs = set(), set()
        n_numbers = 0
        for cell in cells:
            bare, sign = without_sign(cell)
            shown, mark = shown_by(bare)
            if shown == "no":
                continue
            n_numbers += 1
            signs.add(sign)
            key = f"either {mark}" if shown == "either" else shown
            examples.setdefault(key, cell)
            if mark and shown != "either":
                groups.add(mark)
        return cls(examples, frozenset(groups), frozenset(signs), n_numbers)

    @property
    def decimals(self) -> set[str]:
        """The decimal marks that are certain."""
        found = {mark for name, mark in (("point", "."), ("comma", ",")) if name in self.examples}
        found |= {"," if mark == "." else "." for mark in self.groups & {".", ","}}
        return found

    def numerals(self, of_file: set[str]) -> Numerals:
        """Return how the numbers are written; ``of_file`` has the decimal marks of all columns.

        Raises
        ------
        MixedError
            If cells contradict each other, or if it cannot be told.
        """
        certain = self.decimals
        if len(certain) > 1:
            shown = [self.examples[name] for name in ("point", "comma") if name in self.examples]
            raise MixedError(f"has decimal points and decimal commas, such as {_and(shown)}")
        if len(self.signs) > 1:
            shown = sorted(sign for sign in self.signs if sign)
            raise MixedError(f"has {_and(shown)} at some of its numbers, and not at others")
        (sign,) = self.signs or {""}
        decimal = next(iter(certain), None)
        groups = set(self.groups)
        either = {key[-1] for key in self.examples if key.startswith("either")}
        if decimal is None and either:
            decimal = self._of_either(either, of_file)
        decimal = decimal or "."
        groups |= either - {decimal}
        if len(groups) > 1:
            raise MixedError(f"has several marks between thousands: {_and(sorted(groups))}")
        return Numerals(decimal, next(iter(groups), ""), sign)

    def _of_either(self, either: set[str], of_file: set[str]) -> str:
        """Return the decimal mark where the column itself does not show it."""
        if either == {"."} and "," not in of_file:
            return "."  # as most programs write it
        if len(of_file) == 1:
            return next(iter(of_file))
        cell = self.examples[f"either {min(either)}"]
        mark = min(either)
        raise MixedError(
            f"has numbers such as {cell!r}: is that {cell.replace(mark, '.')} or "
            f"{cell.replace(mark, '')}?",
            ("decimal", mark),
            ("thousands", mark),
        )


def _and(words: Sequence[str]) -> str:
    return " and ".join(repr(word) for word in words)


def written_in(columns: Iterable[Evidence]) -> set[str]:
    """Return the decimal marks that are certain in a file."""
    found: set[str] = set()
    for evidence in columns:
        found |= evidence.decimals
    return found
