"""Leaves that move between batches: against dense Gaussian twins of the same random walks."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sticktree.engine.bulk.own import OwnBulkChain
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.bulk.sums import SUMS
from sticktree.engine.common.links import ROOT
from sticktree.engine.online.drifting import moved, moved_sums
from sticktree.engine.online.forgetting import sums_of_blocks
from sticktree.engine.online.rows import Between, follow, restored_rows
from sticktree.engine.shared.predictive import predictives
from sticktree.engine.shared.state import set_scales
from sticktree.model import Model
from tests.engine.online.test_rows import blocks_of
from tests.support.bulk import rows_of

STEP = 0.07


def test_one_place_is_filtered_as_a_random_walk():
    """With a flat prior, Λ and h are precision and mean of the last place given all rows."""
    rng = np.random.default_rng(0)
    batches = [[rng.normal(size=(n, 1)) for n in sizes] for sizes in ((3, 5), (4,), (2, 6))]
    leaf, blocks, products = np.empty(0, dtype=int), None, np.zeros((1, 1))
    for groups in batches:
        new = blocks_of(groups)
        blocks = new if blocks is None else blocks.plus(new)
        leaf = np.zeros(blocks.n.size, dtype=int)
        rows = np.concatenate(groups)
        blocks, products = moved(blocks, products + rows.T @ rows, leaf, STEP)
    y = np.concatenate([np.concatenate(groups).ravel() for groups in batches])
    when = np.repeat(np.arange(3), [8, 4, 8])
    # Places are the last one and steps back from it, 3 of them for the first rows.
    steps = 3 - np.maximum(when[:, None], when)
    inverse = np.linalg.inv(STEP * steps + np.eye(y.size))
    precision = inverse.sum()
    sums = sums_of_blocks(blocks, leaf, 1, SUMS)
    assert sums.n[0] == y.size
    assert sums.seen[0, 0] == pytest.approx(precision)
    assert sums.total[0, 0] == pytest.approx(inverse.sum(axis=0) @ y)
    # What the best place leaves of the squares is that of the walk.
    mean = sums.total[0, 0] / precision
    left = products[0, 0] - precision * mean**2
    scatter = sum(((np.concatenate(g) - np.concatenate(g).mean()) ** 2).sum() for g in batches)
    assert left == pytest.approx((y - mean) @ inverse @ (y - mean))
    assert left > scatter


def test_blocks_in_other_leaves_do_not_share_a_step():
    rng = np.random.default_rng(1)
    groups = [rng.normal(size=(n, 2)) for n in (4, 9)]
    apart, _ = moved(blocks_of(groups), np.zeros((2, 2)), np.array([1, 0]), STEP)
    np.testing.assert_allclose(apart.weight[:, 0], [4 / (1 + 4 * STEP), 9 / (1 + 9 * STEP)])
    together, _ = moved(blocks_of(groups), np.zeros((2, 2)), np.array([1, 1]), STEP)
    np.testing.assert_allclose(together.weight[:, 0], np.array([4, 9]) / (1 + 13 * STEP))
    for after in (apart, together):
        np.testing.assert_allclose(after.mean, blocks_of(groups).mean)
        np.testing.assert_array_equal(after.n, [4, 9])


# ---- a chain -------------------------------------------------------------------------------------


MODEL = Model(np.array([0.8]), covariance_type="diag", precision_prior=(1.0, 0.01))
CENTRES = np.array([[-1.5, 0.0], [1.0, 1.0]])


class Walked:
    """A chain after batches between which leaves have moved, and where all rows are."""

    def __init__(self, centres, seed=0, n_batches=3, model=MODEL):
        rng = np.random.default_rng(seed)
        self.batches = [
            centres[rng.integers(len(centres), size=20)] + 0.1 * rng.normal(size=(20, 2)) + 0.1 * t
            for t in range(n_batches)
        ]
        self.chain = SharedBulkChain(rows_of(self.batches[0]), model, np.random.default_rng(seed))
        for _ in range(20):
            self.chain.sweep()
        assign, self.leaf = self.chain.assign_and_pick_all, []

        def noted():
            picked = assign()
            self.leaf.append(picked.leaf)
            return picked

        self.chain.assign_and_pick_all = noted
        for batch in self.batches[1:]:
            follow(self.chain, rows_of(batch), Between(drift=STEP))
        self.chain._assign()
        of_leaf = np.arange(self.chain.size)
        self.leaf.append(self.chain.rows.labels(of_leaf, np.empty(0, dtype=int)))
        self.when = np.repeat(np.arange(n_batches), 20)

    def covariance(self, v):
        """Return the covariance of all rows, in units of Σ: root, leaf, walk and noise."""
        leaf = np.concatenate(self.leaf)
        same = leaf[:, None] == leaf
        back = self.when.max() - np.maximum(self.when[:, None], self.when)
        return v[0] + same * (v[1] + STEP * back) + np.eye(leaf.size)

    def log_likelihood(self, v, deviation):
        """Return what the chain says, and what the twin does."""
        chain, y = self.chain, np.concatenate(self.batches)
        chain.state.levels["scale"] = v
        set_scales(chain.state)
        chain.factor = np.array(deviation)
        chain._whiten()
        dense = [
            multivariate_normal(cov=s**2 * self.covariance(v)).logpdf(y[:, d])
            for d, s in enumerate(deviation)
        ]
        return chain.log_likelihood(), sum(dense)


@pytest.fixture(scope="module")
def walked():
    return Walked(CENTRES)


def test_the_likelihood_is_that_of_leaves_that_walk(walked):
    """But for a constant: how many rows each block has."""
    assert walked.chain.size >= 2
    settings = [((1.0, 4.0), (0.1, 0.2)), ((3.0, 9.0), (0.1, 0.2)), ((1.0, 0.5), (0.3, 0.15))]
    found, dense = np.array([walked.log_likelihood(*setting) for setting in settings]).T
    np.testing.assert_allclose(found - found[0], dense - dense[0], rtol=1e-9, atol=1e-7)


def test_places_of_leaves_are_filtered(walked):
    """Mean and variance of φ of all nodes, given all rows."""
    v = (1.5, 6.0)
    walked.log_likelihood(v, (0.1, 0.2))
    chain, leaf = walked.chain, np.concatenate(walked.leaf)
    y = np.concatenate(walked.batches) / np.array([0.1, 0.2])
    inverse = np.linalg.inv(walked.covariance(v))
    for k, node in enumerate(chain.leaves):
        with_rows = v[0] + v[1] * (leaf == k)
        mean = with_rows @ inverse @ y
        variance = v[0] + v[1] - with_rows @ inverse @ with_rows
        np.testing.assert_allclose(chain.state.mean[node], mean, rtol=1e-8)
        assert chain.state.nodes["variance"][node] == pytest.approx(variance)
    mean = v[0] * inverse.sum(axis=0) @ y
    np.testing.assert_allclose(chain.state.mean[ROOT], mean, rtol=1e-8)


def test_predictions_are_of_the_places_now():
    model = Model(np.array([1e-3]), covariance_type="diag", concentration=1.0)
    walked = Walked(np.array([[0.3, 0.4]]), model=model)
    chain, v, deviation = walked.chain, (1.5, 6.0), np.array([0.1, 0.2])
    assert chain.size == 1
    walked.log_likelihood(v, deviation)
    draw = chain.draw()
    (found,) = predictives([draw], np.empty((0, 2)), model)
    y = np.concatenate(walked.batches) / deviation
    inverse, n = np.linalg.inv(walked.covariance(v)), len(y)
    x, density = np.array([[0.4, 0.5], [1.0, -1.0]]), 0.0
    for weight, with_rows in ((n, v[0] + v[1]), (1e-3, v[0])):  # a new leaf has its own step
        mean = with_rows * inverse.sum(axis=0) @ y
        variance = v[0] + v[1] + 1.0 - with_rows**2 * inverse.sum()
        law = multivariate_normal(mean * deviation, np.diag(variance * deviation**2))
        density = density + weight / (n + 1e-3) * law.pdf(x)
    np.testing.assert_allclose(found.log_density(x), np.log(density), rtol=1e-8)


def test_what_is_lost_stays_with_blocks(walked):
    chain = walked.chain
    lost = chain.rows.squashed.blocks.lost
    assert (lost > 0.0).all()
    np.testing.assert_allclose((chain.sums.n - chain.sums.seen[:, 0]).sum(), lost.sum())
    for _ in range(5):
        chain.sweep()
        np.testing.assert_allclose((chain.sums.n - chain.sums.seen[:, 0]).sum(), lost.sum())
    snapshot = chain.snapshot()
    np.testing.assert_array_equal(snapshot["stream_lost"], lost)
    rng = np.random.default_rng()
    rng.bit_generator.state = chain.rng.bit_generator.state
    rows = restored_rows(rows_of(walked.batches[-1]), snapshot)
    again = SharedBulkChain.restored(rows, chain.model, rng, snapshot)
    for one in (chain, again):
        one.sweep()
    assert chain.log_joint() == again.log_joint()


def test_draws_move_as_blocks_do():
    rng = np.random.default_rng(0)
    blocks = blocks_of([rng.normal(size=(n, 2)) for n in (4, 9)])
    leaf = np.array([1, 0])
    before = sums_of_blocks(blocks, leaf, 2, SUMS)
    after = sums_of_blocks(moved(blocks, np.zeros((2, 2)), leaf, STEP).blocks, leaf, 2, SUMS)
    found = moved_sums({"sums_seen": before.seen, "sums_total": before.total}, STEP)
    np.testing.assert_allclose(found["sums_seen"], after.seen)
    np.testing.assert_allclose(found["sums_total"], after.total)


def test_leaves_with_their_own_noise_do_not_move():
    x = np.random.default_rng(0).normal(size=(30, 2))
    model = Model(np.array([0.8]), covariance_type="diag", leaf_noise="own")
    chain = OwnBulkChain(rows_of(x), model, np.random.default_rng(0))
    with pytest.raises(ValueError, match="shared noise"):
        follow(chain, rows_of(x), Between(drift=0.1))
