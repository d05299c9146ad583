"""What is loaded is what was saved: the same answers to the last bit, and the same draws later."""

import copy
import json
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

import sticktree
from sticktree import DFPMixture, DPMixture
from sticktree.inference.packing import pack_chain
from sticktree.processes import LogDivergence
from tests.support.sameness import differences
from tests.support.saved import CASES, QUICK, fit, made, rows


def through_file(mixture, folder):
    sticktree.save(mixture, folder / "it.sticktree")
    return sticktree.load(folder / "it.sticktree")


def answers(mixture, x):
    """Return all that an estimator can be asked."""
    found = {
        "score_samples": mixture.score_samples(x),
        "predict": mixture.predict(x),
        "predict_proba": mixture.predict_proba(x, level=1),
        "transform": mixture.transform(x),
        "names": mixture.get_feature_names_out(),
        "sample": mixture.sample(7, random_state=3),
        "impute": mixture.impute(x),
        "draws": mixture.impute(x, n_draws=2, random_state=4),
        "loo": vars(mixture.loo()),
        "scalars": mixture.posterior_.scalars(),
        "labels": mixture.posterior_.labels(1),
        "advice": mixture.diagnosis_.advice(),
        "columns": str(mixture.columns_),
        "parameters": mixture.get_params(),
        "text": repr(mixture),
    }
    if mixture.selection_ is not None:
        stack = mixture.stack()
        found |= {"stack": stack.score_samples(x), "weights": stack.weights}
        found |= {"table": mixture.selection_.table, "selection": str(mixture.selection_)}
    return found


