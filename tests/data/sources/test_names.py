import pytest

from sticktree.data.sources.naming import distinct, pick_column, pick_columns, split_list

NAMES = ["id", "gene1", "gene2", "7", "species (wild)", "größe"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["gene2", "id"], ["id", "gene2"]),
        (["1-2"], ["gene1", "gene2"]),
        (["4-"], ["species (wild)", "größe"]),
        (["0"], ["id"]),
        (["7"], ["7"]),
        (["gene*"], ["gene1", "gene2"]),
        (["species (wild)", "größe"], ["species (wild)", "größe"]),
        (["id", "0", "0-0"], ["id"]),
    ],
)
def test_columns_are_picked(wanted, found):
    assert pick_columns(NAMES, wanted) == found


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("gen1", "there is no column 'gen1'; did you mean 'gene1'?"),
        ("ID", "there is no column 'ID'; did you mean 'id'?"),
        ("9", "there is no column '9': positions are 0 to 5"),
        ("3-9", "there is no column '3-9': positions are 0 to 5"),
        ("5-3", "there is no column '5-3': positions are 0 to 5"),
        ("zzz", "there is no column 'zzz'; the columns are 'id', 'gene1'"),
    ],
)
def test_unknown_columns_are_told_with_what_there_is(word, message):
    with pytest.raises(ValueError, match="there is no column") as error:
        pick_columns(NAMES, [word])
    assert message in str(error.value)


def test_one_column():
    assert pick_column(NAMES, "7") == "7"
    assert pick_column(NAMES, "1") == "gene1"
    with pytest.raises(ValueError, match="there is no column"):
        pick_column(NAMES, "gene*")


def test_lists():
    assert split_list("a, b,,") == ["a", "b"]
    assert split_list('"a,b",c') == ["a,b", "c"]
    assert split_list("") == []


@pytest.mark.parametrize(
    "names", [["a", "a", "a"], ["a", "a.1", "a"], ["", "Unnamed: 0"], ["a", "b"]]
)
def test_distinct_names_are_distinct_and_keep_what_they_can(names):
    new = distinct(names)
    assert len(set(new)) == len(names)
    if len(set(names)) == len(names) and "" not in names:
        assert new == names
