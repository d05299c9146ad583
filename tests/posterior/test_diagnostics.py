"""Diagnostics tell chains that agree from chains that do not, and say what to do."""

import warnings

import numpy as np
import pytest

import sticktree.fit.result
from sticktree import DFPMixture, DPMixture
from sticktree.posterior import Posterior
from sticktree.posterior.draws import ConvergenceWarning, Diagnosis, diagnose
from sticktree.posterior.settled import Settled
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
    assert "One chain alone cannot tell" in diagnosis.advice()


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


def test_scalar_of_two_values_is_judged_without_noise(chains):
    # Such as the number of nodes at a level. All values are equally far from the median, so the
    # part of R-hat that compares distances divides nothing by nothing.
    diagnosis = diagnose(chains([[0.0, 1.0] * 10, [1.0, 0.0] * 10]))
    assert diagnosis.r_hat["log_joint"] < 1.05


# ---- the verdict --------------------------------------------------------------------------------


FINE = {
    "elpd_difference": 0.001,
    "row_difference": 0.05,
    "tolerance": 0.02,
    "cluster_agreement": 0.98,
    "label_agreement": 0.97,
    "tree_agreement": 0.99,
}


def diagnosed(n_chains=4, **changes):
    return Diagnosis({"noise": 9.0}, {"noise": 3.0}, Settled(n_chains, **FINE | changes))


APART = {"cluster_agreement": 0.5, "label_agreement": 0.4}


@pytest.mark.parametrize(
    ("changes", "agreement", "tone", "parts"),
    [
        ({}, "agree", "good", "yes yes yes"),
        ({"tree_agreement": 0.9}, "nearly agree", "good", "yes nearly yes"),
        ({"tree_agreement": 0.7}, "nearly agree", "good", "yes no yes"),
        # Where rows are in the same clusters, how these join is no reason for mistrust.
        ({"cluster_agreement": 0.5}, "nearly agree", "good", "nearly yes yes"),
        ({"label_agreement": 0.8}, "nearly agree", "good", "nearly yes yes"),
        ({"label_agreement": np.nan}, "agree", "good", "yes yes yes"),
        (APART, "disagree", "doubtful", "no yes yes"),
        ({"elpd_difference": -0.04}, "disagree", "doubtful", "yes yes no"),
        ({"row_difference": 0.6}, "nearly agree", "good", "yes yes nearly"),
        (
            APART | {"elpd_difference": 0.04, "tree_agreement": 0.1},
            "disagree",
            "bad",
            "no no no",
        ),
        ({"elpd_difference": np.nan}, "agree", "good", "yes yes cannot"),
        (
            {"elpd_difference": np.nan, "cluster_agreement": np.nan, "tree_agreement": np.nan},
            "cannot tell",
            "doubtful",
            "",
        ),
        ({"n_chains": 1}, "cannot tell", "doubtful", "yes yes yes"),
        (APART | {"n_chains": 1}, "cannot tell", "bad", "no yes yes"),
    ],
)
def test_clusters_tree_and_density_are_judged_each_and_r_hat_is_not(
    changes, agreement, tone, parts
):
    found = diagnosed(**changes).verdict()
    assert (found.agreement, found.tone) == (agreement, tone)
    assert " ".join(part.answer.split()[0] for part in found.parts) == parts
    for part in found.parts:
        holds = getattr(found, part.about)
        assert holds == {"yes": True, "nearly": True, "no": False}.get(part.answer)
        assert bool(part.advice) == (part.answer in ("nearly", "no"))
        assert any(digit.isdigit() for digit in part.figure) or part.answer == "cannot tell"
    assert "R-hat" not in found.text


def test_every_part_is_said_with_its_figure():
    assert diagnosed().verdict().text == (
        "Do the chains agree? Clusters: yes (labels from two halves of the chains agree by 0.97, "
        "cluster trees by 0.98). Tree: yes (levels at which rows meet correlate by 0.99). Density: "
        "yes (0.001 nats a row apart)."
    )
    text = diagnosed(**APART, row_difference=0.6, tree_agreement=0.9).verdict().text
    assert "Density: nearly (0.001 nats a row apart in the mean, 0.60 in single rows" in text
    assert "agree by 0.40, cluster trees by 0.50: chains have found different clusters; use" in text
    assert "Tree: nearly (levels at which rows meet correlate by 0.90" in text
    text = diagnosed(elpd_difference=-0.05).verdict().text
    assert "Density: no (0.050 nats a row apart: less than 0.040 would do; use more" in text


def test_figures_at_a_limit_show_on_which_side_they_are():
    text = diagnosed(row_difference=0.5031, cluster_agreement=0.8996).verdict().text
    assert "0.503 in single rows, where at most 0.5 would do" in text
    assert "cluster trees by 0.8996" in text


def test_advice_says_what_to_do():
    assert diagnosed().advice() is None
    advice = diagnosed(**APART).advice()
    for words in ("Clusters: no", "n_chains", "n_warmup", "n_draws", "more_draws()"):
        assert words in advice
    assert "collapsed" in diagnosed(tree_agreement=0.5).advice()


def test_fit_warns_where_chains_disagree_and_points_to_the_caller(monkeypatch, blobs):
    unsettled = diagnosed(**APART)
    monkeypatch.setattr(sticktree.fit.result, "diagnose", lambda posterior, level: unsettled)
    with pytest.warns(ConvergenceWarning, match=r"Clusters: no") as caught:
        mixture = DFPMixture(
            covariance_type="full", n_chains=2, n_warmup=5, n_draws=5, random_state=0
        ).fit(blobs())
    assert [record.filename for record in caught] == [__file__]
    assert mixture.diagnosis_ is unsettled


def test_fit_is_silent_where_only_details_of_the_tree_differ(monkeypatch, blobs):
    details = diagnosed(tree_agreement=0.5)
    monkeypatch.setattr(sticktree.fit.result, "diagnose", lambda posterior, level: details)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DFPMixture(covariance_type="full", n_chains=2, n_warmup=5, n_draws=5, random_state=0).fit(
            blobs()
        )


def test_fit_whose_chains_differ_warns():
    noise = np.random.default_rng(0).normal(size=(20, 2))
    mixture = DPMixture(n_chains=2, n_warmup=50, n_draws=50, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Clusters: no"):
        mixture.fit(noise)
