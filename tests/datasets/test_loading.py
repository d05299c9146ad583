import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

from sticktree import datasets
from sticktree.datasets import MissingDataError, load
from sticktree.datasets.catalogue import ENTRIES

from .small import DATA, LABELS, TEXT, make_entry, register

TABLE = "length,width,label\n0.5,2,a\n1.5,-3,b\n2.5,0,a\n"


@pytest.fixture
def entry(monkeypatch):
    found = make_entry("http://localhost:1/small.data")
    register(monkeypatch, found)
    return found


def put(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder


def table(first):
    return f"length,width,label\n{first},2,a\n1.5,-3,b\n2.5,0,a\n"


def test_a_folder_that_is_passed_goes_before_the_one_set_the_variable_and_the_cache(
    entry, cache, tmp_path, monkeypatch
):
    places = [put(tmp_path / name, entry.file, table(k)) for k, name in enumerate("abc")]
    put(cache, entry.file, table(3))
    monkeypatch.setenv("STICKTREE_DATA", str(places[2]))
    datasets.set_data_folder(places[1])
    found = load("small", folder=places[0])
    assert found.data[0, 0] == 0
    assert found.path == places[0] / entry.file
    assert load("small").data[0, 0] == 1
    datasets.set_data_folder(None)
    assert datasets.data_folder() == places[2]
    assert load("small").data[0, 0] == 2
    (places[2] / entry.file).unlink()
    assert load("small").data[0, 0] == 3
    (places[2] / entry.file).write_text(table(4))
    assert load("small", folder=tmp_path).data[0, 0] == 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("small.csv", TABLE),
        ("small.csv", TABLE.replace("length,width", "x0,x1")),
        ("small.csv", "\ufeff" + TABLE.replace("\n", "\r\n")),
        ("small.data", TEXT),
        ("small.data", TEXT.replace("\n", "\r\n") + "\n"),
    ],
)
def test_both_forms_are_read_alike(entry, tmp_path, name, text):
    (tmp_path / name).write_bytes(text.encode())
    found = load("small", folder=tmp_path, download=False)
    np.testing.assert_array_equal(found.data, DATA)
    assert found.data.dtype == np.float64
    assert (found.labels, found.columns, found.rows) == (LABELS, ("length", "width"), None)
    assert found.fingerprint == entry.fingerprint
    assert found.citation == "Nobody, 2000."
    assert repr(found) == "<Dataset 'small': Small, 3 rows, 2 columns, 2 classes>"


def test_names_of_rows_and_gaps(tmp_path, monkeypatch):
    register(monkeypatch, make_entry(labelled=False, row_names="who", originals=(), read=None))
    put(tmp_path, "small.csv", "who,x0,x1\nMEG01,,2\nPC3,1,nan\nNA,3,4\n")
    found = load("small", folder=tmp_path)
    np.testing.assert_array_equal(found.data, [[np.nan, 2], [1, np.nan], [3, 4]])
    assert found.rows == ("MEG01", "PC3", "NA")
    assert found.labels is None
    assert repr(found).endswith("3 rows, 2 columns, 2 values missing>")


@pytest.mark.usefixtures("entry")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the header length,width,label, got nothing"),
        ("0.5,2,a\n1.5,-3,b\n", "must have the header length,width,label, got 0.5,2,a"),
        ("length,label\n1,a\n", "must have the header length,width,label, got length,label"),
        ("width,length,label\n1,2,a\n", "must have the header .*, got width,length,label"),
        ("length,width\n1,2\n", "must have the header .*, got length,width"),
        ("length,width,label\n", "must have 3 rows of 2 numbers, got 0 of 0"),
        ("length,width,label\n1,2,a\n", "must have 3 rows of 2 numbers, got 1 of 2"),
        (TABLE + "1,2,a\n", "must have 3 rows of 2 numbers, got 4 of 2"),
        (TABLE.replace("-3,b", "-3"), "must have 3 fields in every row, got 2 in row 3"),
        (TABLE.replace("-3", "x"), "must have numbers, or nothing .*, got 'x' in row 3"),
    ],
)
def test_a_table_of_another_form_is_refused(tmp_path, text, message):
    put(tmp_path, "small.csv", text)
    with pytest.raises(ValueError, match=f"^{re.escape(str(tmp_path / 'small.csv'))} {message}$"):
        load("small", folder=tmp_path)


@pytest.mark.usefixtures("entry")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as Small: "),
        ("<a,b,c,d>\n", "cannot be read as Small: "),
        ("<html>not found</html>\n", "must have 3 rows of 2 numbers, got 1 of 0"),
        (TEXT + TEXT, "must have 3 rows of 2 numbers, got 6 of 2"),
        (TEXT.replace("-3", "-3.5"), "must have the numbers of Small, got others; delete it"),
        (TEXT.replace("b", "a"), "must have the numbers of Small, got others; delete it"),
    ],
)
def test_an_original_of_other_contents_is_refused(tmp_path, text, message):
    put(tmp_path, "small.data", text)
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path / 'small.data'} {message}")):
        load("small", folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "near"),
    [("r16", "r15"), ("R15", "r15"), ("agregation", "aggregation"), ("breast-cancer", "breast_c")],
)
def test_a_wrong_name_is_told_with_all_names_and_one_that_is_near(name, near):
    with pytest.raises(ValueError, match=f"^name must be one of r15, d31.*; did you mean '{near}"):
        load(name)


