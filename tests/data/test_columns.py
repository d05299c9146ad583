"""Tables of any make become matrices of floats and come back; mistakes are named by their place."""

import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest

from sticktree.data import read_table, smallest_gap
from sticktree.engine.own.kinds import DECLARED
from sticktree.tree import NULL

NAN = np.nan


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


@pytest.fixture
def polars():
    return pytest.importorskip("polars")


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    """Return the data frame of each package."""
    return pytest.importorskip(request.param).DataFrame


def people():
    return {
        "dose": [0.5, 1.5, None, 4.0],
        "age": [31, 45, 27, 62],
        "smokes": [True, False, True, True],
        "sex": ["m", "f", None, "f"],
        "visits": [0, 3, 1, 2],
    }


KINDS_OF_PEOPLE = {"dose": "lognormal", "visits": "poisson"}
ENCODED = [
    [np.log(0.5), 31, 1, 1, 0],
    [np.log(1.5), 45, 0, 0, 3],
    [NAN, 27, 1, NAN, 1],
    [np.log(4.0), 62, 1, 0, 2],
]

# ---- reading -----------------------------------------------------------------------------------


def test_frames_are_read_by_their_types(frame):
    columns = read_table(frame(people())).columns
    assert columns.names == ("dose", "age", "smokes", "sex", "visits")
    assert columns.declared == ("gaussian", "gaussian", "bernoulli", "categorical", "gaussian")
    assert columns.kinds == ("gaussian", "gaussian", "categorical", "categorical", "gaussian")
    assert columns.categories == ((), (), (False, True), ("f", "m"), ())
    assert columns.n_categories == (0, 0, 2, 2, 0)


def test_kinds_may_be_given_by_name_by_position_and_in_order(frame):
    by_name = read_table(frame(people()), KINDS_OF_PEOPLE)
    by_position = read_table(frame(people()), {0: "lognormal", 4: "poisson"})
    in_order = read_table(frame(people()), ["lognormal", None, None, None, "poisson"])
    for table in (by_name, by_position, in_order):
        np.testing.assert_allclose(table.values, ENCODED)
        assert table.values.flags.c_contiguous
        assert table.columns.kinds[4] == "poisson"


@pytest.mark.parametrize("make", [list, lambda x: np.array(x, dtype=object)], ids=["list", "array"])
def test_lists_and_arrays_of_objects_are_read_as_declared(make):
    rows = make([list(row) for row in zip(*people().values(), strict=True)])
    kinds = ["lognormal", "gaussian", "bernoulli", "categorical", "poisson"]
    np.testing.assert_allclose(read_table(rows, kinds).values, ENCODED)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint8, bool, object, ">f8"])
def test_arrays_of_numbers_are_gaussian(dtype):
    data = np.array([[0, 1], [1, 1], [1, 0]]).astype(dtype)
    table = read_table(data)
    assert table.columns.kinds == ("gaussian", "gaussian")
    assert table.values.dtype == np.float64
    np.testing.assert_array_equal(table.values, data.astype(float))
    assert not np.shares_memory(table.values, data)
    assert "\n" not in table.columns.describe()


@pytest.mark.parametrize("empty", [None, NAN, np.float32("nan"), Decimal("nan"), "", "  ", "nan"])
@pytest.mark.parametrize("kind", DECLARED)
def test_missing_is_missing_in_every_kind(empty, kind):
    if kind in ("bernoulli", "categorical") and empty == "nan":
        pytest.skip("a category may have any name")
    if kind == "binomial" and empty == "nan":
        pytest.skip("a text of two numbers is no number")
    column = [[1.0], [empty], [2.0], [1.0]]
    if kind == "binomial":
        column = [["1/3"], [empty], ["2/3"], ["1/3"]]
    values = read_table(column, [kind]).values
    np.testing.assert_array_equal(np.isnan(values[:, 0]), [False, True, False, False])


