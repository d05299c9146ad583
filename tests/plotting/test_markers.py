"""Markers as dots, against the markers."""

import numpy as np
import pandas as pd
import pytest

from sticktree.plotting import MarkersDisplay, plot_markers
from tests.support.made_fits import mixture


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [30, 20, 1])
    frame = pd.DataFrame(rng.normal(size=(51, 3)) + labels[:, None], columns=["$a", "b", "c$"])
    frame["kind"] = np.array(["x", "y", "y"])[labels]
    return mixture(frame, labels=labels)


def test_dots_are_where_and_what_the_markers_are(fitted, assert_legible):
    display = MarkersDisplay.from_estimator(fitted)
    contrast = fitted.markers().contrast
    dots, crosses = display.ax_.collections[:2]
    known = ~np.isnan(contrast.probability)
    where = [(int(k), int(d)) for k, d in dots.get_offsets()]
    assert sorted(where) == sorted(zip(*np.nonzero(known), strict=True))
    effect = [contrast.effect[k, d] for k, d in where]
    np.testing.assert_allclose(dots.get_array(), np.clip(effect, -2, 2))
    evidence = [abs(contrast.probability[k, d] - 0.5) for k, d in where]
    assert (np.argsort(dots.get_sizes()) == np.argsort(evidence)).all()
    assert len(crosses.get_offsets()) == 3  # one row has no spread in three columns of numbers
    texts = assert_legible(display.figure_)
    assert {"$a", "b", "c$", "kind", "0", "1", "2", "not known"} <= set(texts)


def test_functions_take_markers_and_mixtures(fitted):
    assert plot_markers(fitted).get_xlabel() == "cluster"
    ax = plot_markers(fitted.markers(["a"] * 25 + ["b"] * 26), max_columns=2)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b"]
    assert ax.get_ylabel() == "2 of 4 columns"
    with pytest.raises(TypeError, match="markers must be Markers, got int"):
        MarkersDisplay(3)
    with pytest.raises(ValueError, match="max_columns must be an integer of at least 1, got 0"):
        plot_markers(fitted, max_columns=0)


def test_odd_markers_can_be_drawn(assert_legible):
    one = mixture(np.arange(5.0)[:, None], labels=np.zeros(5, dtype=int))
    assert_legible(MarkersDisplay.from_estimator(one).figure_)  # nothing is known
    rng = np.random.default_rng(0)
    many = mixture(rng.normal(size=(400, 60)), labels=np.arange(400) % 50)
    display = MarkersDisplay.from_estimator(many)
    assert display.ax_.get_xlabel() == "largest clusters; 10 more"
    assert display.ax_.get_ylabel() == "40 of 60 columns"
    assert_legible(display.figure_)
