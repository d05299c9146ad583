"""What tables come in: arrays, lists, and the data frames of pandas and polars.

To read a table, neither pandas nor polars is imported: whoever has a data frame has its package.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.own.kinds.kind import is_missing

Container = Literal["array", "pandas", "polars"]
Type = Literal["real", "integer", "bool", "text", "dates"]


@dataclass(frozen=True, eq=False)
class Raw:
    """A column as it came."""

    name: Any
    label: str
    type: Type
    dtype: Any
    values: Any  # a numpy array, or a series of pandas or polars
    levels: tuple[Any, ...] | None = None  # values that the type itself lists

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.values)

    def floats(self) -> FloatArray | None:
        """Return the values as floats with NaN for what is missing, if their type is a number."""
        if self.type not in ("real", "integer", "bool") or str(self.dtype) == "object":
            return None
        if isinstance(self.values, np.ndarray):
            return self.values.astype(np.float64)
        if hasattr(self.values, "cast"):
            polars = sys.modules["polars"]
            return np.array(self.values.cast(polars.Float64).to_numpy(), dtype=np.float64)
        return np.array(self.values.to_numpy(dtype=np.float64, na_value=np.nan))

    def objects(self) -> list[Any]:
        """Return the values as plain Python objects."""
        in_array = isinstance(self.values, np.ndarray)
        values = self.values.tolist() if in_array else self.values.to_list()
        return [value.item() if isinstance(value, np.generic) else value for value in values]


def read(table: Any) -> tuple[list[Raw], Container]:
    """Return the columns of a table and what it is."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(table, pandas.DataFrame):
        names = list(table.columns)
        _check_size(table.shape)
        return [_of_pandas(name, table.iloc[:, k], pandas) for k, name in enumerate(names)], (
            "pandas"
        )
    if polars is not None and isinstance(table, polars.LazyFrame):
        raise TypeError("X is a polars LazyFrame; collect() it first")
    if polars is not None and isinstance(table, polars.DataFrame):
        _check_size(table.shape)
        return [_of_polars(series, polars) for series in table.get_columns()], "polars"
    array = _as_array(table)
    return [_of_array(k, array[:, k]) for k in range(array.shape[1])], "array"


def build(
    columns: Sequence[npt.NDArray[Any]],
    names: Sequence[Any],
    dtypes: Sequence[Any],
    container: Container,
    index: Any = None,
) -> Any:
    """Return columns as the container of the table they were read from.

    ``dtypes`` has the type that a column came with where it should get it back, else None.
    """
    if container == "pandas":
        pandas = import_module("pandas")
        parts = [
            _to_pandas(values, dtype, index, pandas)
            for values, dtype in zip(columns, dtypes, strict=True)
        ]
        frame = pandas.concat(parts, axis=1)
        frame.columns = names
        return frame
    if container == "polars":
        polars = import_module("polars")
        return polars.DataFrame(
            [
                polars.Series(
                    name,
                    values.tolist() if values.dtype == object else values,
                    dtype,
                    nan_to_null=True,
                )
                for name, values, dtype in zip(names, columns, dtypes, strict=True)
            ]
        )
    numeric = all(values.dtype != object for values in columns)
    return np.column_stack(columns).astype(np.float64 if numeric else object)


def is_empty(raw: Raw) -> bool:
    """Tell whether all cells of a column are missing."""
    values = raw.floats()
    if values is None:
        return all(map(is_missing, raw.objects()))
    return bool(np.isnan(values).all())


# ---- each container ------------------------------------------------------------------------------


def _as_array(table: Any) -> npt.NDArray[Any]:
    # The words are scikit-learn's, which users and its checks of estimators know.
    sparse: Any = sys.modules.get("scipy.sparse")  # where it was never imported, no table is sparse
    if sparse is not None and sparse.issparse(table):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required. Use '.toarray()' to convert "
            "to a dense numpy array."
        )
    if isinstance(table, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(table)
        table = np.array(table.data, dtype=object)
        table[hidden] = None
    try:
        array = np.asarray(table)
        if array.dtype.kind not in "fiubc" and not isinstance(table, np.ndarray):
            array = np.array(table, dtype=object)  # else numbers beside text would become text
    except ValueError:
        raise ValueError("X must be a table whose rows all have the same length") from None
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead (dim {array.ndim}): X must have a "
            "row for each datum and a column for each feature. Reshape your data using "
            "array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if it is a "
            "single sample."
        )
    _check_size(array.shape)
    return array


def _check_size(shape: tuple[int, ...]) -> None:
    for size, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required."
            )


def _of_array(k: int, values: npt.NDArray[Any]) -> Raw:
    """Return a column of an array; its cells have no say in what it is, or a typo would be data."""
    kind: Type = "dates" if values.dtype.kind in "mM" else "real"
    if values.dtype.kind in "US":
        values = values.astype(object)
    return Raw(k, f"column {k}", kind, values.dtype, values)


def _of_pandas(name: Any, series: Any, pandas: Any) -> Raw:
    types, dtype = pandas.api.types, series.dtype
    levels = None
    kind: Type
    if isinstance(dtype, pandas.CategoricalDtype):
        kind, levels = "text", tuple(dtype.categories.tolist())
    elif types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        kind = "dates"
    elif types.is_bool_dtype(dtype):
        kind = "bool"
    elif types.is_integer_dtype(dtype):
        kind = "integer"
    elif types.is_complex_dtype(dtype):
        raise ValueError(f"Complex data not supported: {_label(name)}")
    elif types.is_numeric_dtype(dtype):
        kind = "real"
    elif types.is_object_dtype(dtype):
        kind = _type_of_cells(series.to_list())
    else:
        kind = "text"
    return Raw(name, _label(name), kind, dtype, series, levels)


def _of_polars(series: Any, polars: Any) -> Raw:
    dtype = series.dtype
    levels = None
    kind: Type
    if dtype == polars.Enum:
        kind, levels = "text", tuple(dtype.categories.to_list())
    elif dtype.is_temporal():
        kind = "dates"
    elif dtype == polars.Boolean:
        kind = "bool"
    elif dtype.is_integer():
        kind = "integer"
    elif dtype.is_numeric() or dtype == polars.Null:
        kind = "real"
    elif dtype == polars.Object:
        kind = _type_of_cells(series.to_list())
    else:
        kind = "text"
    return Raw(series.name, _label(series.name), kind, dtype, series, levels)


def _type_of_cells(values: Sequence[Any]) -> Type:
    """Return the type of a column of objects, such as numbers among which some are None."""
    present = [value for value in values if not is_missing(value)]
    if present and all(isinstance(value, bool | np.bool) for value in present):
        return "bool"
    if all(isinstance(value, Real | Decimal) for value in present):
        return "real"
    return "text"


def _to_pandas(values: npt.NDArray[Any], dtype: Any, index: Any, pandas: Any) -> Any:
    series = pandas.Series(values, index=index)
    if dtype is None:
        return series
    holds_missing = not (isinstance(dtype, np.dtype) and dtype.kind in "biu")
    return series.astype(dtype) if holds_missing or not series.isna().any() else series


def _label(name: Any) -> str:
    return f"column {name!r}"