def test_missing_of_pandas_is_missing(pandas):
    data = pandas.DataFrame(
        {
            "a": pandas.array([1, None, 3], dtype="Int64"),
            "b": pandas.array([True, None, False], dtype="boolean"),
            "c": pandas.array(["x", pandas.NA, "y"], dtype="string"),
            "d": pandas.Categorical(["u", None, "v"]),
            "e": pandas.Series([1.5, pandas.NA, 2], dtype=object),
            "f": pandas.Series([True, None, False], dtype=object),
            "g": pandas.Series(["p", pandas.NaT, "q"], dtype=object),
        }
    )
    table = read_table(data)
    assert table.columns.declared == (
        "gaussian",
        "bernoulli",
        "categorical",
        "categorical",
        "gaussian",
        "bernoulli",
        "categorical",
    )
    expected = [[1, 1, 0, 0, 1.5, 1, 0], [NAN] * 7, [3, 0, 1, 1, 2, 0, 1]]
    np.testing.assert_array_equal(table.values, expected)


def test_missing_of_polars_is_missing(polars):
    data = polars.DataFrame(
        {
            "a": [1, None, 3],
            "b": [True, None, False],
            "c": polars.Series(["x", None, "y"], dtype=polars.Categorical),
            "d": polars.Series(["u", None, "v"], dtype=polars.Enum(["v", "w", "u"])),
            "e": [1.5, None, NAN],
        }
    )
    table = read_table(data)
    assert table.columns.categories == ((), (False, True), ("x", "y"), ("u", "v", "w"), ())
    np.testing.assert_array_equal(table.values, [[1, 1, 0, 0, 1.5], [NAN] * 5, [3, 0, 1, 1, NAN]])


