"""The columns of a table: how they were read, and how new rows are read in the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.data.cells import encoded, find_categories, is_empty
from sticktree.data.containers import Container, Raw, build, read
from sticktree.data.kinds import (
    ENGINE_KINDS,
    KINDS,
    EngineKind,
    Kind,
    declared_kinds,
    inferred_kind,
)

__all__ = ["Columns", "Table", "read_table"]

NAMES_SHOWN = 6


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are, and all that is needed to read new rows like them.

    Attributes
    ----------
    names : tuple
        Names of the columns of a data frame; positions for an array.
    declared : tuple of str
        The kind of each column in the user's words, whether given or inferred.
    categories : tuple of tuples
        The values of each categorical or bernoulli column, sorted; empty for other columns.
    """

    names: tuple[Any, ...]
    declared: tuple[Kind, ...]
    categories: tuple[tuple[Any, ...], ...]
    container: Container
    dtypes: tuple[Any, ...]
    whole: tuple[bool, ...]  # integers that were inferred to be gaussian

    @property
    def kinds(self) -> tuple[EngineKind, ...]:
        """The kind of each column in the engine's words."""
        return tuple(ENGINE_KINDS[kind] for kind in self.declared)

    @property
    def n_categories(self) -> tuple[int, ...]:
        """The number of categories of each column; 0 where it has none."""
        return tuple(map(len, self.categories))

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.names)

    def __str__(self) -> str:
        """Say what the columns are."""
        return self.describe()

    # ---- rows to numbers ------------------------------------------------------------------------

    def encode(self, X: Any) -> FloatArray:  # noqa: N803
        """Return rows as a matrix of floats: categories as their numbers, NaN where missing."""
        raws, container = read(X)
        self._check_columns(raws, container)
        matrix = np.empty((len(raws[0]), len(raws)))
        for k, (raw, kind, categories) in enumerate(
            zip(raws, self.declared, self.categories, strict=True)
        ):
            matrix[:, k] = encoded(raw, kind, categories)
        return matrix

    def log_jacobian(self, matrix: FloatArray) -> FloatArray:
        """Return what to add to log densities of encoded rows to have them in the user's units.

        It is −log y for each lognormal column; missing entries add nothing.
        """
        logs = matrix[:, [kind == "lognormal" for kind in self.declared]]
        return np.asarray(0.0 - np.nansum(logs, axis=1))

    def _check_columns(self, raws: list[Raw], container: Container) -> None:
        # The words are scikit-learn's, which users know.
        if len(raws) != len(self):
            raise ValueError(
                f"X has {len(raws)} features, but the mixture is expecting {len(self)} features as "
                "input"
            )
        names = tuple(raw.name for raw in raws)
        if "array" in (container, self.container) or names == self.names:
            return
        text = "The feature names should match those that were passed during fit."
        unseen = [name for name in names if name not in self.names]
        absent = [name for name in self.names if name not in names]
        if unseen or absent:
            text += f" Unseen at fit time: {_some(unseen)}. Seen at fit time, yet now missing: "
            text += f"{_some(absent)}."
        else:
            text += " Feature names must be in the same order as they were in fit."
        raise ValueError(text)

    # ---- numbers to rows ------------------------------------------------------------------------

    def decode(self, matrix: FloatArray, index: Any = None) -> Any:
        """Return an encoded matrix as rows in the container and the units that the table had.

        ``index`` is for the rows of a pandas DataFrame.
        """
        if matrix.ndim != 2 or matrix.shape[1] != len(self):
            raise ValueError(
                f"matrix must have {len(self)} columns, got an array of shape {matrix.shape}"
            )
        columns = [self._decoded(k, matrix[:, k]) for k in range(len(self))]
        dtypes = [
            dtype if categories else None
            for dtype, categories in zip(self.dtypes, self.categories, strict=True)
        ]
        return build(columns, self.names, dtypes, self.container, index)

    def _decoded(self, k: int, column: FloatArray) -> npt.NDArray[Any]:
        kind, missing = self.declared[k], np.isnan(column)
        if kind == "lognormal":
            with np.errstate(over="ignore"):
                return np.exp(column)
        if ENGINE_KINDS[kind] == "gaussian":
            return column.copy()
        if not self.categories[k]:
            return column.copy() if missing.any() else column.astype(np.int64)
        values = np.empty(len(self.categories[k]) + 1, dtype=object)
        values[:-1], values[-1] = self.categories[k], None
        cells = values[np.where(missing, len(values) - 1, column).astype(np.int64)]
        numeric = all(isinstance(value, int | float) for value in self.categories[k])
        return cells.astype(np.float64) if numeric and self.container == "array" else cells

    # ---- words ----------------------------------------------------------------------------------

    def describe(self, *, advice: bool = True) -> str:
        """Return in words what the columns are, and how to make whole numbers something else."""
        text = f"columns: {self.listed()}"
        whole = [name for name, flag in zip(self.names, self.whole, strict=True) if flag]
        if whole and advice:
            shown = [str(name) for name in whole[:NAMES_SHOWN]] + ["…"] * (len(whole) > NAMES_SHOWN)
            text += (
                f"\nwhole numbers are gaussian unless declared otherwise: {', '.join(shown)} "
                f'(for counts or codes: columns={{{whole[0]!r}: "poisson"}} or "categorical")'
            )
        return text

    def listed(self) -> str:
        """Return the columns of each kind."""
        parts = []
        for kind in KINDS:
            of_kind = [k for k in range(len(self)) if self.declared[k] == kind]
            if of_kind:
                shown = [self._described(k) for k in of_kind[:NAMES_SHOWN]]
                more = ["…"] if len(of_kind) > NAMES_SHOWN else []
                parts.append(f"{len(of_kind)} {kind} ({', '.join(shown + more)})")
        return ", ".join(parts)

    def _described(self, k: int) -> str:
        if self.declared[k] == "bernoulli":
            return f"{self.names[k]}: {self.categories[k][0]} or {self.categories[k][1]}"
        if self.categories[k]:
            return f"{self.names[k]}: {len(self.categories[k])} categories"
        return str(self.names[k])