@pytest.mark.parametrize("name", ["", "zzzzzz", 7, None, ["r15"]])
def test_where_no_name_is_near_none_is_suggested(name):
    with pytest.raises(ValueError, match=re.escape(f"digits, got {name!r}") + "$"):
        load(name)


def test_a_folder_that_is_passed_must_be_there(tmp_path):
    with pytest.raises(ValueError, match=r"^folder must be a folder that exists, got .*nowhere'$"):
        load("r15", folder=tmp_path / "nowhere")


def test_what_is_missing_is_told_with_its_source_and_three_places(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(MissingDataError) as caught:
        load("ccle", folder=tmp_path, download=False)
    message = str(caught.value)
    assert "the data set 'ccle' is not on this machine, and was not downloaded" in message
    for name in ("sensitivity.txt", "cell_names.txt", "drug_names.txt"):
        assert re.search(rf"{name} from https://raw.*/{name}$", message, re.MULTILINE)
    assert "or write ccle_pydt.csv, a table of 504 rows with the header cell_line,PD-" in message
    assert f"load('ccle', folder=…), now {tmp_path}\n" in message
    assert f"set_data_folder(…), now {tmp_path / 'nowhere'}, where there is no folder" in message
    assert f"the cache: {cache}; STICKTREE_CACHE names another" in message
    assert caught.value.hint == "set STICKTREE_DATA to a folder with ccle_pydt.csv"
    assert isinstance(caught.value, FileNotFoundError)
    again = pickle.loads(pickle.dumps(caught.value))  # as from a worker
    assert (str(again), again.hint) == (message, caught.value.hint)


def test_macaques_are_a_file_of_the_user(tmp_path):
    with pytest.raises(MissingDataError, match=r"no public copy is known: ask .*Willmore") as error:
        load("macaque")
    assert "write macaque.csv, a table of 228 rows" in str(error.value)
    numbers = np.random.default_rng(0).normal(size=(228, 10)).round(2)
    lines = [",".join(map(str, row)) for row in numbers.tolist()]
    names = [f"length {k}" for k in range(10)]
    put(tmp_path, "macaque.csv", "\n".join([",".join(names), *lines]))
    found = load("macaque", folder=tmp_path)
    np.testing.assert_array_equal(found.data, numbers)
    assert found.columns == tuple(names)
    put(tmp_path, "macaque.csv", "\n".join(lines))
    with pytest.raises(ValueError, match="must have the header"):
        load("macaque", folder=tmp_path)
    put(tmp_path, "macaque.csv", "\n".join([",".join(names), *lines[1:]]))
    with pytest.raises(ValueError, match=r"must have 228 rows of 10 numbers, got 227 of 10$"):
        load("macaque", folder=tmp_path)


def test_the_cache_is_where_pooch_has_it(monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("STICKTREE_CACHE")
    assert datasets.cache_folder() == pooch.os_cache("sticktree")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert datasets.cache_folder() == pooch.os_cache("sticktree")


def test_names_are_those_that_load_knows():
    assert len(set(datasets.names())) == len(datasets.names()) == 14
    assert {entry.name for entry in ENTRIES} < set(datasets.names())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_addresses_do_not_move(entry):
    for original in entry.originals:
        assert re.fullmatch("[0-9a-f]{64}", original.sha256)
        for url in original.urls:
            assert url.endswith(f"/{original.name}")
            assert url.startswith("https://")
            assert "uci.edu" in url or re.search("/[0-9a-f]{40}/", url)


@pytest.mark.parametrize("entry", ENTRIES[:-1], ids=lambda entry: entry.name)
def test_the_paper_s_sets(entry, real_data):
    found = load(entry.name, folder=real_data, download=False)
    assert found.data.shape == entry.shape
    assert found.fingerprint == entry.fingerprint
    assert (found.labels is not None) == entry.labelled
    assert (found.rows is not None) == (entry.row_names is not None)
    assert all((found.title, found.description, found.citation, found.terms, found.source))


def test_a_frame(real_data):
    pytest.importorskip("pandas")
    glass = load("glass", folder=real_data).to_frame()
    assert list(glass.columns) == [*["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"], "label"]
    activity = load("ccle_activity", folder=real_data)
    frame = activity.to_frame()
    assert tuple(frame.index) == activity.rows
    assert frame.isna().to_numpy().sum() == 426
    logs = load("ccle", folder=real_data)
    assert (logs.rows, logs.columns) == (activity.rows, activity.columns)


def test_importing_loads_nothing_heavy():
    program = "import sys, sticktree.datasets; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.decode().split()}
    assert not loaded & {"numba", "scipy", "sklearn", "pandas", "matplotlib", "pooch", "requests"}
