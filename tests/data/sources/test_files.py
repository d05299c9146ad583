"""Files as people have them: every dialect ends in the same table, or in words that help."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from sticktree.data.sources.file_table import ReadingError
from sticktree.data.sources.files import read_bytes, read_file

PLAIN = "name,länge,sex\n007,1.5,f\n008,NA,m\n"


def typed(text, name="t.csv", **options):
    return read_bytes(text.encode() if isinstance(text, str) else text, name, **options).typed()


def zipped(*contents):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for k, content in enumerate(contents):
            archive.writestr(f"inner{k}.csv", content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        (PLAIN, "t.csv", {}),
        (PLAIN, "T.CSV", {}),
        (PLAIN, "t.txt", {}),
        (PLAIN, "-", {"format": "csv"}),
        ("\ufeff" + PLAIN, "t.csv", {}),
        (PLAIN.replace("\n", "\r\n"), "t.csv", {}),
        (PLAIN.replace("\n", "\n\n"), "t.csv", {}),
        (PLAIN.rstrip(), "t.csv", {}),
        (PLAIN.replace(",", "\t"), "t.tsv", {}),
        (PLAIN.replace(",", "\t"), "t.csv", {}),
        (PLAIN.replace(",", "|"), "t.csv", {}),
        (PLAIN.replace(",", ";").replace(".", ","), "t.csv", {"decimal": ","}),
        (PLAIN.replace(",", "~"), "t.csv", {"delimiter": "~"}),
        (PLAIN.replace(",", "   "), "t.dat", {"delimiter": "whitespace"}),
        (PLAIN.replace(",", " , "), "t.csv", {}),
        (PLAIN.replace("NA", "?"), "t.csv", {"missing": ["?"]}),
        (PLAIN.replace("NA", "-999.0"), "t.csv", {"missing": ["-999"]}),
        (PLAIN.replace("NA", ""), "t.csv", {}),
        (PLAIN.split("\n", 1)[1], "t.csv", {"header": False}),
        ('"name","länge","sex"\n"007","1.5","f"\n"008",NA,m\n', "t.csv", {}),
        (PLAIN.encode("latin-1"), "t.csv", {"encoding": "latin-1"}),
        (PLAIN.encode("utf-16"), "t.csv", {}),
        (gzip.compress(PLAIN.encode(), mtime=0), "t.csv.gz", {}),
        (bz2.compress(PLAIN.encode()), "t.csv.bz2", {}),
        (lzma.compress(PLAIN.encode()), "t.csv.xz", {}),
        (zipped(PLAIN), "t.zip", {}),
    ],
)
def test_every_dialect_gives_the_same_table(text, name, options):
    content = text.encode() if isinstance(text, str) else text
    table = read_bytes(content, name, **options)
    names = ["x0", "x1", "x2"] if options.get("header") is False else ["name", "länge", "sex"]
    assert table.names == names
    assert table.words(names[0]) == ["007", "008"]
    assert table.words(names[2]) == ["f", "m"]
    np.testing.assert_array_equal(table.typed([names[1]])[names[1]], [1.5, np.nan])


def test_parquet_and_npy_keep_their_types(tmp_path):
    frame = pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None], "c": [1, -9]})
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_file(tmp_path / "t.parquet")
    assert table.names == ["a", "b", "c"]
    assert table.words("b") == ["x", None]
    assert table.words("c") == ["1", "-9"]
    assert table.typed()["c"].tolist() == [1, -9]
    marked = read_file(tmp_path / "t.parquet", missing=["-9"])
    np.testing.assert_array_equal(marked.typed()["c"], [1, np.nan])
    np.save(tmp_path / "t.npy", [[1.0, 2.0], [3.0, np.nan]])
    table = read_file(tmp_path / "t.npy")
    assert table.names == ["x0", "x1"]
    np.testing.assert_array_equal(table.typed(), [[1.0, 2.0], [3.0, np.nan]])
    np.save(tmp_path / "t.npy", np.array([(1.0, 2)], dtype=[("a", float), ("b", int)]))
    assert read_file(tmp_path / "t.npy").names == ["a", "b"]
    np.save(tmp_path / "t.npy", [1.0, 2.0])
    assert read_file(tmp_path / "t.npy").typed().shape == (2, 1)


def test_an_index_with_a_name_is_a_column_of_a_parquet_file(tmp_path):
    frame = pd.DataFrame({"a": [1.0]}, index=pd.Index(["r"], name="plant"))
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_file(tmp_path / "t.parquet").names == ["plant", "a"]


@pytest.mark.parametrize(
    ("content", "name", "options", "message"),
    [
        (b"", "t.csv", {}, "t.csv is empty"),
        (b"a,b\n", "t.csv", {}, "t.csv has no rows"),
        (b"a,b\n1,2\n1,2,3\n", "t.csv", {}, "with commas between its cells: Expected 2 fields"),
        (
            b"a\n\xe9\n",
            "t.csv",
            {"encoding": "utf-8"},
            "must be that of t.csv, got utf-8, by which",
        ),
        (b"a\n\0\xe9\n", "t.csv", {}, "t.csv is not text: it has zero bytes"),
        (b"a\n1\n", "t.csv", {"encoding": "utf-9"}, "encoding must be one that Python knows"),
        (b"a\n1\n", "t.sav", {}, "format must be given, as t.sav does not tell it by its ending"),
        (b"a\n1\n", "t.sav", {"format": "sav"}, "format must be one of csv, tsv, xlsx, xls, ods"),
        (b"a\n1\n", "t.xlsx", {}, "t.xlsx is not a spreadsheet that can be read"),
        (b"a\n1\n", "t.feather", {}, "t.feather is not a Feather file"),
        (b"a\n1\n", "t.csv", {"sheet": ["x"]}, "sheet must be left out for t.csv"),
        (b"a\n1\n", "t.csv", {"thousands": "!"}, "thousands must be a comma, a point, a space"),
        (b"a\n1\n", "t.csv.gz", {}, "t.csv.gz cannot be unpacked"),
        (b"a\n1\n", "t.zip", {}, "t.zip cannot be unpacked"),
        (zipped("a\n1\n", "b\n1\n"), "t.zip", {}, "must hold one file, got 2"),
        (b"a\n1\n", "t.parquet", {}, "t.parquet is not a Parquet file"),
        (b"a\n1\n", "t.npy", {}, "t.npy is not a plain array"),
        (b"a,b\n1,2\n", "t.csv", {"decimal": ","}, "decimal must be one character other than"),
    ],
)
def test_what_cannot_be_read_is_said(content, name, options, message):
    with pytest.raises(ValueError, match=r".") as error:
        read_bytes(content, name, **options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_arrays_of_objects_are_not_unpickled(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[object()]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="not a plain array"):
        read_file(tmp_path / "t.npy")
    np.save(tmp_path / "t.npy", np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="got shape"):
        read_file(tmp_path / "t.npy")


def test_a_first_row_of_numbers_is_data_unless_said_otherwise():
    table = read_bytes(b"2019,2020\n1,2\n", "t.csv")
    assert len(table) == 2
    assert "taken as data" in table.notes[0]
    table = read_bytes(b"2019,2020\n1,2\n", "t.csv", header=True)
    assert table.names == ["2019", "2020"]
    assert len(table) == 1
    assert table.notes == ()


def test_columns_of_the_same_name_and_of_none_are_told_apart():
    table = read_bytes(b"a,a,,a.1\n1,2,3,4\n", "t.csv")
    assert len(set(table.names)) == 4
    assert table.names[0] == "a"
    assert table.names[3] == "a.1"
    assert "Unnamed: 2" in table.notes[0]


def test_quotes_keep_delimiters_lines_and_quotes_in_a_cell():
    table = read_bytes(b'a,"b, ""c"""\n"x\ny",1\n(z),2\n', "t.csv")
    assert table.names == ["a", 'b, "c"']
    assert table.words("a") == ["x\ny", "(z)"]


