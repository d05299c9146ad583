"""Compressed tables from strangers: damage is one line, and what is too large is never unpacked."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from sticktree.data.sources.files import read_bytes, read_file
from sticktree.data.sources.formats import open_table
from sticktree.data.sources.unpacking import unpacked
from sticktree.errors import ParameterError
from sticktree.files import most_unpacked
from sticktree.npy import read_array
from tests.fuzz.mutations import npy, zipped

TEXT = b"a,b\n" + b"".join(b"%d,%d.5\n" % (k, k * 7 % 5) for k in range(200))
PACKED = {
    "t.csv.gz": gzip.compress(TEXT),
    "t.csv.bz2": bz2.compress(TEXT),
    "t.csv.xz": lzma.compress(TEXT),
    "t.csv.zip": zipped({"t.csv": TEXT}),
}


@pytest.mark.parametrize("name", PACKED)
def test_what_is_whole_is_unpacked(name):
    content, inner = unpacked(PACKED[name], name)
    assert (content, inner) == (TEXT, "t.csv")


@pytest.mark.parametrize("name", PACKED)
def test_damage_is_one_line(name):
    content, said = PACKED[name], set()
    for place in range(0, len(content), 3):
        for wrong in (content[:place], content[:place] + b"\xff\x00" + content[place + 2 :]):
            try:
                unpacked(wrong, name)
            except ValueError as error:
                said.add(str(error))
    assert said
    for words in said:
        assert words.startswith(f"{name} ")
        assert "\n" not in words


@pytest.mark.parametrize("name", PACKED)
def test_too_much_is_refused_with_the_limit_and_what_lifts_it(name, monkeypatch):
    monkeypatch.setenv("STICKTREE_MAX_UNPACKED", "1K")
    with pytest.raises(ValueError, match=rf"{name} unpacks to more than 1e-06 GB.*MAX_UNPACKED"):
        read_bytes(PACKED[name], name)
    monkeypatch.setenv("STICKTREE_MAX_UNPACKED", "1M")
    assert len(read_bytes(PACKED[name], name)) == 200


def test_bomb_is_given_up_when_it_is_too_much(monkeypatch):
    monkeypatch.setenv("STICKTREE_MAX_UNPACKED", "3M")
    bomb = gzip.compress(bytes(30 * 10**6))
    with pytest.raises(ValueError, match=r"more than 0\.003 GB"):
        unpacked(bomb, "t.csv.gz")
    declared = zipped({"t.csv": bytes(30 * 10**6)})
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(ValueError, match=r"more than 0\.003 GB"):
        unpacked(declared, "t.zip")


def test_encrypted_zip_is_one_line():
    wrong = bytearray(PACKED["t.csv.zip"])
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        wrong[wrong.index(mark) + place] |= 1
    with pytest.raises(ValueError, match=r"t\.zip cannot be unpacked: .*encrypted"):
        unpacked(bytes(wrong), "t.zip")


@pytest.mark.parametrize(
    ("given", "size"), [("12", 12), ("2k", 2000), ("1.5 GB", None), ("3M", 3 * 10**6), (7, 7)]
)
def test_limits_as_people_write_them(given, size):
    if size is None:
        assert most_unpacked("1.5GB") == 1.5e9
    else:
        assert most_unpacked(given) == size


@pytest.mark.parametrize("given", ["", "much", "-1", "nan", "1X", "inf"])
def test_limits_that_are_none(given):
    with pytest.raises(ParameterError, match="max_unpacked must be a number of bytes"):
        most_unpacked(given)


def test_usual_limit_is_part_of_the_memory():
    assert 10**7 < most_unpacked() < 10**14


# ---- headers of arrays, metadata of Parquet ------------------------------------------------------

HEADERS = {
    "parser": "(" * 5000,
    "token": "'''",
    "type": "{'descr': None, 'fortran_order': False, 'shape': (3,), }",
    "memory": "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000, 2), }",
    "negative": "{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 2), }",
    "none": "{'descr': '<U0', 'fortran_order': False, 'shape': (100000000000,), }",
    "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    "list": "[1]",
}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("text", HEADERS.values(), ids=HEADERS)
def test_headers_are_refused_in_one_line(tmp_path, text, version):
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    path = tmp_path / "t.npy"
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + bytes(48))
    for read in (read_file, open_table):
        with pytest.raises(ValueError, match=r"t\.npy is not a plain array of numpy") as caught:
            read(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(2.5),
        np.empty((0, 3)),
        np.array([(1, 2.0)], dtype=[("größe", "<i4"), ("b", ">f8")]),
        np.array(["ü", ""]),
    ],
    ids=repr,
)
def test_arrays_are_read_as_numpy_does(array):
    read = read_array(npy(array))
    assert (read.dtype, read.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(read, array)
    assert read.flags.owndata or read.base.flags.owndata


def test_metadata_of_parquet_are_refused_in_one_line(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = pd.DataFrame({"a": [1.0, 2.0]})
    table = pa.Table.from_pandas(frame)
    path = tmp_path / "t.parquet"
    for text in (b"{", b"[]", b'{"index_columns": 3}', b'{"columns": [1], "index_columns": [{}]}'):
        pq.write_table(table.replace_schema_metadata({b"pandas": text}), path)
        try:
            read_file(path)
        except ValueError as error:
            assert "is not a Parquet file" in str(error)  # noqa: PT017
    whole = io.BytesIO()
    pq.write_table(table, whole)
    path.write_bytes(whole.getvalue()[:-30] + bytes(30))
    with pytest.raises(ValueError, match="is not a Parquet file"):
        read_file(path)
