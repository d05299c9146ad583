"""Diagnostics tell chains that agree from chains that do not, and say what to do."""

import warnings

import numpy as np
import pytest

import sticktree.fit
from sticktree import DFPMixture
from sticktree.posterior import Posterior
from sticktree.posterior.draws import ConvergenceWarning, Diagnosis, diagnose
from tests.support.models import of_depth

PATHS = [(1, 1), (1, 2), (2, 1), (2, 2)]


@pytest.fixture
def chains(make_draw):
    """Return a function that makes a posterior from the log joints of its chains."""

    def make(log_joint, scales=None):
        log_joint = np.asarray(log_joint, dtype=float)
        scales = np.ones((*log_joint.shape, 3)) if scales is None else scales
        draws = [
            [
                make_draw(PATHS, log_joint=float(value), parameters={"scales": scale})
                for value, scale in zip(*rows, strict=True)
            ]
            for rows in zip(log_joint, scales, strict=True)
        ]
        return Posterior(draws, of_depth(2))

    return make


@pytest.fixture
def agreeing():
    return np.random.default_rng(0).standard_normal((4, 60))


def test_r_hat_is_near_one_for_chains_of_the_same_law(chains, agreeing):
    diagnosis = diagnose(chains(agreeing))
    assert diagnosis.r_hat["log_joint"] < 1.05
    assert diagnosis.ess["log_joint"] > 120
    assert diagnosis.advice() is None


def test_r_hat_is_large_where_a_chain_is_elsewhere(chains, agreeing):
    agreeing[0] += 3
    diagnosis = diagnose(chains(agreeing))
    assert diagnosis.r_hat["log_joint"] > 1.2
    assert diagnosis.ess["log_joint"] < 40


def test_r_hat_is_large_where_chains_have_a_trend(chains, agreeing):
    diagnosis = diagnose(chains(agreeing + np.linspace(0, 6, 60)))
    assert diagnosis.r_hat["log_joint"] > 1.2


def test_effective_sample_size_falls_with_autocorrelation(chains):
    noise = np.random.default_rng(1).standard_normal((2, 200))
    slow = np.zeros_like(noise)
    for t in range(1, 200):
        slow[:, t] = 0.9 * slow[:, t - 1] + noise[:, t]
    # An autoregression with 0.9 is worth (1 − 0.9)/(1 + 0.9) of its draws: 21 of 400.
    assert diagnose(chains(slow)).ess["log_joint"] < 80
    assert diagnose(chains(noise)).ess["log_joint"] > 250


def test_scalars_of_several_numbers_are_named_one_by_one(chains, agreeing):
    scales = np.exp(np.random.default_rng(2).standard_normal((4, 60, 3)))
    scales[1, :, 2] *= 100
    diagnosis = diagnose(chains(agreeing, scales))
    assert set(diagnosis.r_hat) == {"log_joint", "scales[0]", "scales[1]", "scales[2]"}
    assert max(diagnosis.r_hat, key=diagnosis.r_hat.get) == "scales[2]"


def test_what_never_varies_is_left_out(chains, agreeing):
    # The trees, c and d of these draws are all the same.
    diagnosis = diagnose(chains(agreeing))
    assert set(diagnosis.r_hat) == set(diagnosis.ess) == {"log_joint"}


def test_one_chain_has_effective_sizes_but_nothing_to_disagree_with(chains, agreeing):
    diagnosis = diagnose(chains(agreeing[:1]))
    assert diagnosis.r_hat == {}
    assert diagnosis.ess["log_joint"] > 15
    assert diagnosis.verdict().agreement == "cannot tell"
    assert "single chain" in diagnosis.advice()


@pytest.mark.parametrize("n_draws", [1, 2, 3])
def test_too_few_draws_are_not_judged(chains, agreeing, n_draws):
    diagnosis = diagnose(chains(agreeing[:, :n_draws]))
    assert (diagnosis.r_hat, diagnosis.ess) == ({}, {})
    assert diagnosis.verdict().agreement == "cannot tell"
    assert "too few draws" in diagnosis.advice()


