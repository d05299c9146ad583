"""Numbers as people write them: read where that is certain, asked about where it is not."""

import numpy as np
import pytest

from sticktree.data.sources.numerals import Evidence, MixedError, Numerals, looks_numeric

SPACE, THIN = "\u00a0", "\u202f"


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,5", "2"], [1.5, 2]),
        (["1.5", "2"], [1.5, 2]),
        (["0,125", "0,250"], [0.125, 0.25]),  # no thousands begin with 0
        (["1,234,567", "12"], [1234567, 12]),
        (["1,234.5", "1,000"], [1234.5, 1000]),
        (["1.234,5", "1.000"], [1234.5, 1000]),
        (["1.234.567"], [1234567]),
        (["1'234.5", "12"], [1234.5, 12]),
        ([f"1{SPACE}234,5", "12,5"], [1234.5, 12.5]),
        ([f"1{THIN}234"], [1234]),
        (["12 %", "3.5%"], [12, 3.5]),
        (["$1,234.00", "$5.00"], [1234, 5]),
        (["−1,5", "+2,5"], [-1.5, 2.5]),
        (["1,5e3", "2,0E-1"], [1500, 0.2]),
        (["1.234", "2.345"], [1.234, 2.345]),  # as most programs write it
        (["12,34,567", "1,5"], None),
    ],
)
def test_a_column_shows_how_its_numbers_are_written(cells, values):
    found = Evidence.of(cells).numerals(set()).values(cells)
    assert found is None if values is None else found.tolist() == values


@pytest.mark.parametrize(
    ("cells", "of_file", "values"),
    [
        (["1,234"], {"."}, [1234]),
        (["1,234"], {","}, [1.234]),
        (["1.234"], {","}, [1234]),
        (["1.234"], {".", ","}, None),
        (["1,234"], set(), None),
        (["1,234"], {".", ","}, None),
    ],
)
def test_what_may_mean_two_things_takes_after_the_other_columns_or_is_asked(cells, of_file, values):
    evidence = Evidence.of(cells)
    if values is None:
        with pytest.raises(MixedError, match=r"is that 1\.234 or 1234\?") as error:
            evidence.numerals(of_file)
        assert [option for option, _ in error.value.remedies] == ["decimal", "thousands"]
    else:
        assert evidence.numerals(of_file).values(cells).tolist() == values


@pytest.mark.parametrize("cells", [["1,5", "1.5"], ["5%", "5"], ["1'000", "1,000,000"]])
def test_contradictions_are_not_settled_by_guessing(cells):
    with pytest.raises(MixedError):
        Evidence.of(cells).numerals(set())


def test_whole_numbers_stay_whole():
    assert Numerals(thousands=",").typed(["1,234", "5"]).dtype == np.int64
    assert Numerals(",").typed(["1,0"]).dtype == np.float64
    assert Numerals().typed(["1_000"]) is None


@pytest.mark.parametrize("cell", ["", "x", "1-2", "1.2.3", "12:30", "2021-03-01", "1,2,3", "%"])
def test_what_is_no_number(cell):
    assert not looks_numeric(cell)
