"""A state of many arrays that kernels take as one address.

To pass twenty arrays by value, a call copies a hundred and fifty numbers, and a loop that keeps
that many at hand has no registers left. Here a kernel gets the address of a table with the place
and the shape of every array, and reads what it uses. Kernels write ``state.nodes[k].n`` as Python
does; how that is compiled is said in `structure`.
"""

from __future__ import annotations

import functools
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from sticktree.engine.common.structure import Structure


class Addressed:
    """The base of frozen dataclasses whose fields are all arrays, in the order of C.

    Kernels read and write these arrays in place, also those that numpy calls read-only. The arrays
    of an instance never change places, so neither does its table.
    """

    @functools.cached_property
    def table(self) -> npt.NDArray[np.intp]:
        """For each array the address of its first entry, and its shape."""
        numbers: list[int] = []
        for _, array in _arrays(self):
            numbers += (array.ctypes.data, *array.shape)
        return np.array(numbers, dtype=np.intp)

    @functools.cached_property
    def address(self) -> int:
        """Where the table is."""
        return self.table.ctypes.data

    @functools.cached_property
    def _numba_type_(self) -> Structure:
        from sticktree.engine.common.structure import structure_of

        for name, array in _arrays(self):
            if not (array.flags.c_contiguous and array.flags.aligned):
                raise ValueError(f"{name} of {type(self).__name__} is not in the order of C")
        kinds = tuple((name, array.dtype, array.ndim) for name, array in _arrays(self))
        cls: Any = type(self)
        return structure_of(cls, kinds)

    def __getstate__(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays alone, as those of a copy are elsewhere."""
        return dict(_arrays(self))


def _arrays(state: Any) -> list[tuple[str, npt.NDArray[Any]]]:
    return [(field.name, getattr(state, field.name)) for field in fields(state)]
