"""What numba has to know of a state that is passed as one address."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, register_model, typeof_impl, unbox
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype

Kinds = tuple[tuple[str, np.dtype[Any], int], ...]
WORD = ir.IntType(types.intp.bitwidth)


class Structure(types.Type):
    """The type of an address of a table of arrays.

    It holds names and types alone, so that what is compiled for it serves every process.
    """

    def __init__(self, name: str, arrays: tuple[tuple[str, types.Array], ...]) -> None:
        self.arrays = dict(arrays)
        self.place = {}  # of each array in the table
        size = 0
        for field, array in arrays:
            self.place[field] = size
            size += 1 + array.ndim
        digest = hashlib.sha256(repr(arrays).encode()).hexdigest()[:8]
        super().__init__(f"{name}-{digest}")


@functools.cache
def structure_of(cls: type, kinds: Kinds) -> Structure:
    """Return the type of a class that has arrays of these names, dtypes and numbers of axes."""
    typeof_impl.register(cls)(lambda state, _: state._numba_type_)  # else it is asked for a buffer
    arrays = ((field, types.Array(from_dtype(dtype), ndim, "C")) for field, dtype, ndim in kinds)
    return Structure(f"{cls.__module__}.{cls.__name__}", tuple(arrays))


@register_model(Structure)
class _Address(models.PrimitiveModel):
    def __init__(self, manager: Any, structure: Structure) -> None:
        super().__init__(manager, structure, WORD.as_pointer())


@unbox(Structure)
def _unbox(structure: Structure, state: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(state, "address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(address, WORD.as_pointer()))


@infer_getattr
class _Arrays(AttributeTemplate):
    key = Structure

    def generic_resolve(self, structure: Structure, name: str) -> types.Array | None:
        return structure.arrays.get(name)


@lower_getattr_generic(Structure)
def _read(context: Any, builder: Any, structure: Structure, table: Any, name: str) -> Any:
    """Return an array whose place and shape are read from the table.

    These reads are marked as giving the same whenever they are made: otherwise every store into an
    array would count as one into the table, and all would be read again.
    """
    kind = structure.arrays[name]
    array = make_array(kind)(context, builder)

    def read(offset: int, as_type: Any) -> Any:
        place = builder.gep(table, [ir.IntType(32)(structure.place[name] + offset)])
        number = builder.load(builder.bitcast(place, as_type.as_pointer()))
        number.set_metadata("invariant.load", builder.module.add_metadata([]))
        return number

    shape = [read(1 + axis, WORD) for axis in range(kind.ndim)]
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides: list[Any] = []
    stride = WORD(itemsize)
    for length in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, length, flags=["nsw"])
    data = read(0, array.data.type)
    populate_array(array, data, shape, strides, itemsize, meminfo=None)
    return array._getvalue()
