"""Groups of many rows: the parallel sampler, in threads, on files and on Dask, and its answers."""

from dataclasses import replace

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import sticktree
from sticktree import DFPMixture
from sticktree.chunks import open_table
from sticktree.data import training
from sticktree.posterior.shares import Points
from sticktree.present.findings import Findings
from sticktree.present.terminal import summary
from sticktree.report.groups import groups_html
from tests.estimators.test_groups import QUICK, rows
from tests.support.checks import assert_rejected

pytestmark = pytest.mark.filterwarnings("ignore::sticktree.posterior.draws.ConvergenceWarning")
MANY = QUICK | {"algorithm": "parallel", "n_warmup": 20, "n_draws": 10}


def some_rows(gaps=False):
    x, groups = rows()
    x = np.hstack([x, np.random.default_rng(1).normal(size=x.shape)])
    if gaps:
        x[::9, 1] = np.nan
    return x, groups


@pytest.fixture(scope="module", params=["shared", "shared with gaps", "own"])
def fitted(request):
    form = {"leaf_noise": request.param.partition(" ")[0]}
    x, groups = some_rows("gaps" in request.param)
    return DFPMixture(**MANY | form).fit(x, groups=groups), x, groups


def assert_same_draws(one, other):
    for mine, its in zip(one.posterior_.draws, other.posterior_.draws, strict=True):
        np.testing.assert_array_equal(mine.parent, its.parent)
        for name, value in mine.parameters.items():
            np.testing.assert_array_equal(value, its.parameters[name])


def test_answers_are_of_groups(fitted):
    mixture, _, _ = fitted
    shares = mixture.composition_.shares
    np.testing.assert_allclose(shares.sum(axis=2), 1.0)
    low, high = mixture.composition_.mean[:, mixture.predict([[0.0, 0.0], [7.0, 0.0]])].T
    assert low[0] > high[0]
    assert low[2] < high[2]
    found = mixture.compare("a", "c")
    assert len(found.branches) >= 2
    known = mixture.score_samples([[7.0, 0.0]] * 3, groups=["a", "c", "nobody"])
    assert known[1] > known[2] > known[0]


def test_what_needs_rows_one_by_one_says_so(fitted):
    mixture, _, _ = fitted
    assert_rejected(mixture.groups_matter, "groups matter", "gibbs", "composition_")
    assert "cluster" in summary(Findings(mixture.fit_))
    assert Findings(mixture.fit_).result()["groups"] is None
    assert "svg" in groups_html(Findings(mixture.fit_))


@pytest.mark.parametrize("group", ["a", None])
def test_densities_integrate_to_one(fitted, group):
    mixture, _, _ = fitted
    grid = np.linspace(-12.0, 20.0, 161)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    density = np.exp(mixture.score_samples(points, groups=[group] * len(points)))
    assert density.sum() * (grid[1] - grid[0]) ** 2 == pytest.approx(1.0, abs=0.02)


def test_sums_of_draws_are_those_of_the_rows(fitted):
    mixture, _, groups = fitted
    number = np.unique(groups, return_inverse=True)[1]
    for draw in mixture.posterior_.draws[-3:]:
        seated = np.zeros((draw.parent.size, 3), dtype=int)
        np.add.at(seated, (draw.leaf, number), 1)
        leaves = np.unique(draw.leaf)
        np.testing.assert_array_equal(seated[leaves], draw.parameters["sums_seated"])
        plain = {name: x for name, x in draw.parameters.items() if not name.startswith("sums_")}
        mine = Points.of(draw.without_labels(), number, 3)
        its = Points.of(replace(draw, parameters=plain), number, 3)
        np.testing.assert_array_equal(mine.seated, its.seated)


def test_names_and_threads_change_nothing(fitted):
    mixture, x, groups = fitted
    other = DFPMixture(**mixture.get_params()).set_params(n_jobs=2)
    assert_same_draws(mixture, other.fit(x, groups=np.char.add("x", groups)))


def test_a_saved_fit_answers_the_same_and_goes_on_alike(fitted, tmp_path):
    mixture, x, groups = fitted
    sticktree.save(mixture, tmp_path / "it.sticktree")
    again = sticktree.load(tmp_path / "it.sticktree")
    np.testing.assert_array_equal(again.composition_.shares, mixture.composition_.shares)
    longer = DFPMixture(**mixture.get_params()).set_params(n_draws=13)
    straight = longer.fit(x, groups=groups)
    gone_on = again.set_params(warm_start=True, n_draws=3).fit(x, groups=groups)
    assert_same_draws(gone_on, straight)


