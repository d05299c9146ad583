import itertools

import pytest

from sticktree.data.sources.text import find_delimiter, names_in_first_row


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("1,5;2,5\n3,5;4,5\n", ";"),
        ("a\tb\nx y\tz\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ('"a;b",c\n"d;e",f\n', ","),
        ("a,b\nx;y,1\nz,2\n", ","),
        ("one column\nNew York\nSan Francisco\n", ","),
        ("1 2\n3 4\n", "whitespace"),
        ("a\n1\n", ","),
        ("", ","),
    ],
)
def test_delimiters_are_found(text, delimiter):
    assert find_delimiter(text) == delimiter


def test_a_line_longer_than_a_cell_may_be_is_no_obstacle():
    line = ",".join(itertools.repeat("1.25", 40_000))
    assert find_delimiter(f"{line}\n{line}\n") == ","


def test_first_rows():
    assert names_in_first_row(["a", "1"])
    assert not names_in_first_row(["1", "", "2e5"])
    assert names_in_first_row(["", ""])
