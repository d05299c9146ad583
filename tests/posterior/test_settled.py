"""Two halves of the chains are compared in what they answer."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sticktree.posterior.cutting import Lasting, longest_lasting
from sticktree.posterior.draws import diagnose
from sticktree.posterior.loo import LeaveOneOut, leave_one_out
from sticktree.posterior.settled import (
    Yardstick,
    cluster_agreement,
    compared,
    halves,
    label_agreement,
    settled,
    tolerance,
    tree_agreement,
)
from sticktree.posterior.walk import Walk


@pytest.fixture(scope="module")
def mixture(fit, blobs):
    return fit(blobs(60), depth=3, n_chains=4, n_warmup=60, n_draws=30, leaf_noise="shared")


@pytest.fixture
def drawn(make_draw):
    """Return a function that makes draws whose tree has two branches of leaves."""

    def make(branch, n_draws=10, seed=0):
        rng = np.random.default_rng(seed)
        n = len(branch)
        return [
            make_draw([(int(b) + 1, int(leaf) + 1) for b, leaf in zip(branch, leaves, strict=True)])
            for leaves in rng.integers(3, size=(n_draws, n))
        ]

    return make


def test_a_single_chain_is_halved_in_time_and_several_by_turns():
    assert halves([[1, 2, 3, 4]]) == ([1, 2], [3, 4])
    assert halves([[1], [2], [3], [4], [5]]) == ([1, 3, 5], [2, 4])


def test_tolerance_is_a_tenth_of_the_standard_error_of_the_mean():
    pointwise = np.random.default_rng(0).normal(scale=9.0, size=400)
    mean_error = pointwise.std(ddof=1) / 20
    assert tolerance(LeaveOneOut.of_rows(pointwise)) == pytest.approx(0.1 * mean_error)
    assert tolerance(LeaveOneOut.of_rows(pointwise / 100)) == 0.02


def test_densities_of_halves_are_compared_row_by_row(mixture):
    posterior = mixture.posterior_
    yardstick = Yardstick(posterior.training, posterior.model)
    densities = [yardstick.densities(chain) for chain in posterior.chains]
    found = compared(posterior.chains, densities, yardstick, posterior.depth)
    a, b = (leave_one_out(np.array(densities[k::2]), smooth=False).pointwise for k in (0, 1))
    assert found.elpd_difference == pytest.approx((a - b).mean(), abs=1e-12)
    assert found.row_difference == pytest.approx(np.sqrt(np.mean((a - b) ** 2)))
    assert found.density == (abs(found.elpd_difference) < 2 * found.tolerance)


def test_a_chain_whose_densities_are_elsewhere_unsettles_the_density(mixture):
    posterior = mixture.posterior_
    yardstick = Yardstick(posterior.training, posterior.model)
    densities = [yardstick.densities(chain) for chain in posterior.chains]
    densities[1] = densities[1] - 3.0
    densities[3] = densities[3] - 3.0
    found = compared(posterior.chains, densities, yardstick, posterior.depth)
    assert found.elpd_difference == pytest.approx(3.0, abs=0.1)
    assert not found.density
    # Means may agree where rows do not.
    densities[1] = densities[3] = densities[0] + np.where(np.arange(60) % 2, 2.0, -2.0)
    found = compared(posterior.chains, densities, yardstick, posterior.depth)
    assert abs(found.elpd_difference) < 0.04 < 1.5 < found.row_difference
    assert found.density
    assert not found.rows


def test_clusters_that_differ_between_halves_are_found(drawn):
    branch = np.repeat([0, 1], 30)
    other = np.tile([0, 1], 30)
    assert cluster_agreement(drawn(branch), drawn(branch, seed=1), 2) > 0.95
    assert cluster_agreement(drawn(branch)[:1] * 10, drawn(other)[:1] * 10, 2) < 0.5
    same = [Walk.of(drawn(branch, seed=seed), 2, shares={1: 1.0}) for seed in (0, 1)]
    lasting = longest_lasting(same[0])
    assert lasting.n_clusters == 2
    assert label_agreement(*same, lasting) == 1.0
    apart = Walk.of(drawn(other), 2, shares={1: 1.0})
    assert abs(label_agreement(same[0], apart, lasting)) < 0.1


def test_one_cluster_of_all_rows_in_both_halves_is_agreement(make_draw):
    same = Walk.of([make_draw([(1,)] * 12)] * 8, 1)
    assert label_agreement(same, same, longest_lasting(same)) == 1.0
    # Where all draws have two clusters, and a half of them one: it cannot be parted.
    assert label_agreement(same, same, Lasting(2, 32.0, 8.0, [])) == 1.0


def test_levels_at_which_rows_meet_are_compared(drawn):
    branch = np.repeat([0, 1], 30)
    assert tree_agreement(drawn(branch, 60), drawn(branch, 60, seed=1), 2) > 0.95
    still = [drawn(branch)[:1] * 10, drawn(branch, seed=1)[:1] * 10]
    assert tree_agreement(*still, 2) < 0.9


def test_nothing_is_told_of_few_draws(mixture):
    posterior = mixture.posterior_
    few = [chain[:3] for chain in posterior.chains]
    found = settled(few, posterior.model, posterior.training, mixture.fit_.lasting)
    assert (found.density, found.clusters, found.details) == (None, None, None)
    assert math.isnan(found.label_agreement)
    enough = settled([chain[:4] for chain in posterior.chains], posterior.model, posterior.training)
    assert None not in (enough.density, enough.clusters, enough.details)


def test_draws_without_labels_say_what_they_can(fit, blobs):
    posterior = fit(blobs(400), algorithm="parallel", n_draws=24).posterior_
    bare = [[draw.without_labels() for draw in chain] for chain in posterior.chains]
    found = settled(bare, posterior.model, posterior.training)
    assert found.density is not None
    assert found.clusters is None is found.details
    every = [[draw, *rest] for (draw, *_), rest in zip(posterior.chains, bare, strict=True)]
    assert settled(every, posterior.model, posterior.training).clusters is None


def test_the_order_of_rows_and_numbers_of_leaves_do_not_matter(mixture):
    posterior = mixture.posterior_

    def renumbered(draw):
        tree = draw.tree
        order = np.random.default_rng(0).permutation(tree.n_data)
        return replace(draw, leaf=draw.leaf[order])

    before = settled(posterior.chains, posterior.model)
    after = settled([[renumbered(d) for d in c] for c in posterior.chains], posterior.model)
    assert after.cluster_agreement == pytest.approx(before.cluster_agreement, abs=1e-6)
    assert after.tree_agreement == pytest.approx(before.tree_agreement, abs=1e-6)


def test_a_fit_has_all_parts_and_its_posterior_alone_has_no_labels(mixture):
    found = mixture.diagnosis_.settled
    assert not any(map(math.isnan, vars(found).values()))
    alone = diagnose(mixture.posterior_).settled
    assert math.isnan(alone.label_agreement)
    assert replace(alone, label_agreement=found.label_agreement) == found


def test_a_fit_that_knows_r_hats_only_finds_out_the_rest_when_asked(mixture):
    old = replace(mixture.diagnosis_, settled=None)
    fit = mixture.fit_.with_summaries({"diagnosis": old, "tree": mixture.tree_})
    assert "diagnosis" not in vars(fit)
    assert vars(fit)["tree"] is mixture.tree_
    assert fit.diagnosis.settled == mixture.diagnosis_.settled


def test_clusters_in_files_from_before_the_walk_are_found_anew(mixture):
    old = {"labels": np.zeros(60, dtype=np.int32), "confidence": np.ones(60), "level": 1}
    fit = mixture.fit_.with_summaries(old)
    assert not {"labels", "confidence"} & vars(fit).keys()
    np.testing.assert_array_equal(fit.labels, mixture.labels_)
