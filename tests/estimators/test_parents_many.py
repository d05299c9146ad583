"""Parents and times of many rows: the parallel sampler, on files and on Dask, and its answers."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import sticktree
from sticktree import DFPMixture
from sticktree.chunks import open_table
from tests.estimators.test_groups_many import MANY, assert_same_draws
from tests.estimators.test_parents import LOW, OWN, rows

pytestmark = pytest.mark.filterwarnings("ignore::sticktree.posterior.draws.ConvergenceWarning")
SHORT = MANY | {"n_warmup": 4, "n_draws": 4}


def some_rows():
    x, groups, treated = rows()
    return np.hstack([x, np.random.default_rng(1).normal(size=x.shape)]), groups, treated


@pytest.fixture(scope="module", params=["shared", "own"])
def patients(request):
    x, groups, treated = some_rows()
    form = OWN if request.param == "own" else {}
    return DFPMixture(**MANY | form).fit(x, groups=groups, parents=treated)


def test_parents_are_in_the_composition_and_compared(patients):
    found = patients.composition_
    assert found.groups == (*"abcdef", "no", "yes")
    np.testing.assert_allclose(found.shares.sum(axis=2), 1.0, atol=1e-9)
    low = int(patients.predict([[0.0, 0.0]])[0])
    assert found.mean[6, low] > 0.6 > 0.4 > found.mean[7, low]
    lines = {line["branch"]: line for line in patients.compare("yes", "no").table}
    assert lines[str(low)]["p_greater"] < 0.05
    assert "kinship" in patients.posterior_.draws[0].traced
    no, yes, nobody = patients.score_samples([[0.0, 0.0]] * 3, groups=["no", "yes", "who"])
    assert no > nobody > yes


@pytest.mark.parametrize("group", ["a", "no", None])
def test_densities_integrate_to_one(patients, group):
    grid = np.linspace(-12.0, 20.0, 121)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    density = np.exp(patients.score_samples(points, groups=[group] * len(points)))
    assert density.sum() * (grid[1] - grid[0]) ** 2 == pytest.approx(1.0, abs=0.02)


def test_a_saved_fit_answers_the_same_and_goes_on_alike(tmp_path):
    x, groups, _ = some_rows()
    straight = DFPMixture(**SHORT | {"n_draws": 7}).fit(x, times=groups)
    first = DFPMixture(**SHORT).fit(x, times=groups)
    sticktree.save(first, tmp_path / "it.sticktree")
    again = sticktree.load(tmp_path / "it.sticktree")
    np.testing.assert_array_equal(again.composition_.shares, first.composition_.shares)
    asked = ["a", "f", "g", "bb", None, "c"]
    here = first.score_samples(x[:6], groups=asked)
    np.testing.assert_allclose(again.score_samples(x[:6], groups=asked), here)
    gone_on = again.set_params(warm_start=True, n_draws=3).fit(x, times=groups)
    assert_same_draws(gone_on, straight)
    settings = SHORT | {"checkpoint": tmp_path / "run"}
    once = DFPMixture(**settings).fit(x, times=groups)
    assert_same_draws(once, first)
    assert_same_draws(DFPMixture(**settings).fit(x, times=groups), first)


def test_files_and_dask_have_the_draws_of_memory(tmp_path):
    x, groups, treated = some_rows()
    expected = DFPMixture(**SHORT).fit(x, groups=groups, parents=treated)
    np.save(tmp_path / "x.npy", x)
    file = open_table(tmp_path / "x.npy")
    chunked = DFPMixture(**SHORT).fit(file, groups=groups, parents=treated)
    assert_same_draws(expected, chunked)
    frame = pd.DataFrame({"one": x[:, 0], "who": groups, "two": x[:, 1], "treated": treated})
    frame.to_parquet(tmp_path / "x.parquet")
    table = open_table(tmp_path / "x.parquet", groups=["who", "treated"])
    named = DFPMixture(**SHORT).fit(table, groups="who", parents="treated")
    assert_same_draws(expected, named)
    assert named.n_features_in_ == 2
    np.testing.assert_allclose(named.score_samples(table), expected.score_samples(x, groups))
    frames = dd.from_pandas(frame, npartitions=2)
    lazy = DFPMixture(**SHORT).fit(frames, groups="who", parents="treated")
    assert_same_draws(expected, lazy)
    np.testing.assert_allclose(lazy.score_samples(frames).compute(), named.score_samples(table))
    days = DFPMixture(**SHORT).fit(x, times=groups)
    assert_same_draws(days, DFPMixture(**SHORT).fit(da.from_array(x, chunks=(50, 1)), times=groups))
    assert_same_draws(days, DFPMixture(**SHORT).fit(file, times=groups))
    assert days.fit_.training.digest != expected.fit_.training.digest
    other = dict.fromkeys(LOW, "one")
    once_more = DFPMixture(**SHORT).fit(file, groups=groups, parents=other)
    assert once_more.fit_.training.digest != chunked.fit_.training.digest


def test_gibbs_and_parallel_agree():
    x, groups, treated = some_rows()
    settings = {"concentration": 1.0, "depth": 1, "n_warmup": 200, "n_draws": 400}
    means = []
    for algorithm in ("gibbs", "parallel"):
        mixture = DFPMixture(**MANY | settings | {"algorithm": algorithm})
        draws = mixture.fit(x, groups=groups, parents=treated).posterior_.draws
        gamma = np.array([draw.parameters["group_concentration"] for draw in draws])
        kappa = np.array([draw.parameters["kinship"] for draw in draws])
        leaves = np.array([draw.parent.size - 1 for draw in draws])
        means.append([np.mean(gamma / (gamma + 10.0)), np.mean(kappa), np.mean(leaves > 2)])
    assert np.abs(np.subtract(*means)).max() < 0.15, means
