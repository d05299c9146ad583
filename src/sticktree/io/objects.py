"""Objects as JSON and arrays, and back: a closed list of types, each under its own tag.

None, truth values, whole and finite numbers, text and lists are JSON as they are. Everything else
is an object with one key, ``{tag: content}``. Nothing but what is listed here can come out of a
file.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.data import Columns
from sticktree.data.factors import Factored, Factors
from sticktree.data.groups import RowGroups
from sticktree.data.scaling import Scaling
from sticktree.data.training import TrainingData
from sticktree.engine.draw import Draw
from sticktree.engine.online.groups import StreamedGroups
from sticktree.inference.course import Course, Look
from sticktree.inference.drift import Batch, Stream
from sticktree.inference.packing import pack_draws, unpack_draws
from sticktree.inference.runner import Schedule
from sticktree.inference.selection import Selection
from sticktree.io.annotations import check_parts
from sticktree.io.outlines import Outline
from sticktree.io.sound_draws import Outlines, check_packed
from sticktree.model import Column, Groups, Model
from sticktree.posterior.cutting import Cut, Lasting
from sticktree.posterior.draws import Diagnosis
from sticktree.posterior.loo import LeaveOneOut
from sticktree.posterior.settled import Settled
from sticktree.processes.divergence import (
    Concentration,
    ConstantDivergence,
    DiffusionDivergence,
    LogDivergence,
)
from sticktree.tree import Tree

FRAME_TAGS = ("pandas type", "polars type", "interval", "timestamp")

Convert = Callable[[Any], Any]


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


# Classes whose instances are made from attributes of the same names. A new kind of thing that an
# estimator holds is added here.
MADE_FROM: dict[type, tuple[str, ...]] = {
    **{
        kind: _names(kind)
        for kind in (
            Batch,
            Column,
            Columns,
            Concentration,
            Course,
            Cut,
            Diagnosis,
            Factored,
            Factors,
            Groups,
            StreamedGroups,
            Lasting,
            LeaveOneOut,
            Look,
            Model,
            RowGroups,
            Scaling,
            Schedule,
            Selection,
            Settled,
            Stream,
        )
    },
    TrainingData: tuple(name for name in _names(TrainingData) if name != "store"),
    ConstantDivergence: ("c",),
    DiffusionDivergence: ("c",),
    LogDivergence: ("c",),
}
CLASSES: dict[str, Callable[..., Any]] = {kind.__name__: kind for kind in MADE_FROM}
# Tags of older files, in which draws stand once more beside the chains that made them.
CLASSES |= {"Preparation": Scaling, "Posterior": lambda chains, depth: chains}
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


class NotSavableError(ValueError):
    """Why something has no form in a file."""


class Encoder:
    """Turns objects into JSON.

    An array or an object that is met again is the same one when read.

    Attributes
    ----------
    arrays : list of arrays
        Those that the JSON refers to, by their places.
    """

    def __init__(self) -> None:
        self.arrays: list[npt.NDArray[Any]] = []
        # Values are kept with their numbers: the id of one that is gone would be given again.
        self._places: dict[int, tuple[int, Any]] = {}
        self._numbers: dict[int, tuple[int, Any]] = {}

    def encode(self, value: Any) -> Any:
        """Return the form of a value, or raise :class:`NotSavableError`."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is np.ndarray:
            return self._array(value)
        if kind is list and not (value and all(type(item) is Draw for item in value)):
            return [self.encode(item) for item in value]
        if kind in WRITERS:
            return {WRITERS[kind].tag: WRITERS[kind].write(self, value)}
        if kind in MADE_FROM or kind in SHARED:
            return self._shared(value)
        if isinstance(value, np.generic):
            return {"scalar": self._scalar(value)}
        if isinstance(value, np.dtype) and value.names is None:
            return {"dtype": value.newbyteorder("<").str}
        form = _frame_form(value, self.encode)
        if form is None:
            _refuse(value)
        return form

    def _shared(self, value: Any) -> dict[str, Any]:
        if id(value) in self._numbers:
            return {"same": self._numbers[id(value)][0]}
        kind = type(value)
        if kind in SHARED:
            form = {SHARED[kind].tag: SHARED[kind].write(self, value)}
        elif kind is Columns:
            form = {"Columns": self._columns(value)}
        else:
            content = {name: self.encode(getattr(value, name)) for name in MADE_FROM[kind]}
            form = {kind.__name__: content}
        self._numbers[id(value)] = len(self._numbers), value
        return form

    def _array(self, array: npt.NDArray[Any]) -> dict[str, Any]:
        if array.dtype.hasobject:
            if array.dtype != object:
                _refuse(array)
            return {"objects": [list(array.shape), self.encode(array.ravel().tolist())]}
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays), array
            self.arrays.append(array)
        # Kernels are compiled apart for arrays that cannot be written to.
        tag = "array" if array.flags.writeable else "frozen array"
        return {tag: self._places[id(array)][0]}

    def _scalar(self, value: np.generic) -> list[Any]:
        item = value.item()
        if type(item) not in (bool, int, float, str):
            _refuse(value)
        return [value.dtype.newbyteorder("<").str, self.encode(item)]

    def _columns(self, columns: Columns) -> dict[str, Any]:
        content = {name: getattr(columns, name) for name in MADE_FROM[Columns]}
        forms = {name: self.encode(value) for name, value in content.items() if name != "dtypes"}
        types = []
        for dtype, categories in zip(columns.dtypes, columns.categories, strict=True):
            try:
                form = self.encode(dtype)
                if Decoder(self.arrays.__getitem__).decode(form) != dtype:
                    _refuse(dtype)
            except Exception as error:
                if categories:
                    raise NotSavableError(f"the type {dtype!r} of a column: {error}") from None
                form = None  # only columns of categories get the type back that they came with
            types.append(form)
        return forms | {"dtypes": {"tuple": types}}


