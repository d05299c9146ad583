import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity
from threadpoolctl import threadpool_limits

from benchmarks.density.fingerprint import code_digest, meaning
from benchmarks.density.gaps import log_density_of_observed
from benchmarks.density.interval import paired_difference
from benchmarks.density.methods import (
    OURS,
    Method,
    methods,
    mixture_by_part,
    tuned_variational,
    variational,
)
from benchmarks.density.peers import best_peers, peers_on
from benchmarks.density.results import Key, Result, keep, read
from benchmarks.density.run import score
from benchmarks.density.splits import (
    PREPROCESSING,
    Split,
    dequantised,
    last_digit,
    last_digits,
    make_split,
    prepared,
    split_rows,
)
from benchmarks.folder import NAMES, SHIPPED, TITLES


def test_a_split_is_a_tenth_and_the_rest():
    test, train = split_rows(214, 3)
    assert (test.size, train.size) == (21, 193)
    np.testing.assert_array_equal(np.sort(np.concatenate([test, train])), np.arange(214))
    np.testing.assert_array_equal(test, np.random.default_rng(3).permutation(214)[:21])


def test_splits_are_standardised_by_their_training_rows():
    data = np.random.default_rng(0).normal(5, 2, (100, 2))
    split = make_split(data, "standardised", 0)
    np.testing.assert_allclose(split.train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(split.train.std(axis=0), 1)
    assert not np.allclose(split.test.mean(axis=0), 0)
    test, train = split_rows(100, 0)
    raw = make_split(data, "raw", 0)
    np.testing.assert_array_equal(raw.test, data[test])
    np.testing.assert_array_equal(raw.train, data[train])


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([1.52101, 1.52102, 1.51761], 1e-5),
        ([0.0, 0.05, 0.15], 0.01),
        ([13.64, 13.89, 13.9], 0.01),
        ([0.1, 0.2, 0.30000000000000004], 0.1),
        ([10, 30, 20], 10),
        ([7, 7, 7], 0),
    ],
)
def test_the_last_digit_is_read_off_the_smallest_gap(values, unit):
    assert last_digit(np.array(values, dtype=float)) == pytest.approx(unit)


def test_jitter_is_centred_no_wider_than_a_digit_and_always_the_same():
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.integers(50, size=2000) / 100, rng.integers(50, size=2000)])
    once, again = (dequantised(data, last_digits(data)) for _ in range(2))
    jitter = (once - data) / [0.01, 1.0]
    assert np.abs(jitter).max() <= 0.5 + 1e-9
    assert np.abs(jitter.mean(axis=0)).max() < 5 * np.sqrt(1 / 12 / 2000)
    np.testing.assert_array_equal(once, again)
    assert np.unique(once[:, 0]).size == 2000


def test_every_set_has_a_title_and_a_way_to_be_prepared():
    assert set(NAMES) == TITLES.keys() == PREPROCESSING.keys()


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_sets_are_standardised_by_their_training_rows(name):
    split = make_split(prepared(name), PREPROCESSING[name], 0)
    np.testing.assert_allclose(split.train.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(split.train.std(axis=0), 1)
    if name == "digits":
        assert split.test.shape == (180, 10)
        np.testing.assert_allclose(np.cov(split.train.T, ddof=0), np.eye(10), atol=1e-10)


def test_activities_have_jitter_of_their_last_digit_and_gaps_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path))
    lines = ["cell_line,A,B"] + [f"c{k},{k % 3},{'' if k % 4 == 0 else 0.25}" for k in range(40)]
    (tmp_path / "ccle.csv").write_text("\n".join(lines) + "\n")
    data = prepared("ccle_missing")
    assert np.isnan(data[::4, 1]).all()
    assert np.isnan(data).sum() == 10
    shown = 10 ** data[:, 0] - 0.01
    assert 0 < np.abs(shown - np.arange(40) % 3).max() <= 0.5e-4 + 1e-12
    gappy = make_split(data, PREPROCESSING["ccle_missing"], 0)
    full = make_split(prepared("ccle_imputed"), PREPROCESSING["ccle_imputed"], 0)
    mean = np.nanmean(gappy.train[:, 1])
    np.testing.assert_allclose(full.test, np.where(np.isnan(gappy.test), mean, gappy.test))
    assert not np.isnan(full.train).any()


# ---- densities of what is observed --------------------------------------------------------------


def mixtures(train):
    for form in ("full", "tied", "diag", "spherical"):
        yield GaussianMixture(2, covariance_type=form, random_state=0).fit(train)
    yield KernelDensity(bandwidth=0.4).fit(train)


def test_gaps_are_integrated_out():
    rng = np.random.default_rng(0)
    train = rng.normal(size=(60, 2)) @ [[1.0, 0.7], [0.0, 0.5]]
    rows = train[:3]
    grid = np.linspace(-15, 15, 3001)
    for mixture in mixtures(train):
        np.testing.assert_allclose(
            log_density_of_observed(mixture, rows), mixture.score_samples(rows)
        )
        for x in rows[:, 0]:
            line = np.column_stack([np.full(grid.size, x), grid])
            integral = np.exp(mixture.score_samples(line)).sum() * (grid[1] - grid[0])
            observed = log_density_of_observed(mixture, np.array([[x, np.nan]]))
            np.testing.assert_allclose(observed, np.log(integral), rtol=1e-6)


