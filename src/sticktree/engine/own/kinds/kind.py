"""What a kind of column is made of: its likelihood in the engine, and how its cells are read.

A kind is one file here: its kernels, its predictive means and draws, its encoding. `Likelihood` is
the engine's part, and several kinds may share one: a lognormal column is a Gaussian one of
logarithms. The registry, `sticktree.engine.own.kinds`, lists them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray

TINY = 1e-300  # a pseudo-count is never quite zero


class Here(NamedTuple):
    """Numbers of one column at one leaf, as its kernels take them."""

    at: int  # its first coordinate of φ
    width: int  # the number of its coordinates
    kappa: float
    a: float
    b: float
    floor: float
    n: float  # COUNT of the leaf: entries that are there
    squares: float  # SQUARES of the leaf: their sum of squares, or of their trials


class Kernels(NamedTuple):
    """What the moves ask of a column.

    A leaf's parameters are integrated out given φ of its parent, ``node``. What depends on single
    data alone, such as y!, is left out of the evidence and summed up over all data by
    ``constants``. Kernels that are called often get `Here` and ``state.coordinates``, of which a
    leaf has TOTAL, and its parent PHI and PRIOR: to pass the whole state on takes longer than most
    of them do.
    """

    expect: Any  # (here, coordinates, node): turn φ of a node into what its leaves expect
    # (coordinates, entries, at, d, leaf, y, trials, sign): add an entry to the sums of a leaf
    add: Any
    evidence: Any  # (here, coordinates, leaf, node): log marginal likelihood of a leaf's entries
    # (here, coordinates, leaf, node, y, trials, inside): log density of one more entry, or where
    # ``inside`` is 1 and not 0, of one that is in the leaf, given the others: n and squares are
    # theirs, TOTAL is not. None for Gaussian columns, whose predictive is kept ready for each leaf;
    # see leaves.py.
    predict: Any
    constants: Any  # (state, d): what all data add to the log likelihood wherever they sit
    approximate: Any  # (state, d, leaf, p): centre and precision of φ, for proposals only


class LeafColumn(NamedTuple):
    """What is known of one column at K leaves, for means and draws of its entries."""

    prior: FloatArray  # (K, width) what the parents of the leaves give them; PRIOR of the state
    total: FloatArray  # (K, width) TOTAL of the state
    entries: FloatArray  # (8, K) COUNT, SQUARES and so on
    hyper: FloatArray  # (3,) κ, a and b
    floor: float


@dataclass(frozen=True, eq=False)
class Likelihood:
    """A kind of column as the engine knows it.

    Attributes
    ----------
    name : str
        Its name in a `Model`, and in files.
    medians, deviations : (float, float, float)
        Medians, and standard deviations on the log scale, of κ, a and b; a deviation of 0 fixes
        one that has no use.
    kernels : Kernels or None
        None is a column that is data and never modelled, such as the trials of a binomial one.
    mean : callable or None
        ``mean(leaves, shares, trials)`` returns the mean under mixtures of the leaves; ``shares``
        has a row of weights for each mixture, ``trials`` a number for each if the kind has them.
    sample : callable or None
        ``sample(leaves, trials, rng)`` draws an entry from the predictive of each leaf.
    width : int or None
        The number of coordinates of φ; None is one for each category.
    is_continuous : bool
        Whether values are standardised and may share the noise of all leaves; the engine for many
        rows takes such columns alone.
    has_codes : bool
        Whether values are codes, of which a mean is one that is the likeliest.
    """

    name: str
    medians: tuple[float, float, float] = (1.0, 1.0, 1.0)
    deviations: tuple[float, float, float] = (0.0, 0.0, 0.0)
    kernels: Kernels | None = None
    mean: Callable[[LeafColumn, FloatArray, FloatArray], FloatArray] | None = None
    sample: Callable[[LeafColumn, FloatArray, np.random.Generator], FloatArray] | None = None
    width: int | None = 1
    is_continuous: bool = False
    has_codes: bool = False


class Cells(Protocol):
    """A column as it came."""

    @property
    def name(self) -> Any:
        """Its name, or its position."""

    @property
    def label(self) -> str:
        """What messages call it."""

    @property
    def type(self) -> str:
        """What its type shows: real, integer, bool, text or dates."""

    @property
    def levels(self) -> tuple[Any, ...] | None:
        """Values that its type lists."""

    def __len__(self) -> int:
        """Return the number of cells."""

    def floats(self) -> FloatArray | None:
        """Return the values with NaN for what is missing, if their type is a number."""

    def objects(self) -> list[Any]:
        """Return the values as plain Python objects."""


class Pair(NamedTuple):
    """How a kind takes two columns: its own values, and numbers that are data given with them."""

    kind: str  # that of the second column
    split: Callable[[Cells], tuple[FloatArray, FloatArray]]  # cells that hold both
    join: Callable[[FloatArray, FloatArray], npt.NDArray[Any]]  # such cells from both
    settle: Callable[[Cells, FloatArray, FloatArray], FloatArray]  # values that go with the second


@dataclass(frozen=True, eq=False)
class ColumnKind:
    """A kind of column as the user knows it.

    Attributes
    ----------
    name : str
        The user's word for it.
    likelihood : Likelihood
        What the engine makes of its encoded values.
    encode : callable
        ``encode(cells, categories)`` returns the values as floats, with NaN for what is missing.
    decode : callable
        ``decode(values, categories)`` turns encoded values back into the user's.
    learn : callable
        ``learn(cells)`` returns the categories; empty for a kind without.
    describe : callable
        ``describe(name, categories)`` says in a few words what a column is.
    in_words : bool
        Whether cells of a text file stay words, and are no numbers.
    is_log : bool
        Whether encoded values are logarithms.
    inferred_from : tuple of str
        Types of columns that are of this kind unless another is declared.
    pair : Pair or None
        How it goes with a second column, if it needs one.
    is_declared : bool
        Whether users may give it.
    """

    name: str
    likelihood: Likelihood
    encode: Callable[[Cells, tuple[Any, ...]], FloatArray]
    decode: Callable[[FloatArray, tuple[Any, ...]], npt.NDArray[Any]]
    learn: Callable[[Cells], tuple[Any, ...]] = lambda cells: ()
    describe: Callable[[Any, tuple[Any, ...]], str] = lambda name, categories: str(name)
    in_words: bool = False
    is_log: bool = False
    inferred_from: tuple[str, ...] = ()
    pair: Pair | None = None
    is_declared: bool = True


# ---- cells as numbers; errors name the row -------------------------------------------------------


class ColumnError(ValueError):
    """A column that cannot be fitted; it may hold the names of the rows."""

    def __init__(self, problem: str, *, names_rows: bool = False) -> None:
        super().__init__(problem)
        self.problem, self.names_rows = problem, names_rows

    def __str__(self) -> str:
        """Return what is wrong, and what to do about it."""
        return f"{self.problem}; remove the column"


def is_missing(value: Any) -> bool:
    """Tell whether a cell is empty: None, NaN, NaT, pandas' NA, or nothing but spaces."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, str):
        return not value.strip()
    try:
        return bool(value != value)  # NaN and NaT are not even equal to themselves
    except (TypeError, ValueError):
        return False