def test_chains_stuck_at_different_values_are_found_without_noise(chains):
    stuck = np.repeat([[1.0], [2.0]], 20, axis=1)
    diagnosis = diagnose(chains(stuck))
    assert diagnosis.r_hat["log_joint"] == np.inf
    assert "R-hat of log joint density is infinite" in diagnosis.advice()


def test_scalar_of_two_values_is_judged_without_noise(chains):
    # Such as the number of nodes at a level. All values are equally far from the median, so the
    # part of R-hat that compares distances divides nothing by nothing.
    diagnosis = diagnose(chains([[0.0, 1.0] * 10, [1.0, 0.0] * 10]))
    assert diagnosis.r_hat["log_joint"] < 1.05


def test_advice_names_the_worst_scalar_and_says_what_to_do():
    diagnosis = Diagnosis({"nodes[0]": 1.3, "noise": 1.7, "discount": 1.0}, {})
    advice = diagnosis.advice()
    for words in ("noise", "1.70", "1.05", "2 of 3", "n_warmup", "n_draws", "warm_start=True"):
        assert words in advice
    assert "1.6" in diagnosis.advice(limit=1.6)
    assert diagnosis.advice(limit=1.8) is None


# ---- the verdict --------------------------------------------------------------------------------


def judged(r_hat, ess=500.0):
    return Diagnosis(r_hat, dict.fromkeys(r_hat, ess)).verdict()


def test_chains_that_agree_are_said_to():
    found = judged({"log_joint": 1.01, "nodes[2]": 1.03})
    assert (found.agreement, found.tone) == ("agree", "good")
    assert found.text.startswith("The chains agree: the largest R-hat is 1.03 (branches at level 3")


@pytest.mark.parametrize(
    ("r_hat", "agreement", "tone", "shown"),
    [
        (1.08, "nearly agree", "doubtful", "1.08"),
        (1.16, "nearly agree", "doubtful", "1.16"),
        (1.6, "disagree", "bad", "1.60"),
        (np.inf, "disagree", "bad", "infinite"),
    ],
)
def test_chains_that_disagree_are_said_to(r_hat, agreement, tone, shown):
    found = judged({"concentration": r_hat, "log_joint": 1.0, "noise": np.nan})
    assert (found.agreement, found.tone) == (agreement, tone)
    assert found.text.startswith(f"The chains {agreement}: R-hat of concentration c is {shown} ")
    assert "1 of 3 scalars is above" in found.text


@pytest.mark.parametrize(
    ("r_hat", "shown"), [(1.0504, "1.0504"), (1.0501, "1.0501"), (1.056, "1.06")]
)
def test_an_r_hat_above_the_limit_is_shown_as_above_it(r_hat, shown):
    assert f"is {shown} and should be at most 1.05;" in judged({"noise": r_hat}).text


def test_few_effective_draws_are_called_few():
    few = judged({"log_joint": 1.0}, ess=30.0)
    assert (few.agreement, few.tone) == ("agree", "doubtful")
    assert "size is 30 (log joint density). That is low" in few.text


def test_fit_warns_where_chains_disagree_and_points_to_the_caller(monkeypatch, blobs):
    monkeypatch.setattr(sticktree.fit, "diagnose", lambda posterior: Diagnosis({"noise": 1.21}, {}))
    with pytest.warns(ConvergenceWarning, match=r"R-hat of noise is 1\.21") as caught:
        mixture = DFPMixture(
            covariance_type="full", n_chains=2, n_warmup=5, n_draws=5, random_state=0
        ).fit(blobs())
    assert [record.filename for record in caught] == [__file__]
    assert mixture.diagnosis_.r_hat == {"noise": 1.21}


def test_fit_is_silent_where_chains_agree(monkeypatch, blobs):
    monkeypatch.setattr(sticktree.fit, "diagnose", lambda posterior: Diagnosis({"noise": 1.19}, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DFPMixture(covariance_type="full", n_chains=2, n_warmup=5, n_draws=5, random_state=0).fit(
            blobs()
        )


def test_fit_that_has_not_warmed_up_warns(blobs):
    mixture = DFPMixture(
        depth=8, covariance_type="full", n_chains=4, n_warmup=0, n_draws=8, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="The chains disagree"):
        mixture.fit(blobs(60, 3))
    assert max(mixture.diagnosis_.r_hat.values()) > 1.2
