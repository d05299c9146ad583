"""Relevance as dots, against the relevance."""

import numpy as np
import pandas as pd
import pytest

from sticktree.plotting import RelevanceDisplay, plot_relevance
from tests.support.made_fits import mixture


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [30, 20])
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["$a", "b", "c$"])
    frame["b"] += 4 * labels
    frame["flat"] = 1.0
    return mixture(frame, labels=labels)


def test_dots_are_where_the_shares_are(fitted, assert_legible):
    display = RelevanceDisplay.from_estimator(fitted)
    found = fitted.relevance()
    _, dots, chance = display.ax_.collections
    known = found.order[:3]
    np.testing.assert_allclose(dots.get_offsets()[:3, 0], found.share[known])
    np.testing.assert_allclose(chance.get_offsets()[:3, 0], found.chance[known])
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [found.columns[d] for d in found.order]
    assert {"$a", "b", "c$", "flat", "by chance"} <= set(assert_legible(display.figure_))


def test_intervals_are_those_of_the_draws(fitted):
    found = fitted.relevance()
    spread = type(found)(**vars(found) | {"low": found.share - 0.1, "high": found.share + 0.2})
    (lines, *_) = RelevanceDisplay(spread).plot().ax_.collections
    ends = np.array([segment[:, 0] for segment in lines.get_segments()[:3]])
    np.testing.assert_allclose(ends - found.share[found.order[:3], None], [[-0.1, 0.2]] * 3)


def test_functions_take_relevance_and_mixtures(fitted):
    assert plot_relevance(fitted).get_xlabel() == "share of variance between clusters"
    ax = plot_relevance(fitted.relevance(np.arange(50) % 2), max_columns=2)
    assert ax.get_ylabel() == "2 of 4 columns"
    with pytest.raises(TypeError, match="relevance must be Relevance, got int"):
        RelevanceDisplay(3)
    with pytest.raises(ValueError, match="max_columns must be an integer of at least 1, got 0"):
        plot_relevance(fitted, max_columns=0)


def test_thousands_of_columns_are_drawn_in_part(assert_legible):
    values = np.random.default_rng(0).normal(size=(20, 2_000))
    display = RelevanceDisplay.from_estimator(mixture(values, labels=np.arange(20) // 10))
    assert display.ax_.get_ylabel() == "30 of 2,000 columns"
    assert_legible(display.figure_)
