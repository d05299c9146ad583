"""Compressed files from anybody, unpacked as far as memory goes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

from sticktree.files import first_line, most_unpacked, too_large

PIECE = 1 << 20  # bytes that are unpacked at a time
PACKED: dict[str, Callable[[IO[bytes]], io.BufferedIOBase]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
DAMAGE = (
    EOFError,
    NotImplementedError,  # a way to compress that Python does not know
    RuntimeError,  # a zip that is encrypted
    ValueError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zlib.error,
)


def unpacked(content: bytes, name: str) -> tuple[bytes, str]:
    """Return what a compressed file holds, and its name without the last ending.

    Of a file that is not compressed, these are the content and the name themselves. What would
    unpack to more than memory allows is refused; see :func:`~sticktree.files.most_unpacked`.
    """
    suffix = Path(name).suffix.lower()
    limit = most_unpacked()
    try:
        if suffix in PACKED:
            with PACKED[suffix](io.BytesIO(content)) as file:
                return _read(file, name, limit), Path(name).stem
        if suffix == ".zip":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = [info for info in archive.infolist() if not info.is_dir()]
                if len(members) != 1:
                    raise _RefusedError(f"{name} must hold one file, got {len(members)}")
                if members[0].file_size > limit:
                    raise _RefusedError(str(too_large(name, limit)))
                with archive.open(members[0]) as file:
                    return _read(file, name, limit), members[0].filename
    except (_RefusedError, MemoryError):
        raise
    except (*DAMAGE, OSError) as error:
        raise ValueError(f"{name} cannot be unpacked: {first_line(error)}") from None
    return content, name


class _RefusedError(ValueError):
    """What is whole, but not what can be read."""


def _read(file: io.BufferedIOBase | IO[bytes], name: str, limit: int) -> bytes:
    """Return all that a file unpacks to; give up as soon as that is too much."""
    pieces, size = [], 0
    while piece := file.read(PIECE):
        size += len(piece)
        if size > limit:
            raise _RefusedError(str(too_large(name, limit)))
        pieces.append(piece)
    return b"".join(pieces)
