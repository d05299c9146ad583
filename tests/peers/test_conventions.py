import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sticktree import peers

X = np.random.default_rng(0).normal(size=(20, 3))
DENSITIES = [name for name in peers.__all__ if hasattr(getattr(peers, name), "score_samples")]


def small(name):
    """Return a method that is quick to fit."""
    estimator = getattr(peers, name)()
    wanted = {
        "max_components": 2,
        "n_components": 2,
        "bandwidths": (0.3, 0.6, 1.2),
        "covariance_types": ("full",),
        "widths": (1.0,),
        "scale": 0.5,
        "max_rounds": 1,
        "random_state": 0,
    }
    return estimator.set_params(**{k: v for k, v in wanted.items() if k in estimator.get_params()})


@pytest.mark.parametrize("name", peers.__all__)
def test_clones_have_the_same_parameters_and_are_not_fitted(name):
    fitted = small(name).fit(X)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not [a for a in vars(copy) if a.endswith("_")]


@pytest.mark.parametrize("name", peers.__all__)
def test_fit_returns_itself_and_counts_columns(name):
    estimator = small(name)
    assert estimator.fit(X, y=np.zeros(20)) is estimator
    assert estimator.n_features_in_ == 3
    assert hasattr(estimator, "tree_") or estimator.score_samples(X).shape == (20,)


@pytest.mark.parametrize("name", peers.__all__)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (X[0], "Expected 2D array"),
        (X[:1], "minimum of"),
        (np.where(X > 1, np.inf, X), "infinity"),
        ([["a", "b"]] * 5, "convert"),
    ],
)
def test_wrong_tables_are_refused(name, wrong, message):
    with pytest.raises(ValueError, match=message):
        small(name).fit(wrong)


@pytest.mark.parametrize("name", DENSITIES)
def test_densities_refuse_other_columns_and_no_fit(name):
    estimator = small(name)
    with pytest.raises(NotFittedError):
        estimator.score_samples(X)
    with pytest.raises(ValueError, match="2 features"):
        estimator.fit(X).score_samples(X[:, :2])
    assert estimator.score(X) == pytest.approx(estimator.score_samples(X).mean())


def test_importing_peers_loads_none_of_them():
    program = "import sys, sticktree.peers; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.decode().split()}
    assert not loaded & {"sklearn", "scipy", "numba"}


def test_names_are_listed_and_others_refused():
    assert set(peers.__all__) <= set(dir(peers))
    assert all(name in peers.__doc__ for name in peers.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Oracle'"):
        peers.Oracle  # noqa: B018