class Decoder:
    """Turns JSON back into objects.

    Parameters
    ----------
    array : callable
        Returns the array of a number.
    take : callable
        Called with the bytes of what is copied; raises when these are too many.

    Attributes
    ----------
    outlines : Outlines
        Those of all lists of draws that have been read.
    """

    def __init__(
        self,
        array: Callable[[int], npt.NDArray[Any]],
        take: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._read, self.take = array, take
        self._arrays: dict[int, npt.NDArray[Any]] = {}
        self._made: list[Any] = []
        self.outlines = Outlines()
        # Forms are kept with what is known: the id of one that is gone would be given again.
        self._looked_at: dict[int, tuple[Any, dict[str, Any], Outline | None]] = {}

    def decode(self, form: Any) -> Any:
        """Return what a form was made of."""
        if isinstance(form, list):
            return [self.decode(item) for item in form]
        if not isinstance(form, dict):
            return form
        ((tag, content),) = form.items()
        if tag in READERS:
            return READERS[tag](self, content)
        if tag in FRAME_TAGS:
            return _from_frame_form(tag, content, self.decode)
        if tag in SHARED_READERS:
            made = SHARED_READERS[tag](self, content)
        else:
            parts = {name: self.decode(part) for name, part in content.items()}
            kind = CLASSES[tag]
            if isinstance(kind, type):
                check_parts(kind, parts)
            made = kind(**parts)
        self._made.append(made)
        return made

    def look_at_draws(self, forms: Sequence[Any]) -> None:
        """Check lists of draws before they are read: one after the other, that takes less time."""
        found = [(form["draws"], self._arrays_of(form["draws"])) for form in forms]
        outlines = check_packed([arrays for _, arrays in found])
        for (form, arrays), outline in zip(found, outlines, strict=True):
            self._looked_at[id(form)] = form, arrays, outline

    def _arrays_of(self, form: Any) -> dict[str, npt.NDArray[Any]]:
        arrays = {}
        for name, part in form["dict"]:
            ((tag, number),) = part.items()
            if type(name) is not str or tag != "array":
                raise ValueError(f"{name!r} of draws is no array")
            arrays[name] = self.array(number)
        return arrays

    def draws(self, form: Any) -> list[Draw]:
        """Return the draws of a form."""
        if id(form) not in self._looked_at:
            self.look_at_draws([{"draws": form}])
        _, arrays, outline = self._looked_at.pop(id(form))
        self.take(sum(array.nbytes for array in arrays.values()))  # they are copied
        draws = unpack_draws(arrays)
        self.outlines.add(draws, outline)
        return draws

    def same(self, number: int) -> Any:
        """Return an object that has been met before."""
        return self._made[number]

    def array(self, number: int, writeable: bool = True) -> npt.NDArray[Any]:
        """Return an array by its number."""
        if number not in self._arrays:
            self._arrays[number] = self._read(number)
            self._arrays[number].setflags(write=writeable)
        return self._arrays[number]


def _refuse(value: Any) -> Any:
    what = "a function" if callable(value) else f"of type {type(value).__name__}"
    raise NotSavableError(f"{value!r} is {what}")


# ---- what is listed ------------------------------------------------------------------------------


class _Writer(NamedTuple):
    tag: str
    write: Callable[[Encoder, Any], Any]


def _dict_form(encoder: Encoder, value: dict[Any, Any]) -> list[Any]:
    return [[encoder.encode(key), encoder.encode(item)] for key, item in value.items()]


def _generator_form(encoder: Encoder, value: np.random.Generator) -> Any:
    state: Any = value.bit_generator.state
    if state["bit_generator"] not in BIT_GENERATORS:
        _refuse(value)
    return encoder.encode(state)


def _random_state_form(encoder: Encoder, value: np.random.RandomState) -> Any:
    state: Any = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        _refuse(value)
    return encoder.encode(state)


def _tree_form(encoder: Encoder, tree: Tree) -> dict[str, Any]:
    return {
        "parent": encoder.encode(tree.parent),
        "leaf": encoder.encode(tree.leaf),
        "level": None if tree.has_times else encoder.encode(tree.level),
        "time": encoder.encode(tree.time) if tree.has_times else None,
        "support": encoder.encode(tree.support),
        "transfer": encoder.encode(tree.transfer),
        "names": encoder.encode(tree.names),
    }


WRITERS: dict[type, _Writer] = {
    tuple: _Writer("tuple", lambda encoder, value: [encoder.encode(item) for item in value]),
    dict: _Writer("dict", _dict_form),
    bytes: _Writer("bytes", lambda _, value: value.hex()),
    Decimal: _Writer("decimal", lambda _, value: str(value)),
    date: _Writer("date", lambda _, value: value.isoformat()),
    datetime: _Writer("datetime", lambda _, value: value.isoformat()),
    type(Path()): _Writer("path", lambda _, value: str(value)),
    np.random.Generator: _Writer("generator", _generator_form),
    np.random.RandomState: _Writer("random state", _random_state_form),
}
SHARED: dict[type, _Writer] = {
    list: _Writer("draws", lambda encoder, value: encoder.encode(pack_draws(value))),
    Draw: _Writer("draw", lambda encoder, value: encoder.encode(pack_draws([value]))),
    Tree: _Writer("tree", _tree_form),
}


def _objects(decoder: Decoder, content: Any) -> npt.NDArray[Any]:
    shape, values = content
    array = np.empty(len(values), dtype=object)
    array[:] = decoder.decode(values)
    return array.reshape(shape)


def _generator(decoder: Decoder, content: Any) -> np.random.Generator:
    state = decoder.decode(content)
    if state["bit_generator"] not in BIT_GENERATORS:
        raise ValueError(f"{state['bit_generator']!r} is no bit generator of numpy")
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def _random_state(decoder: Decoder, content: Any) -> np.random.RandomState:
    made = np.random.RandomState()
    made.set_state(decoder.decode(content))
    return made


READERS: dict[str, Callable[[Decoder, Any], Any]] = {
    "same": Decoder.same,
    "array": Decoder.array,
    "frozen array": lambda decoder, number: decoder.array(number, writeable=False),
    "objects": _objects,
    "float": lambda _, content: float(content),
    "scalar": lambda decoder, content: _scalar(decoder, content),
    "dtype": lambda _, content: np.dtype(content).newbyteorder("="),
    "tuple": lambda decoder, content: tuple(map(decoder.decode, content)),
    "dict": lambda decoder, content: {decoder.decode(k): decoder.decode(v) for k, v in content},
    "bytes": lambda _, content: bytes.fromhex(content),
    "decimal": lambda _, content: Decimal(content),
    "date": lambda _, content: date.fromisoformat(content),
    "datetime": lambda _, content: datetime.fromisoformat(content),
    "path": lambda _, content: Path(content),
    "generator": _generator,
    "random state": _random_state,
}


def _scalar(decoder: Decoder, content: Any) -> Any:
    dtype = np.dtype(content[0])
    if dtype.kind not in "biufUSMm":
        raise ValueError(f"{dtype} is no type of numbers or text")
    return dtype.type(decoder.decode(content[1]))


SHARED_READERS: dict[str, Callable[[Decoder, Any], Any]] = {
    "draws": lambda decoder, content: decoder.draws(content),
    "draw": lambda decoder, content: decoder.draws(content)[0],
    "tree": lambda decoder, content: Tree(
        **{name: decoder.decode(part) for name, part in content.items()}
    ),
}


# Types of the columns of data frames, and values that only these have. Neither pandas nor polars is
# imported unless there is something of theirs.


def _frame_form(value: Any, encode: Convert) -> dict[str, Any] | None:
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


def _from_frame_form(tag: str, content: Any, decode: Convert) -> Any:
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
