"""Tables of every format read the same, and say what is wrong before any work."""

import sys

import numpy as np
import pandas as pd
import pytest

from sticktree.chunks import open_table
from sticktree.data.sources.prepared import measure_table
from sticktree.data.sources.tables import recut
from sticktree.engine.bulk.measure import measure

pyarrow = pytest.importorskip("pyarrow")
zarr = pytest.importorskip("zarr")


def numbers(n=1000, dimension=3):
    x = np.random.default_rng(0).normal(size=(n, dimension))
    x[::7, 1] = np.nan
    return x


@pytest.fixture(
    params=["npy", "fortran", "float32", "memmap", "parquet", "folder", "zarr", "zarr2"]
)
def table(request, tmp_path):
    """Return the same rows in some format, and the rows."""
    x, path, form = numbers(), tmp_path / f"x.{request.param}", request.param
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    if form in ("npy", "fortran", "float32", "memmap"):
        path = tmp_path / "x.npy"
        x = x.astype(np.float32).astype(float) if form == "float32" else x
        order = np.asfortranarray(x) if form == "fortran" else x
        np.save(path, order.astype(np.float32) if form == "float32" else order)
        if form == "memmap":
            return open_table(np.load(path, mmap_mode="r")), x
    elif form == "parquet":
        frame.to_parquet(path, row_group_size=130)
    elif form == "folder":
        path.mkdir()
        for k in range(12):  # part.10 comes after part.9
            frame[k * 90 : (k + 1) * 90].to_parquet(path / f"part.{k}.parquet")
        (path / "_SUCCESS").touch()
    else:
        zarr.create_array(path, data=x, chunks=(120, 2), zarr_format=3 if form == "zarr" else 2)
    return open_table(path), x


@pytest.mark.parametrize("n_rows", [1, 64, 120, 999, 5000])
def test_chunks_are_the_rows(table, n_rows):
    table, x = table
    assert table.shape == x.shape == (len(table), table.n_columns)
    first, chunks = zip(*table.chunks(n_rows), strict=True)
    assert list(first) == list(range(0, 1000, n_rows))
    assert all(len(rows) == n_rows for rows in chunks[:-1])
    assert all(rows.dtype == np.float64 and rows.flags.c_contiguous for rows in chunks)
    assert all(rows.flags.writeable for rows in chunks)
    np.testing.assert_array_equal(np.concatenate(chunks), x)


def test_some_columns_and_some_rows(table):
    table, x = table
    np.testing.assert_array_equal(table.read(290, 310), x[290:310])
    np.testing.assert_array_equal(table.read(990, 1010), x[990:])
    some = table.select([2, 0])
    assert some.shape == (1000, 2)
    assert some.names == (None if table.names is None else ("c", "a"))
    np.testing.assert_array_equal(some.read(5, 900), x[5:900, [2, 0]])
    np.testing.assert_array_equal(some.select([1]).read(0, 1000), x[:, [0]])
    assert table.n_columns == 3  # as before


def test_measures_are_those_of_the_rows_in_memory(table):
    table, x = table
    scale, expected = measure_table(table), measure(lambda f: [f(x)])
    np.testing.assert_array_equal(scale.centre, expected.centre)
    np.testing.assert_array_equal(scale.spread, expected.spread)
    np.testing.assert_allclose(scale.spread, np.nanstd(x, axis=0))


def test_recut():
    x = np.arange(60.0).reshape(30, 2)
    for cuts in ([], [7], [1, 2, 29], [10, 20], [3, 3, 3]):
        for n_rows in (1, 4, 10, 30, 31):
            pieces = list(recut(np.split(x, cuts), n_rows))
            assert [len(p) for p in pieces[:-1]] == [n_rows] * (len(pieces) - 1)
            np.testing.assert_array_equal(np.concatenate(pieces), x)


