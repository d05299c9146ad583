"""What the tests of the posterior share: quick fits and draws made by hand."""

import warnings

import numpy as np
import pytest

from sticktree import DFPMixture, Tree
from sticktree.posterior import Draw
from sticktree.posterior.draws import ConvergenceWarning


@pytest.fixture(scope="session")
def blobs():
    """Return a function that makes two far groups of rows; the labels are 0 and 1 by halves."""

    def make(n_rows=24, dimension=2, seed=0):
        rng = np.random.default_rng(seed)
        shift = np.repeat([0.0, 12.0], n_rows // 2)[:, None]
        return rng.standard_normal((n_rows, dimension)) + shift

    return make


@pytest.fixture(scope="session")
def fit():
    """Return a quick fit; chains as short as these may well disagree."""

    def quick(data, **parameters):
        quick = {
            "covariance_type": "full",
            "depth": 3,
            "n_chains": 2,
            "n_warmup": 30,
            "n_draws": 20,
            "random_state": 0,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return DFPMixture(**quick | parameters).fit(data)

    return quick


@pytest.fixture(scope="session")
def make_draw():
    """Return a function that makes a draw by hand from a tree or from the paths of its data."""

    def make(paths, **values):
        tree = paths if isinstance(paths, Tree) else Tree.from_paths(paths)
        tree = tree.compressed()
        parameters = {
            "scales": np.ones(tree.depth + 1),
            "factor": np.array(1.0),
            "noise": np.array(1.0),
        }
        default = {
            "traced": ("scales", "noise"),
            "concentration": 1.0,
            "discount": 0.0,
            "log_joint": 0.0,
        }
        return Draw(
            leaf=tree.leaf.astype(np.uint16),
            parent=np.maximum(tree.parent, 0).astype(np.uint16),
            level=tree.level.astype(np.uint8),
            parameters=parameters | values.pop("parameters", {}),
            **default | values,
        )

    return make
