"""What the columns of a table hold, and what they may be other than what their type says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.data.frames import Raw, is_empty
from sticktree.engine.own.kinds.categorical import FEW
from sticktree.engine.own.kinds.kind import is_missing

MANY_ROWS = 10  # from which on 1, 2, 3, … are numbers of rows
CODES = 10  # values of a column of whole numbers that may be codes
FEW_CODES = 4  # of one that begins with 0: of more, it rather counts something
SKEWED = 1.0  # skewness from which on logarithms are worth a thought
CLASSES = re.compile(
    r"(label|class|species|target|cluster|group|type|diagnosis|phenotype|subtype|y)e?s?_?\d*", re.I
)
"""Names of columns that may hold classes known from elsewhere."""
SHOWN = 34  # characters of a name


@dataclass(frozen=True, eq=False)
class Content:
    """What a column holds, and whatever is wrong with it.

    Attributes
    ----------
    name : object
        Its name.
    type : {"real", "integer", "bool", "text", "dates", "nothing"}
        What its cells are.
    present : array or list
        Those that are not missing: numbers as floats, others as they are.
    n_rows : int
        All of its cells.
    notes : tuple of str
        What is unusual about how they are written.
    problem : str or None
        Why it cannot be read.
    remedies : tuple of (str, str)
        What would mend that.
    """

    name: Any
    type: str
    present: Any
    n_rows: int
    notes: tuple[str, ...] = ()
    problem: str | None = None
    remedies: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, raw: Raw) -> Content:
        """Return what a column of a data frame holds."""
        if is_empty(raw):
            return cls(raw.name, "nothing", [], len(raw))
        values = raw.floats()
        if values is not None:
            return cls(raw.name, raw.type, values[~np.isnan(values)], len(raw))
        present = [value for value in raw.objects() if not is_missing(value)]
        if raw.type in ("real", "integer"):
            return cls(raw.name, raw.type, np.array(present, dtype=np.float64), len(raw))
        return cls(raw.name, raw.type, present, len(raw))

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return self.type in ("real", "integer")

    @cached_property
    def distinct(self) -> list[Any]:
        """The different values, in their order."""
        if self.is_number:
            return list(np.unique(self.present).tolist())
        return list(dict.fromkeys(map(str, self.present)))

    @property
    def is_whole(self) -> bool:
        """Whether all its numbers are whole."""
        return self.is_number and bool(np.all(np.mod(self.present, 1.0) == 0.0))

    @property
    def numbers_rows(self) -> bool:
        """Whether it counts the rows."""
        if not self.is_whole or len(self.present) < max(self.n_rows, MANY_ROWS):
            return False
        return bool(np.all(np.diff(self.present) == 1.0)) and self.present[0] in (0.0, 1.0)

    def words(self) -> str:
        """Return what it holds."""
        if self.type == "nothing":
            return "nothing"
        missing = self.n_rows - len(self.present)
        gaps = f", {missing:,} missing" if missing else ""
        return f"{self._held()}{gaps}"

    def _held(self) -> str:
        if len(self.distinct) == 1:
            return f"{_cell(self.distinct[0])} only"
        if self.is_number:
            low, high = float(np.min(self.present)), float(np.max(self.present))
            what = "whole numbers" if self.is_whole else "numbers"
            return f"{what}, {low:.6g} to {high:.6g}"
        if self.type == "bool":
            return "true or false"
        if self.type == "dates":
            return f"dates, such as {self.distinct[0].removesuffix(' 00:00:00')}"
        if len(self.distinct) == len(self.present) > FEW:
            return f"another text in every row, such as {_cell(self.distinct[0])}"
        shown = ", ".join(_cell(value, 12) for value in self.distinct[:2])
        return f"{len(self.distinct):,} texts: {shown}" + ", …" * (len(self.distinct) > 2)


@dataclass(frozen=True)
class Suggestion:
    """What a column may be instead: kinds to compare, and the question in words."""

    question: str
    kinds: tuple[str, ...]
    label: bool = False

    def words(self, name: Any) -> str:
        """Return the question with what to write."""
        options = ["label"] * self.label + list(self.kinds[:1])
        return f"{self.question} " + " or ".join(f"{name}={option}" for option in options)


def short(name: str) -> str:
    """Return a name on one line, and not too long."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"


def _cell(value: Any, longest: int = 24) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(short(str(value))[:longest])


def suggested(content: Content) -> Suggestion | None:
    """Return what a column of numbers may be other than gaussian."""
    x: FloatArray = content.present
    n_distinct = len(content.distinct)
    if content.is_whole and n_distinct == 2 and set(content.distinct) == {0.0, 1.0}:
        return Suggestion("yes or no?", ("bernoulli",))
    low, high = float(x.min()), float(x.max())
    named = CLASSES.fullmatch(str(content.name)) is not None
    few = high - low + 1 == n_distinct <= CODES and x.size >= 5 * n_distinct
    if content.is_whole and few and (low != 0.0 or n_distinct <= FEW_CODES):
        return Suggestion("classes or codes?", ("categorical",), label=True)
    if named and content.is_whole:
        return Suggestion("known classes?", ("categorical",), label=True)
    small = max(5.0, min(0.1 * float(x.mean()), 100.0))
    if content.is_whole and 0 <= low <= small and n_distinct > 2:
        counts = ("poisson", "negative_binomial")
        return Suggestion("counts?", counts if x.var() <= 2 * x.mean() else counts[::-1])
    if low > 0 and _skewness(x) > SKEWED and abs(_skewness(np.log(x))) < _skewness(x) / 2:
        return Suggestion("skewed?", ("lognormal",))
    return None


def _skewness(x: FloatArray) -> float:
    spread = float(x.std())
    return float(np.mean((x - x.mean()) ** 3)) / spread**3 if spread > 0 else 0.0
