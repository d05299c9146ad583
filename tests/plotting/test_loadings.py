"""The picture of loadings."""

import numpy as np
import pytest

from sticktree.data.loadings import Loadings
from sticktree.errors import ParameterError
from sticktree.plotting import LoadingsDisplay, plot_loadings


def made(n_columns=60, n_factors=3, names=None):
    values = np.random.default_rng(0).normal(size=(n_columns, n_factors)) * [3.0, 1.0, 0.3]
    names = tuple(range(n_columns)) if names is None else names
    return Loadings(names, values, np.zeros(n_columns), np.ones(n_columns))


def texts(labels):
    return [label.get_text() for label in labels]


def test_every_factor_has_its_columns():
    loadings = made(names=tuple(f"$gene{k}$" for k in range(60)))
    ax = plot_loadings(loadings, max_columns=12)
    lines = texts(ax.get_yticklabels())
    assert len(lines) == 12
    chosen = [loadings.names.index(line) for line in lines]
    nearest = np.abs(loadings.correlations[chosen]).argmax(axis=1)
    assert nearest.tolist() == sorted(nearest.tolist())
    assert set(nearest) == {0, 1, 2}
    shown = np.asarray(ax.collections[0].get_array()).reshape(12, 3)
    np.testing.assert_allclose(shown, loadings.correlations[chosen])
    assert ax.get_ylabel() == "12 of 60 columns"
    assert len(ax.get_xticklabels()) == 3


def test_columns_without_names_are_numbered():
    display = LoadingsDisplay(made(n_columns=5)).plot()
    assert sorted(texts(display.ax_.get_yticklabels())) == ["x0", "x1", "x2", "x3", "x4"]
    assert display.ax_.get_ylabel() == ""


def test_what_is_not_loadings_is_refused():
    with pytest.raises(TypeError, match="loadings must be Loadings, got list"):
        LoadingsDisplay([1.0])
    with pytest.raises(ParameterError, match="max_columns"):
        plot_loadings(made(), max_columns=0)