@dataclass(frozen=True, eq=False)
class Table:
    """A table as the engine takes it.

    Attributes
    ----------
    values : float array, shape (n, D)
        The rows as numbers; NaN is what is missing.
    columns : Columns
        Names, kinds and categories of the columns.
    names : tuple of str or None
        Names of the rows.
    """

    values: FloatArray
    columns: Columns
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)


def read_table(X: Any, columns: Any = None, table: Columns | None = None) -> Table:  # noqa: N803
    """Read a table.

    Parameters
    ----------
    X : array, list of rows, or DataFrame of pandas or polars
        The rows. None, NaN, NaT, pandas' NA and empty cells are missing.
    columns : dict, sequence or None, default=None
        Kinds of columns, one of "gaussian", "lognormal", "bernoulli", "categorical", "poisson" and
        "negative_binomial": a dict from names or positions, or a sequence with one for each column.
        For the rest, the columns of an array are gaussian, and those of a data frame what their
        type says: numbers gaussian (whole numbers too), truth values bernoulli, text categorical.
    table : Columns or None, default=None
        The columns of a table that was read before; ``X`` is read as that one was.
    """
    if table is not None:
        return Table(table.encode(X), table)
    raws, container = read(X)
    names = tuple(raw.name for raw in raws)
    given = declared_kinds(columns, names, named=container != "array")
    empty = [raw.name for raw in raws if is_empty(raw)]
    if empty:
        raise ValueError(
            "Input X must have a value in every column, got only missing ones in "
            f"column{'s' * (len(empty) > 1)} {_some(empty)}; remove such columns"
        )
    kinds = [
        inferred_kind(raw) if kind is None else kind for raw, kind in zip(raws, given, strict=True)
    ]
    categories = tuple(find_categories(*pair) for pair in zip(raws, kinds, strict=True))
    found = Columns(
        names,
        tuple(kinds),
        categories,
        container,
        tuple(raw.dtype for raw in raws),
        tuple(
            raw.type == "integer" and kind is None for raw, kind in zip(raws, given, strict=True)
        ),
    )
    return Table(found.encode(X), found)


def _some(names: list[Any]) -> str:
    shown = [repr(name) for name in names[:5]] + ["…"] * (len(names) > 5)
    return ", ".join(shown) or "none"
