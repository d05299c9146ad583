"""Where chains start, and that they forget it."""

import numpy as np
import pytest

from sticktree.engine.common.start import MOST_LEAVES, MOST_ROWS, find_start
from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.densities import load_tree as load_own
from sticktree.engine.own.densities import recount
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.state import load_tree as load_shared
from sticktree.model import Model
from sticktree.tree import Tree
from tests.support.statistics import assert_same_law

FORMS = ["spherical", "diag", "full"]


def classes_in_few_columns(n_rows=90, n_columns=60, n_apart=10, seed=0):
    """Return rows of three classes, which differ in a few columns only, and the classes."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n_rows)
    data = rng.standard_normal((n_rows, n_columns))
    data[:, :n_apart] += 4.0 * rng.standard_normal((3, n_apart))[label]
    return (data - data.mean(axis=0)) / data.std(axis=0), label


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_leaves_are_too_fine_but_not_absurd(form, gaps):
    data, label = classes_in_few_columns()
    rng = np.random.default_rng(1)
    if gaps:
        data[rng.random(data.shape) < 0.1] = np.nan
        data[7] = np.nan
    for _ in range(4):
        start = find_start(data, 3, form, rng)
        leaf = start.tree.leaf
        n_leaves = np.unique(leaf).size
        assert 5 <= n_leaves <= len(data) // 8 + 1
        most = [np.bincount(label[leaf == k]).max() for k in np.unique(leaf)]
        assert sum(most) > 0.7 * label.size  # by chance it is about 0.45
        assert sum(most) == label.size or form != "diag" or gaps
        assert not np.isnan(start.data).any()
        np.testing.assert_array_equal(start.data[~np.isnan(data)], data[~np.isnan(data)])
        variance = np.diag(start.covariance) if form == "full" else start.covariance
        assert start.covariance.ndim == (2 if form == "full" else 1)
        if form != "spherical":
            # Columns that say nothing of the classes are all noise, the others mostly not.
            assert (variance[10:] > 0.6).all()
            assert variance[:10].mean() < 0.5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_rows", [1, 2, 3, 17])
def test_few_rows_rows_that_repeat_and_columns_that_do_not_vary_have_a_start(form, n_rows):
    rng = np.random.default_rng(n_rows)
    for data in (
        rng.standard_normal((n_rows, 2)),
        np.zeros((n_rows, 3)),
        np.repeat(rng.standard_normal((1, 5)), n_rows, axis=0),
        np.full((n_rows, 2), np.nan),
    ):
        start = find_start(data, 4, form, rng)
        assert start.tree.n_data == n_rows
        assert start.tree.depth == 4
        assert np.isfinite(start.covariance).all()
        assert np.isfinite(start.data).all()
        if form == "full":
            np.linalg.cholesky(start.covariance)
        chain = Chain(data, Model(np.ones(4), covariance_type=form), rng)
        chain.sweep()
        assert np.isfinite(chain.log_joint())


def test_many_rows_are_clustered_by_a_sample():
    data, label = classes_in_few_columns(n_rows=3 * MOST_ROWS, n_columns=6, n_apart=4)
    start = find_start(data, 2, "full", np.random.default_rng(0))
    leaves, leaf = np.unique(start.tree.leaf, return_inverse=True)
    assert 2 <= leaves.size <= MOST_LEAVES
    most = [np.bincount(label[leaf == k]).max() for k in range(leaves.size)]
    assert sum(most) > 0.99 * label.size


def test_chains_start_apart():
    data, _ = classes_in_few_columns(n_rows=200)
    trees = [find_start(data, 2, "diag", np.random.default_rng(seed)).tree for seed in range(6)]
    assert len({np.unique(tree.leaf).size for tree in trees}) > 3


# ---- chains forget where they started ------------------------------------------------------------

DATA = np.array([0.0, 0.1, 0.2, 0.3, 2.0, 2.2, 2.3, -1.5, -1.4, 5.0, 5.1, 1.0])[:, None] * [
    1.0,
    0.5,
]
DATA = DATA - DATA.mean(axis=0)
N_CHAINS, N_SWEEPS = 80, 30


def start_alone(chain, noise):
    """Put every row into a leaf of its own."""
    n = len(DATA)
    parent = np.concatenate([[-1, *[0] * n], np.arange(1, n + 1)])
    level = np.repeat([0, 1, 2], [1, n, n])
    tree = Tree(parent, np.arange(n + 1, 2 * n + 1), level=level)
    if noise == "shared":
        chain.factor = np.full(2, np.sqrt(0.05))
        tree = tree.compressed()
        load_shared(chain.state, tree.parent, tree.level, tree.leaf)
        chain._whiten()
    else:
        load_own(chain.state, tree.parent, tree.level, tree.leaf)
        recount(chain.state)


@pytest.mark.parametrize("noise", ["shared", "own"])
def test_chains_forget_where_they_started(noise):
    shape, prior = np.array([0.8, 1.0]), {"precision_prior": (1.0, None), "scale_prior": (1.0, 5.0)}
    model = Model(shape, covariance_type="diag", leaf_noise=noise, **prior)
    ends = []
    for alone in (False, True):
        for k in range(N_CHAINS):
            rng = np.random.default_rng([k, alone])
            chain = (Chain if noise == "shared" else ColumnsChain)(DATA.copy(), model, rng)
            if alone:
                start_alone(chain, noise)
                assert np.unique(chain.tree().leaf).size == len(DATA)
            for _ in range(N_SWEEPS):
                chain.sweep()
            n_leaves = np.unique(chain.tree().leaf).size
            ends.append([n_leaves, np.log(chain.concentration), chain.log_joint()])
    ends = np.array(ends).reshape(2, N_CHAINS, 3)
    for k in range(3):
        assert_same_law(ends[0, :, k], ends[1, :, k])
