"""Objects as JSON and arrays, and back."""

import json
import math
import sys
from datetime import date, datetime
from decimal import Decimal
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sticktree import Tree
from sticktree.data import read_table
from sticktree.io.objects import Decoder, Encoder, NotSavableError
from sticktree.processes import (
    ConstantDivergence,
    DiffusionDivergence,
    LogDivergence,
    resolve_concentration,
)
from sticktree.processes.divergence import Divergence
from tests.support.sameness import differences


def through_json(*values):
    encoder = Encoder()
    text = json.dumps([encoder.encode(value) for value in values], allow_nan=False)
    decoder = Decoder([array.copy() for array in encoder.arrays].__getitem__)
    return [decoder.decode(form) for form in json.loads(text)]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        2**200,
        0.1,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        "",
        "“ü” \ud800 \0 {}",
        [],
        [1, [2.5, None]],
        (),
        (1, ("a",)),
        {},
        {"tuple": 1, 2: "b", (3, "c"): None, None: [], 1.5: {}},
        b"\x00\xff",
        Decimal("0.10"),
        date(2024, 2, 29),
        datetime(2024, 2, 29, 12, 30, 0, 5),
        Path("a/b"),
        np.float64(0.1),
        np.float32(0.1),
        np.float64(math.nan),
        np.int8(-3),
        np.uint64(2**64 - 1),
        np.bool(True),
        np.str_("ü"),
        np.dtype("f8"),
        np.dtype(object),
        np.arange(3, dtype=np.uint8),
        np.array(["a", "bü"]),
        np.array(["a", 1, None, (1, 2)], dtype=object),
        np.empty((0, 2), dtype=object),
        np.array([[1, "a"], [[2], None]], dtype=object),
        np.random.Generator(np.random.MT19937(0)),
        np.random.Generator(np.random.Philox(0)),
        np.random.Generator(np.random.PCG64DXSM(0)),
        np.random.RandomState(0),
        LogDivergence(0.1),
        ConstantDivergence(3.0),
        resolve_concentration(LogDivergence(), 3),
        DiffusionDivergence(0.1),
        resolve_concentration(DiffusionDivergence(), 3, discount=0.5),
        Tree([-1]),
        Tree([-1, 0, 0], [1, 2], level=[0, 2, 1]),
        Tree([-1, 0, 0], [1, 2], time=[0, 0.5, 1], support=[1, np.nan, 0.5], names=["(a,", "b'\n"]),
        Tree([-1, 0, 0], [1, 2], support=[1, 0.2, 0.5], transfer=[1, np.nan, 0.7]),
        pd.Interval(0.5, 1.5, closed="left"),
        pd.Timestamp("2024-02-29 12:30"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_value_survives(value):
    (again,) = through_json(value)
    assert not differences(value, again)
    assert repr(again) == repr(value) or " at 0x" in repr(value)


def test_a_tree_of_before_transfer_supports_is_read():
    tree = Tree([-1, 0, 0], [1, 2], support=[1, 0.2, 0.5])
    encoder = Encoder()
    form = json.loads(json.dumps(encoder.encode(tree)))
    text = json.dumps(form)
    assert text.count('"transfer": null') == 1
    older = json.loads(text.replace('"transfer": null, ', ""))
    assert older != form
    assert Decoder(encoder.arrays.__getitem__).decode(older) == tree


def test_random_numbers_go_on():
    rng = np.random.default_rng(0)
    legacy = np.random.RandomState(0)
    legacy.standard_normal()  # so that it holds a second one
    again, legacy_again = through_json(rng, legacy)
    assert again.standard_normal() == rng.standard_normal()
    assert legacy_again.standard_normal(3).tolist() == legacy.standard_normal(3).tolist()


class OwnDivergence(Divergence):
    def shape(self, n_steps):
        return np.ones(n_steps)


class Number(float):
    pass


@pytest.mark.parametrize(
    "value",
    [
        print,
        lambda level: 1.0,
        np.random,
        object(),
        {1},
        1j,
        Number(1.0),
        OwnDivergence(),
        np.longdouble(1),
        np.complex128(1),
        np.datetime64("2024-01-01"),
        np.array([(1, None)], dtype=[("a", int), ("b", object)]),
        np.dtype([("a", int)]),
        np.ma.masked_array([1.0], [True]),
        [{"a": (print,)}],
        pd.Series([1.0]),
        np.array([print], dtype=object),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_refused(value):
    with pytest.raises(NotSavableError):
        Encoder().encode(value)


def test_shared_objects_stay_shared():
    tree, array, other = Tree([-1, 0], [1]), np.arange(3), np.arange(3)
    a, b, c, d, e, f = through_json([tree, array], tree, array, Tree([-1, 0], [1]), other, tree)
    assert a[0] is b is f
    assert d is not b
    assert a[1] is c
    assert e is not c


def test_frozen_arrays_stay_frozen():
    array = np.arange(3.0)
    array.setflags(write=False)
    assert not through_json(array)[0].flags.writeable


# ---- columns of tables ---------------------------------------------------------------------------

NAMES = ["a", "b", "a", "c"]
PANDAS = {
    "str": pd.Series(NAMES),
    "object": pd.Series(NAMES, dtype=object),
    "string": pd.Series(NAMES, dtype="string"),
    "string in python": pd.Series(NAMES, dtype=pd.StringDtype("python")),
    "arrow string": pd.Series(NAMES, dtype=pd.ArrowDtype(pa.string())),
    "category": pd.Series(NAMES, dtype="category"),
    "ordered": pd.Series(pd.Categorical(NAMES, ["c", "b", "a"], ordered=True)),
    "whole categories": pd.Series([3, 1, 3, 2], dtype="category"),
    "intervals": pd.Series(pd.cut([1.0, 2.0, 3.0, 4.0], 2)),
    "days": pd.Series(pd.to_datetime(["2024-01-01", "2025-01-01"] * 2)).astype("category"),
    "bool": pd.Series([True, False, True, False]),
    "boolean": pd.Series([True, None, True, False], dtype="boolean"),
    "float": pd.Series([1.0, np.nan, 2.0, 3.0]),
    "float32": pd.Series([1.0, np.nan, 2.0, 3.0], dtype=np.float32),
    "Int64": pd.Series([1, None, 2, 3], dtype="Int64"),
    "arrow": pd.Series([1, None, 2, 3], dtype="int64[pyarrow]"),
}
if "na_value" in signature(pd.StringDtype).parameters:  # from pandas 2.3 on
    dtype = pd.StringDtype("python", na_value=np.nan)
    PANDAS["str in python"] = pd.Series(NAMES, dtype=dtype)
POLARS = {
    "String": pl.Series(NAMES),
    "Categorical": pl.Series(NAMES, dtype=pl.Categorical),
    "Enum": pl.Series(NAMES, dtype=pl.Enum(["c", "b", "a", "ü"])),
    "Boolean": pl.Series([True, None, False, True]),
    "Float64": pl.Series([1.0, None, 2.0, 3.0]),
    "Int16": pl.Series([1, None, 2, 3], dtype=pl.Int16),
}


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame({(1, "ü"): series, 2: 1.0}) for series in PANDAS.values()]
    + [pl.DataFrame({"ü": series, "b": 1.0}) for series in POLARS.values()]
    + [np.ones((4, 2)), np.array([["a", 1.0], ["b", 2.0], ["a", None], ["b", 4]], dtype=object)],
    ids=[*PANDAS, *POLARS, "array", "objects"],
)
def test_columns_read_and_write_tables_as_before(table):
    declared = {0: "categorical"} if isinstance(table, np.ndarray) and table.dtype == "O" else None
    first = read_table(table, declared)
    (again,) = through_json(first.columns)
    assert not differences(first.columns, again)
    assert first.columns == again
    np.testing.assert_array_equal(again.encode(table), first.values)
    decoded, expected = again.decode(first.values), first.columns.decode(first.values)
    assert type(decoded) is type(expected)
    if isinstance(table, pd.DataFrame):
        pd.testing.assert_frame_equal(decoded, expected)
    elif isinstance(table, pl.DataFrame):
        assert decoded.equals(expected)
        assert decoded.schema == expected.schema
    else:
        assert repr(decoded) == repr(expected)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": pd.arrays.SparseArray([1.0, 2.0, 7.0], fill_value=7.0)}),
        pl.DataFrame({"a": pl.Series([1, None, 2], dtype=pl.Decimal(10, 2))}),
    ],
    ids=["pandas", "polars"],
)
def test_type_that_is_never_asked_for_again_may_be_lost(table):
    columns = read_table(table).columns
    (again,) = through_json(columns)
    np.testing.assert_array_equal(again.encode(table), columns.encode(table))


def test_missing_package_is_told(monkeypatch):
    encoder = Encoder()
    form = encoder.encode(pd.StringDtype())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"was fitted to a data frame of pandas.*install pandas"):
        Decoder(encoder.arrays.__getitem__).decode(form)