# ---- cells -------------------------------------------------------------------------------------


def column(*cells, **options):
    text = "\n".join(["a,b", *(f'"{cell}",1' for cell in cells)])
    kinds = options.pop("kinds", None)
    return read_bytes(text.encode(), "t.csv", **options).typed(["a"], kinds)["a"]


def test_types_of_text_columns():
    assert column("1", "-2").dtype == np.int64
    assert column("1", "2.0").dtype == np.float64
    assert column("1", "").tolist()[0] == 1.0
    assert column("TRUE", "false").tolist() == [True, False]
    assert column("x", "y").tolist() == ["x", "y"]
    assert column("x", "null", "y").isna().tolist() == [False, True, False]
    assert column("", "").isna().all()
    assert column("1_000", "x", "y").tolist() == ["1_000", "x", "y"]


def test_categories_keep_how_they_are_written():
    kinds = {"a": "categorical"}
    assert column("01", "2", kinds=kinds).tolist() == ["01", "2"]
    assert column("1", "2", kinds=kinds).tolist() == [1, 2]
    assert column("1.0", "2", kinds=kinds).tolist() == ["1.0", "2"]


def test_numbers_survive_exactly():
    numbers = np.random.default_rng(0).standard_normal(50)
    np.testing.assert_array_equal(column(*map(repr, numbers.tolist())), numbers)


@pytest.mark.parametrize(
    ("cells", "kinds", "words"),
    [
        (("1", "2", "low", "low"), None, "holds 'low' (row 2 and 1 more): among numbers"),
        (("1,5", "2.5"), None, "has decimal points and decimal commas, such as '2.5' and '1,5'"),
        (("1,500", "2"), None, "has numbers such as '1,500': is that 1.500 or 1500?"),
        (("5%", "2"), None, "has '%' at some of its numbers, and not at others"),
        (("x", "2"), {"a": "poisson"}, "holds 'x' (row 0): not a number, as a poisson column"),
    ],
)
def test_a_cell_that_does_not_fit_is_named(cells, kinds, words):
    with pytest.raises(ReadingError) as error:
        column(*cells, kinds=kinds)
    assert words in str(error.value)
    assert list(error.value.problems) == ["a"]


def test_new_rows_are_read_in_the_form_of_old_ones():
    from sticktree.data import read_table

    text = b"n,s,t,c,d\n1,x,true,1,01\n2,y,false,2,2\n2,y,false,2,2\n"
    kinds = {"c": "categorical", "d": "categorical"}
    first = read_bytes(text, "t.csv").typed(kinds=kinds)
    columns = read_table(first, kinds).columns
    text = b"d,c,t,s,n,more\n01,2.0,TRUE,y,NA,0\n,,,,,\n"
    new = read_bytes(text, "t.csv").typed_like(columns)
    assert list(new) == ["n", "s", "t", "c", "d"]
    expected = [[np.nan, 1, 1, 1, 0], [np.nan] * 5]
    np.testing.assert_array_equal(columns.encode(new), expected)
    # A typed file may hold numbers where a text file had words.
    numbers = pd.DataFrame({"n": [1], "s": ["x"], "t": [True], "c": [2], "d": [2]})
    file = io.BytesIO()
    numbers.to_parquet(file)
    typed_new = read_bytes(file.getvalue(), "t.parquet").typed_like(columns)
    np.testing.assert_array_equal(columns.encode(typed_new), [[1, 0, 1, 1, 1]])
