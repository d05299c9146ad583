"""A draw whose parameters have left the range of numbers spoils no answer, and is named."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from sticktree import DFPMixture
from sticktree.inference.runner import Run
from sticktree.posterior.draws import ConvergenceWarning

QUESTIONS = {
    "score_samples": lambda mixture, x: mixture.score_samples(x),
    "predict_proba": lambda mixture, x: mixture.predict_proba(x),
    "transform": lambda mixture, x: mixture.transform(x),
    "impute": lambda mixture, x: mixture.impute(x),
    "impute draws": lambda mixture, x: mixture.impute(x, n_draws=20, random_state=0),
    "loo": lambda mixture, x: mixture.loo().pointwise,
}
FORMS = {
    "shared": {"leaf_noise": "shared", "covariance_type": "full"},
    "own": {"leaf_noise": "own", "covariance_type": "diag"},
}


def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(24, 2)) + np.repeat([0.0, 9.0], 12)[:, None]
    x[::5, 0] = np.nan
    return x


@pytest.fixture(scope="module", params=FORMS)
def mixture(request):
    quick = {"n_chains": 2, "n_warmup": 10, "n_draws": 6, "random_state": 0, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DFPMixture(3, **FORMS[request.param], **quick).fit(rows())


def spoilt(draw):
    """Return a draw whose parameters are not finite, but for what it imputes."""
    kept = {"imputed"}
    parameters = {
        name: values if name in kept else np.full_like(values, np.nan)
        for name, values in draw.parameters.items()
    }
    return replace(draw, parameters=parameters)


def with_draws(mixture, change):
    """Return a mixture with other draws, and the summaries of the first."""
    chains = [change(k, list(chain)) for k, chain in enumerate(mixture.posterior_.chains)]
    pairs = zip(mixture.fit_.sampled.runs, chains, strict=True)
    runs = [Run(run.chain, draws, run.n_sweeps) for run, draws in pairs]
    other, sampled = DFPMixture(), replace(mixture.fit_.sampled, runs=runs)
    vars(other).update(vars(mixture))
    fit = replace(mixture.fit_, sampled=sampled).with_summaries(mixture.fit_.summaries())
    for level in range(1, fit.model.depth + 1):  # clusters are those of all draws
        vars(fit).setdefault("_flat", {})[level] = mixture.fit_.flat(level)
    other.fit_ = fit
    return other


def third_is_spoilt(chain, draws):
    if chain == 1:
        draws[2] = spoilt(draws[2])
    return draws


def without_third(chain, draws):
    if chain == 1:
        del draws[2]
    return draws


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_spoilt_draw_is_named_and_left_out(mixture, question):
    ask = QUESTIONS[question]
    with pytest.warns(RuntimeWarning, match=r"1 of 12 draws .*: posterior_\.chains\[1\]\[2\]$"):
        found = ask(with_draws(mixture, third_is_spoilt), rows())
    assert not np.isnan(found).any()
    if question != "loo":  # which takes equally many draws of each chain
        expected = ask(with_draws(mixture, without_third), rows())
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rows_are_drawn_from_the_other_draws(mixture):
    with pytest.warns(RuntimeWarning, match=r"posterior_\.chains\[1\]\[2\]"):
        found = with_draws(mixture, third_is_spoilt).sample(500, random_state=0)
    assert found.shape == (500, 2)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_error_is_raised_where_no_draw_is_left(mixture, question):
    nothing = with_draws(mixture, lambda _, draws: list(map(spoilt, draws)))
    with pytest.raises(ValueError, match="none of the 12 draws has a finite"):
        QUESTIONS[question](nothing, rows())
    with pytest.raises(ValueError, match="none of the 12 draws has a finite"):
        nothing.sample(3, random_state=0)


@pytest.mark.parametrize("far", [1e100, 1e200])
def test_rows_that_are_out_of_reach_have_finite_memberships(mixture, far):
    x = [[far, -far], [far, np.nan]]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        shares = mixture.predict_proba(x)
        filled = mixture.impute(x)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.isfinite(filled).all()
    assert not np.isnan(mixture.score_samples(x)).any()
