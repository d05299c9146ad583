import numpy as np
import pytest

from sticktree import datasets
from sticktree.datasets import MissingDataError, load_suite, suite_folder, suite_names

TEXT = "x0,x1,label0,label1\n0,1.5,1,1\n-2,3,1,0\n4,5,2,1\n"


def put(folder, name="wut-few.csv", text=TEXT):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder


def test_rows_and_every_labelling_are_read(tmp_path):
    put(tmp_path)
    put(tmp_path, "uci-one.csv", "x0,label0\n7,1\n8,2\n")
    put(tmp_path, "peers.csv", "set,ari\n")
    put(tmp_path, "my-own.csv", "a,b\n1,2\n")
    one, few = load_suite(folder=tmp_path)
    assert (one.name, one.collection, few.name) == ("uci-one", "uci", "wut-few")
    np.testing.assert_array_equal(few.data, [[0, 1.5], [-2, 3], [4, 5]])
    np.testing.assert_array_equal(few.references, [[1, 1, 2], [1, 0, 1]])
    assert repr(few) == "<SuiteSet 'wut-few': 3 rows, 2 columns, 2 labelled>"
    assert [one.name for one in load_suite(["wut-few"], folder=tmp_path)] == ["wut-few"]


@pytest.mark.parametrize("where", [".", "data/suite", "suite"])
def test_it_lies_in_the_data_folder_or_in_a_folder_in_it_or_beside_it(tmp_path, monkeypatch, where):
    data = tmp_path / "data"
    data.mkdir()
    found = put(data if where == "." else tmp_path / where)
    monkeypatch.setenv("STICKTREE_DATA", str(data))
    assert suite_folder() == found
    assert suite_names() == ("wut-few",)
    monkeypatch.delenv("STICKTREE_DATA")
    datasets.set_data_folder(data)
    assert len(load_suite()) == 1


def test_what_is_nowhere_is_told_plainly(tmp_path, monkeypatch):
    with pytest.raises(MissingDataError, match="no data folder is chosen; set STICKTREE_DATA"):
        load_suite()
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(MissingDataError, match="nowhere has none, nor suite by it") as caught:
        suite_names()
    assert caught.value.hint == "set STICKTREE_DATA to a folder with the clustering suite"


def test_a_name_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    put(tmp_path)
    with pytest.raises(ValueError, match="names must be any of wut-few, got 'wut-x1'"):
        load_suite(["wut-x1"], folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the header x0,x1,…,label0,…, got nothing"),
        ("x0,x1\n1,2\n", "must have the header x0,x1,…,label0,…, got x0,x1"),
        ("label0\n1\n", "must have the header"),
        ("x0,label\n1,1\n", "must have the header x0,x1,…,label0,…, got x0,label"),
        ("x0,label0\n", "must have rows with labels"),
        ("x0,label0\n1,-1\n", "must have rows with labels numbered from 1, or 0 for noise"),
        ("x0,label0\n1\n", "must have "),
        ("x0,label0\na,1\n", "must have 1 numbers and 1 labels in every row: .*'a'"),
        ("x0,label0\n1,b\n", "must have 1 numbers and 1 labels in every row: .*'b'"),
        ("x0,label0\n1,1\n2\n", "must have 1 numbers and 1 labels in every row"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path, text, message):
    put(tmp_path, text=text)
    with pytest.raises(ValueError, match=rf"wut-few\.csv {message}"):
        load_suite(folder=tmp_path)


def test_the_public_sets_where_they_are(real_data):
    try:
        found = load_suite(folder=real_data)
    except MissingDataError as reason:
        pytest.skip(str(reason))
    for one in found:
        assert np.isfinite(one.data).all()
        for reference in one.references:
            assert reference.shape == (len(one.data),)
            k = reference.max()
            assert set(range(1, k + 1)) <= set(reference.tolist()) <= set(range(k + 1))
