"""Archives: a zip of a header, one JSON document and numbered arrays.

``sticktree.json`` says what it is: format, version, and by what it was written. ``document.json``
refers to the arrays by their numbers; these are ``arrays/0.npy`` and so on, little-endian on every
machine. The same content gives the same bytes. Zip keeps a checksum of every member.
"""

from __future__ import annotations

import json
import os
import platform
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.files import atomically, most_unpacked, too_large
from sticktree.npy import read_array

HEADER, DOCUMENT = "sticktree.json", "document.json"
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest that zip can say: no file tells when it was made
LEVEL = 6  # of compression: 1 takes half as long for that, and files are a sixth larger
SAMPLE = 1 << 16  # bytes of an array that tell whether to compress it
WORTH_WHILE = 0.9  # the size of a sample, once compressed, above which it does not pay
MOST_JSON = 1 << 28  # bytes
BYTES_OF_VALUE = 100  # of memory, at most, for a value of a JSON document besides its text
MOST_WORDS = 300  # characters of what is said of damage
DENSEST = 1040  # bytes that one byte of a compressed member may stand for, by the format


def check_destination(path: Path) -> None:
    """Raise an error if it can be seen that no file can be written there."""
    if path.is_dir():
        raise IsADirectoryError(f"path must be that of a file, got the folder {path}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path must lie in a folder that exists, got {path}")


def write_archive(
    path: Path, name: str, version: int, document: Any, arrays: Sequence[npt.NDArray[Any]]
) -> None:
    """Write an archive of the format ``name``; a failure leaves the former file as it was."""
    header = {"format": name, "version": version, "provenance": _provenance()}
    # Errors of a document come before any file is touched.
    texts = {HEADER: json.dumps(header, indent=1), DOCUMENT: _compact(document)}
    with atomically(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
        for member, text in texts.items():
            _write(file, member, text.encode("ascii"))
        for k, array in enumerate(arrays):
            _write(file, _member(k), _npy(array))


def _write(file: zipfile.ZipFile, member: str, content: bytes) -> None:
    info = zipfile.ZipInfo(member, FIRST_DAY)
    info.create_system, info.external_attr = 3, 0o644 << 16  # the same on every system
    sample = content[:SAMPLE]
    pays = len(zlib.compress(sample, LEVEL)) < WORTH_WHILE * len(sample)
    how = zipfile.ZIP_DEFLATED if pays else zipfile.ZIP_STORED
    file.writestr(info, content, how, LEVEL if pays else None)


def _npy(array: npt.NDArray[Any]) -> bytes:
    content = BytesIO()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    np.lib.format.write_array(content, little, allow_pickle=False)
    return content.getvalue()


def _member(k: int) -> str:
    return f"arrays/{k}.npy"


def _compact(document: Any) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def _provenance() -> dict[str, str]:
    from sticktree.version import __version__

    return {
        "sticktree": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


class Members:
    """The members of a zip from anybody, read into memory within limits.

    Parameters
    ----------
    file : ZipFile
        The zip.
    size : int
        The bytes of the file.
    """

    def __init__(self, file: zipfile.ZipFile, size: int) -> None:
        self.names = [info.filename for info in file.infolist()]
        # Members that share their bytes could stand for far more than the file holds.
        if sum(info.compress_size for info in file.infolist()) > size:
            raise ValueError("its members overlap")
        if len(set(self.names)) < len(self.names):
            raise ValueError("two of its members have the same name")
        self._file = file
        self.limit = most_unpacked()
        self._left = self.limit

    def size(self, member: str) -> int:
        """Return the bytes of a member."""
        return self._file.getinfo(member).file_size

    def read(self, member: str) -> bytes:
        """Return a member; refuse one that would take more memory than there is."""
        info = self._file.getinfo(member)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{member} is compressed in a way that sticktree does not use")
        if info.flag_bits & 0x1:
            raise ValueError(f"{member} is encrypted")
        if info.file_size > DENSEST * (info.compress_size + 1):
            raise ValueError(f"{member} says that it is larger than it can be")
        self.take(info.file_size)
        return self._file.read(info)

    def take(self, size: int) -> None:
        """Take note that so many bytes are needed."""
        self._left -= size
        if self._left < 0:
            raise TooLargeError(self.limit)


class TooLargeError(ValueError):
    """More than may be unpacked."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class Archive:
    """An archive that is open for reading.

    Only members asked for are read, into memory and never onto the disk, so neither their names nor
    further ones matter.

    Attributes
    ----------
    name, version : str, int
        Its format.
    provenance : dict
        By what it was written.
    """

    def __init__(self, file: zipfile.ZipFile, size: int) -> None:
        self.members = Members(file, size)
        header = self._json(HEADER)
        self.name: str = header["format"]
        self.version: int = header["version"]
        self.provenance: dict[str, str] = header.get("provenance", {})
        if not isinstance(self.name, str) or type(self.version) is not int:
            raise ValueError(f"{HEADER} does not say what the file is")

    def document(self) -> Any:
        """Return the JSON document."""
        return self._json(DOCUMENT)

    def array(self, k: int) -> npt.NDArray[Any]:
        """Return one of the arrays, in the byte order of this machine."""
        array = read_array(self.members.read(_member(k)))
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def _json(self, member: str) -> Any:
        if self.members.size(member) > MOST_JSON:
            raise ValueError(f"{member} is too long")
        text = self.members.read(member)
        # A value takes far more memory than text: a list takes two characters.
        self.members.take(BYTES_OF_VALUE * sum(map(text.count, (b",", b"[", b"{"))))
        return json.loads(text)


@contextmanager
def open_archive(path: Path, readers: dict[str, Sequence[int]]) -> Iterator[Archive]:
    """Open an archive of one of the formats, in one of the versions, of ``readers``.

    Whatever goes wrong while it is open, but for want of a package or of memory, is a ValueError
    that names the file: damage shows in as many ways as there are bytes.
    """
    with path.open("rb") as opened:
        try:
            with zipfile.ZipFile(opened) as file:
                archive = Archive(file, os.fstat(opened.fileno()).st_size)
                _check_version(path, archive, readers)
                yield archive
        except (_UnknownFormatError, ImportError, MemoryError):
            raise
        except TooLargeError as error:
            raise too_large(str(path), error.limit) from None
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0][:MOST_WORDS]
            raise ValueError(f"{path} is damaged, or not a sticktree file ({reason})") from error


class _UnknownFormatError(ValueError):
    """A file that is whole, but cannot be read."""


def _check_version(path: Path, archive: Archive, readers: dict[str, Sequence[int]]) -> None:
    if archive.name not in readers:
        raise _UnknownFormatError(f"{path} holds {archive.name!r}, not one of {', '.join(readers)}")
    known = readers[archive.name]
    if archive.version not in known:
        newer = "; upgrade sticktree" if archive.version > max(known) else ""
        raise _UnknownFormatError(
            f"{path} has format version {archive.version!r}; this sticktree reads "
            f"{', '.join(map(str, known))}{newer}"
        )