def test_masked_entries_are_missing():
    data = np.ma.MaskedArray([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(read_table(data).values, [[1, NAN], [3, 4]])


def test_categories_are_sorted_values_of_any_kind(pandas):
    data = pandas.DataFrame({"a": [3, 1, 1], "b": ["z", 2, "a"]})
    assert read_table(data, {"a": "categorical"}).columns.categories == ((1, 3), (2, "a", "z"))


def test_levels_that_do_not_occur_are_categories_all_the_same(pandas):
    data = pandas.DataFrame({"a": pandas.Categorical(["y", "x"], categories=["z", "y", "x"])})
    columns = read_table(data).columns
    assert columns.categories == (("x", "y", "z"),)
    assert columns.encode(pandas.DataFrame({"a": ["z"]})) == 2


def test_truth_values_may_be_all_the_same():
    assert read_table([[0], [0]], ["bernoulli"]).columns.categories == ((0, 1),)
    assert read_table([[True], [True]], ["bernoulli"]).columns.categories == ((False, True),)


def test_reading_needs_no_package_of_data_frames():
    code = (
        "import sys, sticktree.data as t; t.read_table([[1.0], [2.0]]);"
        "sys.exit(bool({'pandas', 'polars'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- new rows ----------------------------------------------------------------------------------


def test_new_rows_are_read_as_the_first_were(frame):
    columns = read_table(frame(people()), KINDS_OF_PEOPLE).columns
    new = {"dose": [1.0], "age": [5], "smokes": [False], "sex": ["m"], "visits": [9]}
    expected = [[0.0, 5, 0, 1, 9]]
    np.testing.assert_array_equal(columns.encode(frame(new)), expected)
    np.testing.assert_array_equal(columns.encode([[1.0, 5, False, "m", 9]]), expected)
    np.testing.assert_array_equal(read_table(frame(new), table=columns).values, expected)
    new["sex"] = [None]
    assert np.isnan(columns.encode(frame(new))[0, 3])


def test_integers_that_became_floats_are_the_same_categories():
    columns = read_table(np.array([[1], [2], [2]]), ["categorical"]).columns
    np.testing.assert_array_equal(columns.encode([[2.0], [NAN], [1]]), [[1], [NAN], [0]])


def test_unknown_categories_are_refused(frame):
    columns = read_table(frame(people())).columns
    new = people() | {"sex": ["m", "f", "x", None]}
    with pytest.raises(ValueError, match=r"column 'sex', row 2: 'x' is not one of .* 'f', 'm'"):
        columns.encode(frame(new))


def test_columns_must_be_those_of_the_first_table(frame):
    columns = read_table(frame(people())).columns
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 5 features"):
        columns.encode(frame({"dose": [1.0], "age": [2]}))
    renamed = {("years" if name == "age" else name): v for name, v in people().items()}
    with pytest.raises(ValueError, match=r"feature names should match .* 'years'\. .* 'age'"):
        columns.encode(frame(renamed))
    turned = dict(reversed(people().items()))
    with pytest.raises(ValueError, match=r"feature names should match .* same order"):
        columns.encode(frame(turned))


def test_columns_survive_pickling(frame):
    columns = read_table(frame(people()), KINDS_OF_PEOPLE).columns
    copy = pickle.loads(pickle.dumps(columns))
    assert copy == columns
    np.testing.assert_allclose(copy.encode(frame(people())), ENCODED)


def test_frames_come_back_in_a_process_that_has_seen_none(pandas, tmp_path):
    table = read_table(pandas.DataFrame({"a": [1.5, 2.5]}))
    (tmp_path / "columns").write_bytes(pickle.dumps(table.columns))
    code = (
        "import pickle, sys; import numpy as np; columns = pickle.load(open(sys.argv[1], 'rb'));"
        "assert 'pandas' not in sys.modules; print(columns.decode(np.ones((1, 1))).columns[0])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "columns")]
    assert subprocess.run(command, check=True, capture_output=True).stdout.split() == [b"a"]


def test_log_jacobian_turns_densities_into_the_units_of_the_user():
    rng = np.random.default_rng(0)
    data = np.exp(rng.normal(size=(50, 3)))
    data[3, 0] = data[4, 2] = np.nan
    table = read_table(data, {0: "lognormal", 2: "lognormal"})
    expected = -np.nan_to_num(np.log(data[:, [0, 2]])).sum(axis=1)
    np.testing.assert_allclose(table.columns.log_jacobian(table.values), expected)
    plain = read_table(data)
    np.testing.assert_array_equal(plain.columns.log_jacobian(plain.values), np.zeros(50))


# ---- and back ----------------------------------------------------------------------------------


def test_frames_come_back(frame):
    data = frame(people())
    table = read_table(data, KINDS_OF_PEOPLE)
    back = table.columns.decode(table.values)
    assert type(back) is type(data)
    assert list(back.columns) == list(data.columns)
    for name in ("smokes", "sex", "visits"):
        assert back[name].dtype == data[name].dtype
        assert [None if v != v else v for v in back[name].to_list()] == people()[name]
    assert back["age"].to_list() == people()["age"]
    dose = back["dose"].to_list()
    assert dose[2] is None or np.isnan(dose[2])
    np.testing.assert_allclose([dose[0], dose[1], dose[3]], [0.5, 1.5, 4.0])
    np.testing.assert_allclose(table.columns.encode(back), table.values)


def test_types_of_categories_come_back(pandas):
    data = pandas.DataFrame(
        {
            "a": pandas.Categorical(["y", "x", "y"], categories=["y", "x", "z"], ordered=True),
            "b": pandas.array([1, 2, 1], dtype="Int64"),
            "c": np.array([4, 5, 5]),
            "d": [True, False, True],
        },
        index=["p", "q", "r"],
    )
    table = read_table(data, {"b": "categorical", "c": "categorical"})
    back = table.columns.decode(table.values, index=data.index)
    pandas.testing.assert_frame_equal(back, data)
    missing = np.full((1, 4), np.nan)
    assert table.columns.decode(missing).isna().all().all()


def test_polars_types_of_categories_come_back(polars):
    data = polars.DataFrame(
        {
            "a": polars.Series(["u", "v", "u"], dtype=polars.Enum(["v", "u"])),
            "b": polars.Series([1, 2, 1], dtype=polars.Int8),
            "c": [True, False, True],
        }
    )
    table = read_table(data, {"b": "categorical"})
    assert table.columns.decode(table.values).equals(data)
    assert table.columns.decode(np.full((2, 3), np.nan)).null_count().row(0) == (2, 2, 2)


def test_frames_with_equal_and_odd_names_come_back(pandas):
    data = pandas.DataFrame([[1.0, 2.0, 3.0]] * 2, columns=["x", "x", ("a", 1)])
    back = read_table(data)
    assert list(back.columns.decode(back.values).columns) == ["x", "x", ("a", 1)]
    with pytest.raises(ValueError, match="2 columns of that name"):
        read_table(data, {"x": "lognormal"})


def test_arrays_come_back():
    data = np.array([[1.5, 7.0, 2.0], [2.5, 9.0, 0.0], [0.5, 7.0, 5.0]])
    table = read_table(data, ["lognormal", "categorical", "poisson"])
    back = table.columns.decode(table.values)
    assert back.dtype == np.float64
    np.testing.assert_allclose(back, data)
    words = read_table([[1.5, "a"], [2.5, "b"], [NAN, None]], {1: "categorical"})
    back = words.columns.decode(words.values)
    assert back.dtype == object
    assert back[:2].tolist() == [[1.5, "a"], [2.5, "b"]]
    assert back[2, 1] is None
    with pytest.raises(ValueError, match="matrix must have 2 columns"):
        words.columns.decode(np.zeros((3, 3)))


# ---- successes out of trials --------------------------------------------------------------------


def shots():
    return {"x": [0.5, 1.5, 2.5], "hits": [3, None, 2], "shots": [10, 4, None]}


def test_successes_and_trials_are_given_as_two_columns(frame):
    expected = [[0.5, 3, 10], [1.5, NAN, 4], [2.5, NAN, NAN]]  # without trials nothing is known
    for key in ("hits/shots", ("hits", "shots"), (1, 2)):
        table = read_table(frame(shots()), {key: "binomial"})
        np.testing.assert_array_equal(table.values, expected)
        assert table.columns.declared == ("gaussian", "binomial", "trials")
        assert table.columns.trials == (NULL, 2, NULL)
        assert str(table.columns) == "columns: 1 gaussian (x), 1 binomial (hits/shots)"
    for key in ("1/2", (1, 2)):
        rows = [list(row) for row in zip(*shots().values(), strict=True)]
        np.testing.assert_array_equal(read_table(rows, {key: "binomial"}).values, expected)


def test_two_binomial_columns_may_have_the_same_trials():
    rows = [[1, 5, 2], [3, 5, 0]]
    table = read_table(rows, {"0/1": "binomial", "2/1": "binomial"})
    assert table.columns.trials == (1, NULL, 1)
    np.testing.assert_array_equal(table.values, rows)


def test_names_may_have_a_slash_of_their_own(frame):
    data = {"a/b": [1, 2], "c": [3, 4], "d": ["1/2", "2/2"]}
    assert read_table(frame(data), {"a/b/c": "binomial"}).columns.trials[0] == 1
    assert read_table(frame(data), {"a/b": "poisson"}).columns.kinds[0] == "poisson"


def test_texts_of_successes_and_trials_are_two_columns_and_come_back(frame):
    data = {"won": ["3/10", " 0 / 4", "/7", None], "x": [1.0, 2.0, 3.0, 4.0], "z": ["1/1"] * 4}
    kinds = {"won": "binomial", "x": "gaussian", "z": "binomial"}
    table = read_table(frame(data), kinds)
    successes, trials = [3, 0, NAN, NAN], [10, 4, 7, NAN]
    np.testing.assert_array_equal(table.values[:, :3].T, [successes, trials, data["x"]])
    assert table.columns.names == ("won", "won trials", "x", "z", "z trials")
    assert table.columns.trials == (1, NULL, NULL, 4, NULL)
    assert table.columns.given == ("won", "x", "z")
    back = table.columns.decode(table.values)
    assert list(back.columns) == ["won", "x", "z"]
    assert [None if v != v else v for v in back["won"].to_list()] == ["3/10", "0/4", "/7", None]
    np.testing.assert_array_equal(table.columns.encode(frame(data)), table.values)
    with pytest.raises(ValueError, match="X has 2 features, but the mixture is expecting 3"):
        table.columns.encode(frame({"won": ["1/2"], "x": [1.0]}))


def test_imputed_means_of_counts_are_not_cut_off():
    columns = read_table([[1], [2]], ["poisson"]).columns
    assert columns.decode(np.array([[0.9], [2.0]])).tolist() == [[0.9], [2.0]]


# ---- words -------------------------------------------------------------------------------------


def test_what_was_inferred_is_said(frame):
    text = str(read_table(frame(people()), {"dose": "lognormal"}).columns)
    assert text.splitlines()[0] == (
        "columns: 2 gaussian (age, visits), 1 lognormal (dose), "
        "1 bernoulli (smokes: False or True), 1 categorical (sex: 2 categories)"
    )
    assert "whole numbers are gaussian unless declared otherwise: age, visits" in text


def test_descriptions_of_wide_tables_are_short():
    assert len(read_table(np.eye(500)).columns.describe()) < 100


# ---- mistakes ----------------------------------------------------------------------------------

MISTAKES = {
    "text": ([[1.0], ["high"]], None, r"column 0, row 1: 'high' is not a number.*categorical"),
    "infinite": ([[1.0], [2.0], [np.inf]], None, r"column 0, row 2: inf is infinite"),
    "infinite text": ([[1.0], ["-inf"]], None, r"column 0, row 1: -inf is infinite"),
    "zero": ([[1.0], [0.0], [-1.0]], ["lognormal"], r"row 1: 0 is not above 0.*1 more rows"),
    "negative": ([[1], [-2]], ["poisson"], r"column 0, row 1: -2 is not a count: a poisson"),
    "fraction": ([[1], [1.5]], ["negative_binomial"], r"row 1: 1.5 is not a count: a negative_b"),
    "three": ([[1], [2], [3]], ["bernoulli"], r"needs two values, but has 3: 1, 2, 3; .*categ"),
    "one word": ([["a"], ["a"]], ["bernoulli"], r"needs two values, but has 1: 'a'$"),
    "one category": ([["a"], ["a"]], ["categorical"], r"one value only, 'a'"),
    "names": ([[f"id{k}"] for k in range(30)], ["categorical"], r"another value in every row"),
    "many": ([[k // 2] for k in range(2002)], ["categorical"], r"has 1001 categories, more than"),
    "empty": ([[1.0, None], [2.0, ""]], None, r"only missing ones in column 1; remove"),
    "unknown kind": ([[1.0]], ["gausian"], r"columns\[0\] must be .*did you mean 'gaussian'\?"),
    "kind": ([[1.0]], {0: 5}, r"columns\[0\] must be one of gaussian, .* got 5"),
    "too few": ([[1.0, 2.0]], ["gaussian"], r"each of the 2 columns of X, got 1"),
    "word": ([[1.0, 2.0]], "gaussian", r"columns must be a dict .* got 'gaussian'"),
    "position": ([[1.0, 2.0]], {2: "gaussian"}, r"the key 2, .* positions, 0 to 1"),
    "name": ([[1.0, 2.0]], {"x": "gaussian"}, r"the key 'x', .* positions, 0 to 1"),
    "ragged": ([[1.0, 2.0], [1.0]], None, r"rows all have the same length"),
    "one dimension": ([1.0, 2.0], None, r"Expected 2D array, got 1D"),
    "three dimensions": (np.zeros((2, 2, 2)), None, r"dim 3"),
    "no rows": (np.empty((0, 2)), None, r"0 sample\(s\)"),
    "no columns": (np.empty((2, 0)), None, r"0 feature\(s\)"),
    "complex": (np.ones((2, 2)) * 1j, None, r"Complex data not supported"),
    "more successes": ([[1, 3], [4, 3]], {"0/1": "binomial"}, r"row 1: 4 successes are more than"),
    "half a trial": ([[1, 3.5]], {"0/1": "binomial"}, r"column 1, row 0: 3.5 is not a count"),
    "no trials": ([[1.0], [2.0]], ["binomial"], r"row 0: 1.0 is not .* such as 3/10; if these"),
    "one column": ([[1, 3]], {"0/0": "binomial"}, r"needs two columns, one of them for the tri"),
    "no such pair": ([[1, 3]], {"0/2": "binomial"}, r"the key 2, .* positions, 0 to 1"),
    "trials alone": ([[1, 3]], ["trials", None], r"columns\[0\] must be one of"),
    "dates": (np.array([["2020-01-01"]], dtype="M8[D]"), None, r"column 0 holds dates"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_by_their_place(name):
    data, kinds, words = MISTAKES[name]
    with pytest.raises(ValueError, match=words):
        read_table(data, kinds)


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_cells_that_are_no_cells_are_refused(kind):
    with pytest.raises(TypeError, match=r"column 0, row 1: .*must be a string or a number"):
        read_table([[1.0], [{"foo": "bar"}]], [kind])


def test_sparse_and_lazy_tables_are_refused(polars):
    from scipy import sparse

    with pytest.raises(TypeError, match="dense data is required"):
        read_table(sparse.csr_matrix(np.eye(2)))
    with pytest.raises(TypeError, match="collect"):
        read_table(polars.LazyFrame({"a": [1]}))


def test_mistakes_in_frames_have_names(frame):
    with pytest.raises(ValueError, match=r"column 'sex', row 0: 'm' is not a number"):
        read_table(frame(people()), {"sex": "gaussian"})
    with pytest.raises(ValueError, match=r"'smoke', .*did you mean 'smokes'\?.* 'dose', 'age'"):
        read_table(frame(people()), {"smoke": "bernoulli"})
    with pytest.raises(ValueError, match=r"only missing ones in column 'a'"):
        read_table(frame({"a": [None, None], "b": [1.0, 2.0]}))


def test_dates_are_refused_by_name(pandas, polars):
    days = pandas.date_range("2020-01-01", periods=3)
    for data in (
        pandas.DataFrame({"day": days}),
        pandas.DataFrame({"day": days - days[0]}),
        polars.DataFrame({"day": days.to_pydatetime().tolist()}),
    ):
        with pytest.raises(ValueError, match="column 'day' holds dates or times"):
            read_table(data)


# ---- resolution --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "gap"),
    [
        ([1.52101, 1.52102, 1.51761, 1.52101], 1e-5),
        ([0.3, 0.1 + 0.2, 0.4, 0.4], 0.1),
        ([0.1, 0.2, 0.3], 0.0),
        ([7.0, 7.0], 0.0),
        ([7.0], 0.0),
        ([], 0.0),
        ([NAN, 1.0, 1.0, 3.0, NAN], 2.0),
        ([1e9 + 0.25, 1e9, 1e9, 1e9 + 1e-7], 0.25),
        ([0.0, 0.0, 1.5e308, -1.5e308], 1.5e308),
    ],
)
def test_resolution_is_the_smallest_gap(values, gap):
    assert smallest_gap(values) == pytest.approx(gap, rel=1e-6)