def test_names_choose_columns(tmp_path):
    pd.DataFrame({"a": [1, 2], "word": ["x", "y"], "b": [0.5, None]}).to_parquet(
        tmp_path / "x.parquet"
    )
    table = open_table(tmp_path / "x.parquet", columns=["b", "a"])
    assert table.names == ("b", "a")
    np.testing.assert_array_equal(table.read(0, 2), [[0.5, 1.0], [np.nan, 2.0]])
    assert open_table(table) is table
    assert repr(table).endswith("x.parquet: 2 × 2>")
    for columns, message in (
        (["c"], "has no column 'c'; it has 'a', 'word', 'b'"),
        ([3], "columns must be below 3"),
        ([-1], "columns must be an integer of at least 0, got -1"),
        ([], "columns must name at least one column, got none"),
        (["word"], "column 'word' is of type"),
    ):
        with pytest.raises(ValueError, match=message):
            open_table(tmp_path / "x.parquet", columns=columns)


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([1, None, 3], pyarrow.int8()),
        pyarrow.array([1, None, 3], pyarrow.uint64()),
        pyarrow.array([1, None, 3], pyarrow.decimal128(10, 2)),
        pyarrow.array([1, None, 3], pyarrow.float32()),
        pyarrow.array([1, np.nan, 3], pyarrow.float64(), from_pandas=False),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_any_type_of_number(tmp_path, column):
    pyarrow.parquet.write_table(pyarrow.table({"a": column}), tmp_path / "x.parquet")
    np.testing.assert_array_equal(
        open_table(tmp_path / "x.parquet").read(0, 3), [[1.0], [np.nan], [3.0]]
    )


def test_names_of_rows_are_no_column(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[5, 7, 6])
    frame.to_parquet(tmp_path / "x.parquet")
    assert open_table(tmp_path / "x.parquet").names == ("a",)


# ---- what is wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"must be a table with rows and columns, got shape \(3,\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (np.zeros((0, 2)), "has no rows"),
        (np.zeros((2, 0)), "has no columns"),
        (np.zeros((2, 2), complex), "must hold numbers, got dtype complex128"),
        (np.zeros((2, 2), bool), "must hold numbers, got dtype bool"),
        (np.full((2, 2), "a"), "must hold numbers, got dtype <U1"),
    ],
)
def test_arrays_that_are_no_tables(tmp_path, array, message):
    with pytest.raises(ValueError, match=message):
        open_table(array)
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(ValueError, match=rf"x\.npy .*{message}|{message}"):
        open_table(tmp_path / "x.npy")


def test_files_that_are_damaged(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, numbers())
    whole = path.read_bytes()
    table = open_table(path)
    for content in (b"", b"hello", whole[:60], whole[:-1]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"x\.npy is not a plain array of numpy, or cut short"):
            open_table(path)
    with pytest.raises(ValueError, match="cut short since it was opened"):
        list(table.chunks(100))
    path.write_bytes(b"")
    with np.errstate(), (tmp_path / "many.npy").open("wb") as file:
        np.savez(file, a=numbers(), b=numbers())
    with pytest.raises(ValueError, match="must hold one array, got several"):
        open_table(tmp_path / "many.npy")
    np.save(path, np.array([[None]]), allow_pickle=True)
    with pytest.raises(ValueError, match="not a plain array"):
        open_table(path)


def test_parquet_files_that_are_damaged(tmp_path):
    path = tmp_path / "x.parquet"
    frame = pd.DataFrame(numbers(), columns=["a", "b", "c"])
    frame.to_parquet(path)
    whole = path.read_bytes()
    table = open_table(path)
    for content in (b"", b"hello", whole[:-100]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"x\.parquet is not a Parquet file, or cut short"):
            open_table(path)
        with pytest.raises(ValueError, match="cut short"):
            next(table.chunks(10))
    frame[:10].to_parquet(path)
    with pytest.raises(ValueError, match="another number of rows than the 1,000"):
        list(table.chunks(10))
    damaged = bytearray(whole)
    damaged[4:100] = b"\xff" * 96  # where the first column begins
    path.write_bytes(bytes(damaged))
    with pytest.raises(ValueError, match=r"x\.parquet cannot be read"):
        list(table.chunks(1000))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no Parquet files"),
        (
            {"1.parquet": {"a": [1]}, "2.parquet": {"b": [1]}},
            r"2\.parquet has other columns .* 'a'",
        ),
        ({"1.parquet": {"a": [1]}, "2.parquet": {"a": ["w"]}}, r"2\.parquet .* column 'a' is of"),
        ({"1.parquet": {"a": [1.0][:0]}}, "has no rows"),
        ({"1.parquet": {}}, "has no columns"),
        ({"1.parquet": {"a": [True]}}, "column 'a' is of type bool"),
    ],
)
def test_folders_that_are_no_tables(tmp_path, files, message):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, columns in files.items():
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / name)
    with pytest.raises(ValueError, match=message):
        open_table(folder)