def plain(value):
    """Return answers without data frames, whose parts are compared one by one."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, pd.DataFrame):
        columns = [value.iloc[:, k] for k in range(value.shape[1])]
        cells = [["missing" if pd.isna(cell) else cell for cell in column] for column in columns]
        return value.columns.tolist(), value.index.tolist(), value.dtypes.tolist(), cells
    return value


def kept(mixture):
    """Return all that an estimator holds, but what its fit finds again when it is asked."""
    fit = mixture.fit_
    found = {name: getattr(fit, name) for name in ("training", "sampled", "asked_level", "stream")}
    attributes = {name: value for name, value in vars(mixture).items() if name != "fit_"}
    return attributes | found | fit.summaries() | {"parameters": fit.parameters}


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_lost(fitted, tmp_path, case):
    # An attribute that is added to estimators, and that files do not keep, shows here.
    mixture, _, _ = fitted(case)
    loaded = through_file(mixture, tmp_path)
    assert type(loaded) is type(mixture)
    assert vars(loaded).keys() == vars(mixture).keys()
    assert not differences(kept(mixture), kept(loaded))


@pytest.mark.parametrize("case", CASES)
def test_answers_are_the_same_to_the_last_bit(fitted, tmp_path, case):
    mixture, x, _ = fitted(case)
    loaded = through_file(mixture, tmp_path)
    assert not differences(plain(answers(mixture, x)), plain(answers(loaded, x)))


@pytest.mark.parametrize("case", CASES)
def test_chains_go_on_to_the_same_draws(tmp_path, case):
    mixture, x, weights = made(case)
    loaded = through_file(mixture, tmp_path)
    for one in (mixture, loaded):
        fit(one.set_params(warm_start=True, n_draws=5), x, weights)
    assert loaded.posterior_.n_draws == 13
    assert not differences(kept(mixture), kept(loaded))
    # And once more, from a file of a run that had been resumed.
    again = through_file(loaded, tmp_path)
    for one in (mixture, again):
        fit(one, x, weights)
    assert not differences(mixture.posterior_, again.posterior_)


@pytest.mark.parametrize("case", ["shared", "mixed", "chosen"])
def test_same_fit_gives_the_same_bytes(fitted, tmp_path, case):
    np.random.default_rng(0).standard_normal(100_000)  # to leave rubbish in memory
    sticktree.save(fitted(case)[0], tmp_path / "first")
    sticktree.save(made(case)[0], tmp_path / "second")
    sticktree.save(sticktree.load(tmp_path / "first"), tmp_path / "third")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert (tmp_path / "first").read_bytes() == (tmp_path / "third").read_bytes()


def test_what_was_one_object_is_one_again(fitted, tmp_path):
    loaded = through_file(fitted("chosen")[0], tmp_path)
    assert loaded.columns_ is loaded.fit_.training.scaling.columns
    assert loaded.fit_.model is loaded.selection_.models[loaded.selection_.best]
    for run, chain in zip(loaded.fit_.sampled.runs, loaded.posterior_.chains, strict=True):
        assert run.draws is chain


def test_going_on_is_refused_as_before_the_file(fitted, tmp_path):
    mixture, x, _ = fitted("shared")
    loaded = through_file(mixture, tmp_path).set_params(warm_start=True)
    with pytest.raises(ValueError, match="concentration must be that of the last fit"):
        fit(loaded.set_params(concentration=2.0), x)
    # It stays so if it is saved with the change.
    loaded = through_file(loaded, tmp_path)
    with pytest.raises(ValueError, match="concentration must be that of the last fit, None"):
        fit(loaded, x)
    with pytest.raises(ValueError, match="X must be the data of the last fit"):
        fit(loaded.set_params(concentration=None), rows())


def test_loaded_estimators_can_be_copied(fitted, tmp_path):
    mixture, _, _ = fitted("shared")
    loaded = through_file(mixture, tmp_path)
    loaded.fit_.sampled.runs[1].chain.sweep()
    chains = [pack_chain(run.chain) for run in loaded.fit_.sampled.runs]
    for again in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert not differences([pack_chain(run.chain) for run in again.fit_.sampled.runs], chains)
        assert not differences(again.posterior_, loaded.posterior_)


def test_loaded_estimators_can_be_cloned_and_fitted_anew(fitted, tmp_path):
    mixture, x, weights = fitted("flat")
    loaded = through_file(mixture, tmp_path)
    assert not differences(clone(loaded).get_params(), mixture.get_params())
    assert not differences(kept(fit(loaded, x, weights)), kept(mixture))


def test_interrupted_run_goes_on(tmp_path):
    mixture, _, _ = made("shared")
    mixture.fit_.sampled.runs[1].draws.clear()  # as if it had come no further than its warm-up
    loaded = through_file(mixture, tmp_path)
    assert [len(chain) for chain in loaded.posterior_.chains] == [8, 0]
    assert not differences(kept(mixture), kept(loaded))


# ---- parameters ----------------------------------------------------------------------------------


def goes_on(mixture, folder, x):
    loaded = through_file(mixture, folder)
    assert not differences(kept(mixture), kept(loaded) | {"parameters": mixture.fit_.parameters})
    for one in (mixture, loaded):
        fit(one.set_params(warm_start=True), x)
    assert not differences(mixture.posterior_, loaded.posterior_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"divergence": LogDivergence(2.0)},
        {"divergence": np.array([1.0, 0.5, np.inf])},
        {"divergence": [np.float64(1.0), np.float32(0.5), 1], "concentration": np.float64(1.5)},
        {"columns": ["gaussian", "gaussian"]},
        {"columns": {0: "gaussian", 1: None}, "resolution": (0.1, np.float32(0.1))},
        {"precision_prior": [1.0, 0.25], "n_draws": np.int32(8)},
        {"random_state": np.int64(3)},
        {"random_state": np.random.default_rng(5)},
        {"random_state": np.random.Generator(np.random.SFC64(5))},
        {"random_state": np.random.RandomState(5)},
    ],
    ids=",".join,
)
def test_parameters_that_are_not_json(tmp_path, parameters):
    mixture = DFPMixture(**{"depth": 3, "covariance_type": "diag", **QUICK, **parameters})
    goes_on(fit(mixture, rows()), tmp_path, rows())


def test_generator_goes_on_as_the_one_that_was_saved(tmp_path):
    rng = np.random.default_rng(5)
    mixture = fit(DPMixture(**QUICK | {"random_state": rng}), rows())
    loaded = through_file(mixture, tmp_path)
    assert loaded.random_state is not rng
    assert loaded.random_state.integers(2**60) == rng.integers(2**60)


def test_paths_are_paths(tmp_path):
    mixture = DFPMixture(3, covariance_type="diag", checkpoint=tmp_path / "ü", **QUICK)
    assert through_file(fit(mixture, rows()), tmp_path).checkpoint == tmp_path / "ü"


def test_function_is_refused_before_anything_is_written(tmp_path):
    mixture = DFPMixture(2, divergence=lambda level: 1.0, covariance_type="diag", **QUICK)
    path = tmp_path / "it.sticktree"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match=r"divergence cannot be saved: .* is a function; fit with"):
        sticktree.save(fit(mixture, rows()), path)
    assert [p.name for p in tmp_path.iterdir()] == ["it.sticktree"]
    assert path.read_bytes() == b"old"


def test_what_is_not_known_is_refused_by_name(tmp_path):
    mixture, _, _ = made("flat")
    mixture.note_ = {1, 2}
    with pytest.raises(ValueError, match=r"note_ cannot be saved: \{1, 2\} is of type set"):
        sticktree.save(mixture, tmp_path / "it.sticktree")
    assert not list(tmp_path.iterdir())


# ---- wrong calls ---------------------------------------------------------------------------------


def test_unfitted_estimator_is_refused(tmp_path):
    with pytest.raises(NotFittedError, match="estimator must be fitted before it can be saved"):
        sticktree.save(DFPMixture(), tmp_path / "it.sticktree")
    assert not list(tmp_path.iterdir())


class Mine(DPMixture):
    pass


@pytest.mark.parametrize("other", [KMeans(), None, Mine()], ids=str)
def test_other_estimators_are_refused(tmp_path, other):
    with pytest.raises(ValueError, match="estimator must be a DFPMixture, DPMixture, Dir"):
        sticktree.save(other, tmp_path / "it.sticktree")


def test_places_that_cannot_be_written_are_refused(fitted, tmp_path):
    with pytest.raises(IsADirectoryError, match="path must be that of a file"):
        sticktree.save(fitted("flat")[0], tmp_path)
    with pytest.raises(FileNotFoundError, match="path must lie in a folder that exists"):
        sticktree.save(fitted("flat")[0], tmp_path / "none" / "it.sticktree")


# ---- the file ------------------------------------------------------------------------------------


def test_path_is_used_as_given(fitted, tmp_path):
    sticktree.save(fitted("flat")[0], str(tmp_path / "my model.zip"))
    assert [path.name for path in tmp_path.iterdir()] == ["my model.zip"]


def test_file_says_by_what_it_was_written(fitted, tmp_path):
    sticktree.save(fitted("flat")[0], tmp_path / "it")
    with zipfile.ZipFile(tmp_path / "it") as file:
        header = json.loads(file.read("sticktree.json"))
        dates = {info.date_time for info in file.infolist()}
    assert (header["format"], header["version"]) == ("sticktree.estimator", 2)
    assert header["provenance"]["sticktree"] == sticktree.__version__
    assert header["provenance"]["numpy"] == np.__version__
    assert dates == {(1980, 1, 1, 0, 0, 0)}  # not when: the same fit gives the same bytes


def test_draws_are_kept_in_the_smallest_integers(fitted, tmp_path):
    sticktree.save(fitted("shared")[0], tmp_path / "it")
    with zipfile.ZipFile(tmp_path / "it") as file:
        heads = [file.read(name)[:128] for name in file.namelist() if name.endswith(".npy")]
    assert sum(b"|u1" in head and b"(8, 24)" in head for head in heads) == 2


def test_load_needs_no_kernels(fitted, tmp_path):
    sticktree.save(fitted("shared")[0], tmp_path / "it")
    program = (
        "import sys, sticktree; m = sticktree.load(sys.argv[1]); sticktree.save(m, sys.argv[2]);"
        "m.labels_, m.tree_.cut(1), m.posterior_.scalars(); print(*sys.modules)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "it"), str(tmp_path / "again")]
    done = subprocess.run(command, capture_output=True, check=True)
    assert not {"numba", "matplotlib", "polars"} & set(done.stdout.decode().split())
    assert (tmp_path / "it").read_bytes() == (tmp_path / "again").read_bytes()