def test_gaps_go_to_those_who_take_them_and_are_filled_for_others():
    train = np.array([[0.0, 1.0], [2.0, np.nan], [4.0, 3.0]])
    split = Split(train, np.array([[1.0, np.nan]]))
    seen = []

    class Flat:
        def score_samples(self, rows):
            return np.zeros(len(rows))

    def fit(rows, seed):
        seen.append(rows)
        return Flat() if np.isnan(rows).any() else GaussianMixture().fit(rows)

    assert score(Method("ours", "", fit, takes_gaps=True), split, 0) == 0
    expected = stats.norm.logpdf(1, 2, np.sqrt(8 / 3))
    assert score(Method("peer", "", fit), split, 0) == pytest.approx(expected, abs=1e-5)
    np.testing.assert_array_equal(seen[0], train)
    np.testing.assert_array_equal(seen[1], [[0, 1], [2, 2], [4, 3]])


def test_paired_differences_have_the_interval_of_the_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 10))
    difference = paired_difference(dict(enumerate(a)), dict(enumerate(b)))
    expected = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert difference.mean - difference.half_width == pytest.approx(expected.low)
    assert difference.mean + difference.half_width == pytest.approx(expected.high)


def test_only_common_splits_are_paired():
    difference = paired_difference({0: 1.0, 1: 2.0, 2: 9.0}, {1: 1.0, 0: 0.5, 7: 3.0})
    assert (difference.mean, difference.n_splits) == (pytest.approx(0.75), 2)
    with pytest.raises(ValueError, match="no split in common"):
        paired_difference({0: 1.0}, {1: 1.0})


@pytest.mark.parametrize(
    ("ours", "verdict"), [([1, 2], "ahead"), ([-1, -2], "behind"), ([1, -1], "level")]
)
def test_a_lead_counts_when_the_interval_leaves_zero_out(ours, verdict):
    values = dict(enumerate(100 * [float(x) for x in ours]))
    assert paired_difference(values, dict.fromkeys(values, 0.0)).verdict == verdict


def test_one_split_tells_nothing():
    assert paired_difference({0: 5.0}, {0: 0.0}).verdict == "level"


def test_peers_are_ranked_by_pairs_not_by_means(tmp_path, monkeypatch):
    (tmp_path / "density.csv").write_text(
        "set,preprocessing,peer,split,test_log_density\n"
        "r15,standardised,good,1,-2.0\n"  # on the hard split only
        'r15,standardised,"poor, but complete",0,-1.5\n'
        'r15,standardised,"poor, but complete",1,-2.4\n'
        "r15,raw,other units,0,5.0\n"
    )
    monkeypatch.setenv("STICKTREE_PEERS", str(tmp_path))
    peers = peers_on("r15", "standardised")
    assert peers["poor, but complete"] == {0: -1.5, 1: -2.4}
    assert list(best_peers({0: -1.0, 1: -2.1}, peers, n_best=1)) == ["good"]


def test_results_come_back_and_a_line_cut_short_does_no_harm(tmp_path):
    file = tmp_path / "new" / "density.jsonl"
    results = [Result(Key("r15", "raw", "ab", k, "m", "s"), -1.5, 0.1) for k in range(2)]
    for result in results:
        keep(result, file)
    with file.open("a") as lines:
        lines.write('{"key": {"na')
    assert read(file) == {result.key: result for result in results}
    assert read(tmp_path / "none") == {}


def test_settings_name_the_code_and_all_that_was_chosen():
    known = methods(2, draws=7)
    assert next(iter(known)) == OURS
    assert "'n_draws': 7" in known["DFPMixture"].settings
    assert code_digest() in known["DFPMixture"].settings
    assert known["DFPMixture"].settings != methods(2)["DFPMixture"].settings


def test_shared_noise_is_for_the_plane():
    name = "DFPMixture, shared noise"
    assert name in methods(2, draws=7)
    assert name not in methods(3, draws=7)


@pytest.mark.parametrize("fit", [mixture_by_part, variational, tuned_variational])
def test_mixtures_are_densities_that_find_two_groups(fit):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 1)) + np.repeat([-9, 9], 30)[:, None]
    rows = np.column_stack([rows, rng.normal(size=60)])
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        near, between = fit(rows, 5, 0).score_samples(np.array([[9.0, 0.0], [0.0, 0.0]]))
    assert near > between + 2


def test_comments_do_not_change_what_code_means():
    assert meaning('def f(x):\n    """Add."""\n    return x + 1  # one') == meaning(
        "def f(x): return x + 1"
    )
    assert meaning("def f(x): return x + 1") != meaning("def f(x): return x + 2")