def test_a_checkpoint_goes_on_alike(tmp_path):
    x, groups = some_rows()
    settings = MANY | {"n_draws": 6, "checkpoint": tmp_path / "run"}
    first = DFPMixture(**settings).fit(x, groups=groups)
    assert_same_draws(first, DFPMixture(**settings).fit(x, groups=groups))


def test_files_and_dask_have_the_draws_of_memory(tmp_path):
    x, groups = some_rows()
    short = MANY | {"n_warmup": 5, "n_draws": 5}
    expected = DFPMixture(**short).fit(x, groups=groups)
    np.save(tmp_path / "x.npy", x)
    chunked = DFPMixture(**short).fit(open_table(tmp_path / "x.npy"), groups=groups)
    assert_same_draws(expected, chunked)
    assert chunked.fit_.training.digest == expected.fit_.training.digest
    frame = pd.DataFrame({"one": x[:, 0], "who": groups, "two": x[:, 1]})
    frame.to_parquet(tmp_path / "x.parquet")
    table = open_table(tmp_path / "x.parquet", groups="who")
    named = DFPMixture(**short).fit(table, groups="who")
    assert_same_draws(expected, named)
    assert named.n_features_in_ == 2
    np.testing.assert_allclose(named.score_samples(table), expected.score_samples(x, groups))
    np.testing.assert_array_equal(named.predict(table), expected.predict(x, groups=groups))
    with_gaps = some_rows(gaps=True)[0]
    np.save(tmp_path / "gaps.npy", with_gaps)
    own = short | {"leaf_noise": "own"}
    assert_same_draws(
        DFPMixture(**own).fit(with_gaps, groups=groups),
        DFPMixture(**own).fit(open_table(tmp_path / "gaps.npy"), groups=groups),
    )
    lazy = DFPMixture(**short).fit(da.from_array(x, chunks=(50, 1)), groups=groups)
    assert_same_draws(expected, lazy)
    assert lazy.composition_.groups == ("a", "b", "c")
    assert_rejected(lambda: lazy.score_samples(da.from_array(x), groups=groups), "groups", "column")
    frames = dd.from_pandas(frame, npartitions=2)
    np.testing.assert_allclose(named.score_samples(frames).compute(), named.score_samples(table))


def test_many_rows_switch_by_themselves(monkeypatch):
    monkeypatch.setattr(training, "MANY", 50)
    x, groups = some_rows()
    mixture = DFPMixture(**MANY | {"algorithm": "auto", "n_warmup": 3, "n_draws": 4})
    assert mixture.fit(x, groups=groups).algorithm_ == "parallel"
    assert mixture.composition_.groups == ("a", "b", "c")


def test_too_many_groups_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(training, "MOST_GROUPS", 3)
    x, groups = some_rows()
    groups = groups.astype(object)
    groups[:2] = None
    np.save(tmp_path / "x.npy", x)
    words = ("groups", "at most 3", "3 groups and 2 rows without one", "gibbs")
    for table in (x, open_table(tmp_path / "x.npy"), da.from_array(x)):
        assert_rejected(lambda given=table: DFPMixture(**MANY).fit(given, groups=groups), *words)


def test_gibbs_and_parallel_agree():
    x, groups = some_rows()
    settings = {"concentration": 1.0, "depth": 1, "n_warmup": 80, "n_draws": 200}
    means = []
    for algorithm in ("gibbs", "parallel"):
        mixture = DFPMixture(**MANY | settings | {"algorithm": algorithm}).fit(x, groups=groups)
        draws = mixture.posterior_.draws
        gamma = np.array([draw.parameters["group_concentration"] for draw in draws])
        leaves = np.array([draw.parent.size - 1 for draw in draws])
        means.append([np.mean(gamma / (gamma + 10.0)), np.mean(leaves), np.mean(leaves > 2)])
    # Chains of 400 draws; the errors of the means are about .03, .07 and .04.
    assert np.abs(np.subtract(*means)).max() < 0.3, means