def test_folders_with_an_empty_file_and_columns_in_another_order(tmp_path):
    for name, columns in (
        ("0", {"a": pyarrow.array([], "float64"), "b": pyarrow.array([], "float64")}),
        ("1", {"a": [1.0], "b": [2.0]}),
        ("2", {"b": [4], "a": [3]}),
    ):
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / f"{name}.parquet")
    table = open_table(tmp_path)
    np.testing.assert_array_equal(table.read(0, 2), [[1.0, 2.0], [3.0, 4.0]])
    (tmp_path / "year=2020").mkdir()
    with pytest.raises(ValueError, match="side by side, but has a folder 'year=2020'"):
        open_table(tmp_path)


def test_zarr_folders_that_are_no_tables(tmp_path):
    group = zarr.create_group(tmp_path / "g.zarr")
    with pytest.raises(ValueError, match="is a group of zarr: give one array"):
        open_table(tmp_path / "g.zarr")
    group.create_array("inside", data=np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"give one array, such as .*g\.zarr.inside"):
        open_table(tmp_path / "g.zarr")
    assert open_table(tmp_path / "g.zarr" / "inside").shape == (2, 2)
    (tmp_path / "e.zarr").mkdir()
    with pytest.raises(ValueError, match=r"e\.zarr cannot be read as an array of zarr"):
        open_table(tmp_path / "e.zarr")
    zarr.create_array(tmp_path / "x.zarr", data=np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match=r"got shape \(2, 2, 2\)"):
        open_table(tmp_path / "x.zarr")
    zarr.create_array(tmp_path / "y.zarr", data=numbers(), chunks=(100, 3))
    table = open_table(tmp_path / "y.zarr")
    next(path for path in (tmp_path / "y.zarr" / "c").rglob("*") if path.is_file()).write_bytes(
        b"damaged"
    )
    with pytest.raises(ValueError, match=r"y\.zarr cannot be read"):
        list(table.chunks(1000))


def test_paths_that_are_no_tables(tmp_path):
    with pytest.raises(ValueError, match="there is no file or folder"):
        open_table(tmp_path / "none.npy")
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match=r"x\.csv must be a \.npy or \.parquet file, a folder"):
        open_table(tmp_path / "x.csv")


def test_entries_that_cannot_be_measured(tmp_path):
    x = numbers(40000, 2)
    x[35000, 1] = -np.inf
    with pytest.raises(ValueError, match="contains infinity in row 35000; remove"):
        measure_table(open_table(x))
    x[:, 1] = np.nan
    with pytest.raises(ValueError, match="got only NaN in column 1; remove"):
        measure_table(open_table(x))
    pd.DataFrame(x, columns=["a", "b"]).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="got only NaN in column 'b'"):
        measure_table(open_table(tmp_path / "x.parquet"))


@pytest.mark.parametrize(("package", "extra"), [("pyarrow", "parquet"), ("zarr", "zarr")])
def test_packages_that_are_not_there(tmp_path, monkeypatch, package, extra):
    path = tmp_path / f"x.{extra}"
    if extra == "zarr":
        zarr.create_array(path, data=numbers())
    else:
        pd.DataFrame({"a": [1.0]}).to_parquet(path)
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"pip install 'sticktree\[{extra}\]'"):
        open_table(path)


def test_a_memory_map_keeps_what_was_changed(tmp_path):
    np.save(tmp_path / "x.npy", numbers())
    for mode in ("c", "r+"):
        x = np.load(tmp_path / "x.npy", mmap_mode=mode)
        x[3] = 17.0
        np.testing.assert_array_equal(next(open_table(x).chunks(4))[1][3], [17.0] * 3)
        assert (x[3] == 17.0).all()
