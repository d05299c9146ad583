"""What every kind of column must do, for all in the registry: a new one is put to the same tests.

Cells come back as they went in; the evidence of a leaf is the integral over its parameters;
probabilities sum to one; what is missing is filled in; files and the terminal know the kind. That
sweeps keep the posterior is tested in test_geweke.py, whose cases must have every kind, too.
"""

import csv
import warnings
from dataclasses import replace

import numpy as np
import pytest

from sticktree import DFPMixture, Tree, load, save
from sticktree.cli import main
from sticktree.data import read_table
from sticktree.engine.own.kinds import CODES, DECLARED, KINDS, LIKELIHOODS
from sticktree.engine.own.state import GAUSSIAN
from tests.engine.own.test_exact import setting_of
from tests.engine.own.test_geweke import test_sweeps_and_new_data_together_keep_the_prior as geweke
from tests.support.own import engine, evidence, twin

pandas = pytest.importorskip("pandas")

NAN = np.nan
N = 40
GROUP = np.repeat([0, 1], N // 2)


def cells(kind, rng):
    """Return values of two groups that differ: a column, or two if the kind takes two."""
    if kind == "gaussian":
        return [np.round(rng.normal(4.0 * GROUP, 1.0), 2).tolist()]
    if kind == "lognormal":
        return [np.exp(rng.normal(2.0 * GROUP, 0.5)).tolist()]
    if kind == "bernoulli":
        return [(rng.random(N) < 0.1 + 0.8 * GROUP).tolist()]
    if kind == "categorical":
        return [np.array(["a", "b", "c"])[GROUP + (rng.random(N) < 0.1)].tolist()]
    if kind in ("poisson", "negative_binomial"):
        return [rng.poisson(2.0 + 20.0 * GROUP).tolist()]
    if kind == "binomial":
        trials = rng.integers(3, 20, N)
        return [rng.binomial(trials, 0.1 + 0.8 * GROUP).tolist(), trials.tolist()]
    raise KeyError(f"say here what values a column of the kind {kind} has")


def table():
    """Return a table with a column of every kind, and how the kinds are declared."""
    rng = np.random.default_rng(0)
    columns, kinds = {}, {}
    for kind in DECLARED:
        values = cells(kind, rng)
        names = [kind, f"{kind}_{KINDS[kind].pair.kind}"] if KINDS[kind].pair else [kind]
        columns |= dict(zip(names, values, strict=True))
        kinds["/".join(names)] = kind
    return columns, kinds


# ---- the registry --------------------------------------------------------------------------------


def test_names_and_codes_are_distinct_and_gaussian_columns_come_first():
    assert CODES["gaussian"] == GAUSSIAN
    assert len(set(CODES.values())) == len(CODES) == len(LIKELIHOODS)
    assert all(KINDS[name].name == name for name in KINDS)
    for name, likelihood in LIKELIHOODS.items():
        assert likelihood.name == name
        # What is not modelled has no coordinates, and the other way round.
        assert (likelihood.kernels is None) == (likelihood.width == 0)


def test_every_modelled_kind_is_in_the_joint_test_of_sweeps():
    (cases,) = (mark for mark in geweke.pytestmark if mark.name == "parametrize")
    seen = {kind for case in cases.args[1] for kind in case[0]}
    assert seen == set(LIKELIHOODS)


# ---- cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_of_every_kind_come_back(package):
    frames = pytest.importorskip(package)
    columns, kinds = table()
    data = frames.DataFrame(columns)
    read = read_table(data, kinds)
    assert read.columns.declared[: len(DECLARED)] == DECLARED
    back = read.columns.decode(read.values)
    assert type(back) is type(data)
    for name, values in columns.items():
        given = pytest.approx(values) if isinstance(values[0], float) else values
        assert back[name].to_list() == given
        assert type(back[name].to_list()[0]) is type(values[0])
    np.testing.assert_allclose(read.columns.encode(back), read.values)


@pytest.mark.parametrize("kind", DECLARED)
def test_arrays_of_every_kind_come_back_with_their_gaps(kind):
    values = cells(kind, np.random.default_rng(1))
    data = np.array(values, dtype=object).T
    data[3] = None
    read = read_table(
        data, {"/".join(map(str, range(len(values)))): kind} if values[1:] else [kind]
    )
    assert np.isnan(read.values[3]).all()
    assert not np.isnan(np.delete(read.values, 3, axis=0)).any()
    back = read_table(read.columns.decode(read.values), table=read.columns)
    np.testing.assert_allclose(back.values, read.values)
    assert kind in read.columns.describe()


# ---- leaves --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [k for k, v in LIKELIHOODS.items() if v.kernels is not None])
def test_evidence_of_a_leaf_is_an_integral_over_its_parameters(kind):
    kinds = (kind, "trials") if kind == "binomial" else (kind,)
    setting = setting_of(kinds, "diag", 1, (3,) * (kind == "categorical"), floor=0.1)
    rng = np.random.default_rng(5)
    u = rng.normal(size=setting.n_coordinates)
    # Each row as of a leaf of its own, so that they differ.
    trials = [[3], [8], [5], [2], [9], [4]]
    data = np.vstack([twin.sample_leaf(1, u, setting, rng, np.array(m)) for m in trials])
    data[4, 0] = NAN
    inside = data[:5]
    state = engine.state_of(Tree.from_paths([(1,)] * 5), np.vstack([u, u]), inside, setting)
    exact = evidence.log_leaf_evidence_by_definition(inside, u, setting)
    found = engine.evidence(state, 1, 0) + engine.constants_of(state)
    assert found == pytest.approx(exact, abs=1e-6)
    # One more entry, and one less.
    state.data[4] = data[5]
    both = np.vstack([inside[:4], data[5]])
    more = evidence.log_leaf_evidence_by_definition(both, u, setting) - exact
    assert engine.predictive(state, 1, 4, -np.inf) == pytest.approx(more, abs=1e-6)
    engine.put_rows(state, 1, np.array([4]), 1.0)
    engine.put_rows(state, 1, np.array([0]), -1.0)
    left = evidence.log_leaf_evidence_by_definition(both[1:], u, setting)
    constants = engine.constants_of(replace(state, data=both[1:].copy()))
    assert engine.evidence(state, 1, 0) + constants == pytest.approx(left, abs=1e-6)


# ---- a fit of all kinds --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixture():
    columns, kinds = table()
    settings = {"n_chains": 2, "n_warmup": 60, "n_draws": 30, "random_state": 0, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DFPMixture(depth=2, covariance_type="diag", columns=kinds, **settings).fit(
            pandas.DataFrame(columns)
        )


def test_groups_are_found(mixture):
    assert not set(mixture.labels_[: N // 2]) & set(mixture.labels_[N // 2 :])


@pytest.mark.parametrize("kind", DECLARED)
def test_what_is_missing_is_filled_in_by_the_group(mixture, kind):
    columns, _ = table()
    data = pandas.DataFrame(columns)
    rows = data.iloc[[0, 1, N - 2, N - 1]].reset_index(drop=True).astype({kind: object})
    rows.loc[[0, 3], kind] = None
    filled = mixture.impute(rows)
    assert not filled.isna().any().any()
    encoded = mixture.columns_.encode(mixture.impute(rows, n_draws=1, random_state=0)[0])
    assert not np.isnan(encoded).any()
    draws = [draw[kind] for draw in mixture.impute(rows, n_draws=40, random_state=0)]
    for k in (1, 2):  # what is there stays
        assert {draw[k] for draw in draws} == {filled[kind][k]} == {data[kind].iloc[[1, -2][k - 1]]}
    if kind == "categorical":
        assert (filled[kind][0], filled[kind][3]) in [("a", "b"), ("a", "c"), ("b", "c")]
    else:
        assert filled[kind][0] < filled[kind][3]
        assert np.mean([draw[0] for draw in draws]) < np.mean([draw[3] for draw in draws])


def test_successes_are_filled_in_for_the_trials_given(mixture):
    columns, _ = table()
    rows = pandas.DataFrame(columns).iloc[[N - 1] * 3].reset_index(drop=True).astype(object)
    rows["binomial"] = None
    rows["binomial_trials"] = [0, 10, 1000]
    filled = mixture.impute(rows)["binomial"].to_numpy(dtype=float)
    assert filled[0] == 0
    assert filled[2] == pytest.approx(100 * filled[1])
    # Without trials, the mean of those of the data.
    rows["binomial_trials"] = [None, 10, 1000]
    filled = mixture.impute(rows)
    assert filled["binomial_trials"][0] == pytest.approx(np.mean(columns["binomial_trials"]))


def test_new_rows_can_be_read_again(mixture):
    new = mixture.sample(50, random_state=0)
    assert not np.isnan(mixture.columns_.encode(new)).any()
    assert (new["binomial"] <= new["binomial_trials"]).all()
    assert set(new["binomial_trials"]) <= set(table()[0]["binomial_trials"])


def test_density_is_that_of_successes_given_trials(mixture):
    row = pandas.DataFrame(table()[0]).iloc[[5]].astype({"binomial": float})
    trials = int(row["binomial_trials"].iloc[0])
    rows = pandas.concat([row.assign(binomial=k) for k in range(trials + 1)])
    total = np.exp(mixture.score_samples(rows)).sum()
    rest = np.exp(mixture.score_samples(row.assign(binomial=NAN))).item()
    assert total == pytest.approx(rest)
    none = row.assign(binomial=NAN, binomial_trials=NAN)
    assert np.exp(mixture.score_samples(none)).item() == pytest.approx(rest)
    assert np.isfinite(mixture.loo().elpd)


def test_saved_mixtures_know_every_kind(mixture, tmp_path):
    save(mixture, tmp_path / "mixture.sticktree")
    again = load(tmp_path / "mixture.sticktree")
    data = pandas.DataFrame(table()[0])
    assert again.columns_ == mixture.columns_
    np.testing.assert_array_equal(again.score_samples(data), mixture.score_samples(data))
    pandas.testing.assert_frame_equal(
        again.sample(5, random_state=0), mixture.sample(5, random_state=0)
    )


def test_the_terminal_takes_every_kind(tmp_path, capsys):
    columns, kinds = table()
    # A column of texts with both numbers, too.
    pairs = zip(columns["binomial"], columns["binomial_trials"], strict=True)
    columns["score"] = [f"{a}/{b}" for a, b in pairs]
    kinds["score"] = "binomial"
    with (tmp_path / "table.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    declared = ",".join(f"{name}={kind}" for name, kind in kinds.items())
    command = ["fit", str(tmp_path / "table.csv"), "--kinds", declared, "-o", str(tmp_path / "run")]
    quick = ["--depth", "2", "--covariance", "diag", "--seed", "0"]
    quick += ["--warmup", "20", "--draws", "10", "--chains", "1"]
    assert main([*command, *quick]) in (0, None)
    said = " ".join(capsys.readouterr().out.split())
    assert "2 binomial (binomial/binomial_trials, score)" in said
    assert all(f"1 {kind} (" in said for kind in DECLARED if kind != "binomial")
    assert main(["predict", str(tmp_path / "run"), str(tmp_path / "table.csv")]) in (0, None)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == N + 1
    assert main(["summary", str(tmp_path / "run")]) in (0, None)
