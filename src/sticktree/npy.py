"""Arrays in numpy's own format, from anybody.

A header is a line of Python that numpy evaluates, and it may claim any size. Here all that can be
wrong with one is a ValueError, and room is made only for the bytes that are there.
"""

from __future__ import annotations

import ast
import math
import struct
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.files import first_line

MOST_HEADER = 10_000  # bytes, as numpy has it


class Header(NamedTuple):
    """What a header says of an array."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """The bytes that follow it."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: BinaryIO) -> Header:
    """Read the header of an array; what follows is left to be read."""
    form = np.lib.format
    try:
        version = form.read_magic(file)
        if version == (1, 0):
            shape, by_columns, dtype = form.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, by_columns, dtype = form.read_array_header_2_0(file)
        elif version == (3, 0):
            shape, by_columns, dtype = _read_newest(file)
        else:
            raise ValueError(f"version {version} of the format is not known")
    except Exception as error:  # the header is parsed as Python, which has errors of its own
        raise ValueError(f"the header of an array is damaged: {first_line(error)}") from None
    if dtype.hasobject:
        raise ValueError("an array holds objects, which only pickle could read")
    if min(shape, default=0) < 0 or (dtype.itemsize == 0 and all(shape)):
        raise ValueError(f"no array has the shape {shape} and the type {dtype}")
    return Header(shape, by_columns, dtype)


def _read_newest(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read a header with names of fields in any language, for which numpy has no reader."""
    (length,) = struct.unpack("<I", file.read(4))
    if length > MOST_HEADER:
        raise ValueError(f"it has {length:,} bytes")
    said = ast.literal_eval(file.read(length).decode("utf-8"))
    shape, by_columns = said["shape"], said["fortran_order"]
    if not isinstance(by_columns, bool) or not all(type(size) is int for size in shape):
        raise ValueError(f"it says {said}")
    return tuple(shape), by_columns, np.lib.format.descr_to_dtype(said["descr"])


def read_array(content: bytes | bytearray | memoryview) -> npt.NDArray[Any]:
    r"""Return the array that bytes hold, in memory of its own.

    Examples
    --------
    >>> from io import BytesIO
    >>> import numpy as np
    >>> from sticktree.npy import read_array
    >>> file = BytesIO()
    >>> np.save(file, np.arange(3))
    >>> read_array(file.getvalue())
    array([0, 1, 2])
    >>> read_array(file.getvalue().replace(b"(3,)", b"(9,)"))
    Traceback (most recent call last):
    ...
    ValueError: an array of shape (9,) takes 72 bytes, and 24 are there
    """
    file = BytesIO(content)
    header = read_header(file)
    there = len(content) - file.tell()
    if header.nbytes > there:
        raise ValueError(
            f"an array of shape {header.shape} takes {header.nbytes:,} bytes, and {there:,} are "
            "there"
        )
    shape = header.shape[::-1] if header.by_columns else header.shape
    if header.nbytes == 0:
        return np.empty(header.shape, header.dtype)
    flat = np.frombuffer(content, np.uint8, header.nbytes, offset=file.tell()).copy()
    array: npt.NDArray[Any] = flat.view(header.dtype).reshape(shape)
    return array.T if header.by_columns else array