def numbers(cells: Cells, categories: tuple[Any, ...] = ()) -> FloatArray:
    """Return cells as finite numbers, which have no categories; NaN is what is missing."""
    values = cells.floats()
    if values is None:
        values = _converted(cells)
    refuse(cells, values, np.isinf(values), "is infinite; leave it empty if it is missing")
    return values


def counts(cells: Cells, kind: str) -> FloatArray:
    """Return cells as whole numbers of at least 0."""
    values = numbers(cells)
    wrong = (values < 0) | (values != np.floor(values)) & ~np.isnan(values)
    needs = f"is not a count: a {kind} column needs the whole numbers 0, 1, 2, …"
    refuse(cells, values, wrong, needs)
    return values


def whole(values: FloatArray) -> npt.NDArray[Any]:
    """Return counts as integers, unless one is missing or a mean between two."""
    return values.astype(np.int64) if (values == np.floor(values)).all() else values.copy()


def refuse(cells: Cells, values: FloatArray, wrong: npt.NDArray[np.bool], words: str) -> None:
    """Raise an error for the first of the rows that are wrong, if there is one."""
    rows = np.flatnonzero(wrong)
    if rows.size:
        more = f" (and {rows.size - 1} more rows)" if rows.size > 1 else ""
        raise ValueError(f"{cells.label}, row {rows[0]}: {values[rows[0]]:g} {words}{more}")


def _converted(cells: Cells) -> FloatArray:
    if cells.type == "dates":
        raise ValueError(f"{cells.label} holds dates or times; turn them into numbers")
    result = np.full(len(cells), np.nan)
    for row, value in enumerate(cells.objects()):
        if is_missing(value):
            continue
        if not isinstance(value, Real | Decimal | str):
            raise TypeError(
                f"{cells.label}, row {row}: {value!r} is not a number; the argument must be a "
                "string or a number"
            )
        try:
            result[row] = float(value)
        except (ValueError, OverflowError):
            raise ValueError(
                f"{cells.label}, row {row}: {value!r} is not a number (could not convert string to "
                f"float); declare the column as categorical, columns={{{cells.name!r}: "
                '"categorical"}, or leave the cell empty if it is missing'
            ) from None
    return result
