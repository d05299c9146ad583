"""Types of the columns of data frames, and values that only these have, as JSON.

Neither pandas nor polars is imported unless there is something of theirs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

FRAME_TAGS = ("pandas type", "polars type", "interval", "timestamp")

Convert = Callable[[Any], Any]


def frame_form(value: Any, encode: Convert) -> dict[str, Any] | None:
    """Return the form of something of pandas or polars, or None if it is nothing of theirs."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None:
        if isinstance(value, pandas.api.extensions.ExtensionDtype):
            return {"pandas type": _of_pandas(value, encode, pandas)}
        if type(value) is pandas.Interval:
            return {"interval": [encode(value.left), encode(value.right), value.closed]}
        if type(value) is pandas.Timestamp:
            return {"timestamp": value.isoformat()}
    if polars is not None:
        types = polars.DataType
        if isinstance(value, types) or (isinstance(value, type) and issubclass(value, types)):
            return {"polars type": _of_polars(value, polars)}
    return None


def from_frame_form(tag: str, content: Any, decode: Convert) -> Any:
    """Return what a form was made of."""
    if tag == "polars type":
        return _to_polars(content, _package("polars"))
    pandas = _package("pandas")
    if tag == "pandas type":
        return _to_pandas(content, decode, pandas)
    if tag == "interval":
        left, right, closed = content
        return pandas.Interval(decode(left), decode(right), closed)
    return pandas.Timestamp(content)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(
            f"the estimator was fitted to a data frame of {name}, and needs it: install {name}"
        ) from None


def _of_pandas(dtype: Any, encode: Convert, pandas: Any) -> dict[str, Any]:
    if isinstance(dtype, pandas.CategoricalDtype):
        return {
            "categories": encode(dtype.categories.tolist()),
            "type": encode(dtype.categories.dtype),
            "ordered": bool(dtype.ordered),
        }
    if isinstance(dtype, pandas.StringDtype):
        return {"storage": dtype.storage, "missing is nan": dtype.na_value is not pandas.NA}
    if isinstance(dtype, pandas.ArrowDtype):
        return {"arrow": str(dtype.pyarrow_dtype)}
    return {"name": str(dtype)}


def _to_pandas(content: dict[str, Any], decode: Convert, pandas: Any) -> Any:
    if "categories" in content:
        index = pandas.Index(decode(content["categories"]), dtype=decode(content["type"]))
        return pandas.CategoricalDtype(index, content["ordered"])
    if "storage" in content:
        # Before pandas 2.3 the storage said what is missing, by its name.
        told = content["storage"].endswith("_numpy")
        options = {"na_value": np.nan} if content["missing is nan"] and not told else {}
        try:
            return pandas.StringDtype(content["storage"], **options)
        except ImportError:  # strings may be kept in other ways, where pyarrow is not installed
            return pandas.StringDtype(**options)
    if "arrow" in content:
        return pandas.ArrowDtype(_package("pyarrow").type_for_alias(content["arrow"]))
    return pandas.api.types.pandas_dtype(content["name"])


def _of_polars(dtype: Any, polars: Any) -> dict[str, Any]:
    if dtype == polars.Enum:
        return {"name": "Enum", "categories": dtype.categories.to_list()}
    return {"name": dtype.base_type().__name__}


def _to_polars(content: dict[str, Any], polars: Any) -> Any:
    if content["name"] == "Enum":
        return polars.Enum(content["categories"])
    dtype = getattr(polars, content["name"])
    if not issubclass(dtype, polars.DataType):
        raise ValueError(f"{content['name']} is no type of polars")
    return dtype()
