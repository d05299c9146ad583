"""Whether groups matter: gains of leave-one-out densities, from the draws of one fit."""

from dataclasses import replace

import numpy as np
import pytest

from sticktree import DFPMixture, datasets
from sticktree.posterior.group_gain import GroupGain, group_gain
from sticktree.posterior.loo import leave_one_out

QUICK = {
    "covariance_type": "full",
    "leaf_noise": "shared",
    "n_chains": 2,
    "n_warmup": 60,
    "n_draws": 60,
    "random_state": 0,
    "n_jobs": 1,
}


@pytest.fixture(scope="module")
def penguins():
    found = datasets.load("penguins")
    return found.data, np.array(found.annotations["island"])


@pytest.fixture(scope="module")
def by_island(penguins):
    x, island = penguins
    return DFPMixture(**QUICK).fit(x, groups=island)


def test_islands_matter_to_penguins_as_much_as_two_fits_say(penguins, by_island):
    """Chains of 60 draws: by how much two fits differ varies by a few nats from seed to seed."""
    found = by_island.groups_matter()
    alone = DFPMixture(**QUICK).fit(penguins[0])
    between = by_island.fit_.loo("best").elpd - alone.fit_.loo("best").elpd
    assert found.matter is True
    assert found.total > 100
    assert found.total == pytest.approx(between, abs=15)
    assert 0 < found.se < found.total / 5
    assert sum(line["gain"] for line in found.table) == pytest.approx(found.total)
    assert [line["rows"] for line in sorted(found.table, key=lambda x: x["group"])] == [
        167,
        124,
        51,
    ]
    assert "yes" in str(found)
    assert found.result()["rows"] == 342


@pytest.mark.parametrize("seed", [0, 1])
def test_islands_at_random_do_not_matter(penguins, seed):
    x, island = penguins
    mixed = np.random.default_rng(seed).permutation(island)
    found = DFPMixture(**QUICK).fit(x, groups=mixed).groups_matter()
    assert found.matter is False
    assert -20 < found.total < 3
    assert "no:" in str(found)


def test_densities_by_group_are_those_of_leaving_one_out(by_island):
    """With the same weights, and fewer draws than are smoothed, sums can be made by hand."""
    predictive = by_island.fit_.posterior.predictive.thinned(12)
    groups = by_island.fit_.training.groups
    found = group_gain(predictive, groups.names, groups.of_data)
    own = predictive.leave_one_out()
    plain = replace(predictive, model=replace(predictive.model, groups=None)).leave_one_out()
    expected = np.log(np.sum(np.exp(plain - own), axis=0) / np.sum(np.exp(-own), axis=0))
    by_group = leave_one_out(own[None]).pointwise
    np.testing.assert_allclose(found.pointwise, by_group - expected, atol=1e-9)
    assert found.n_bad_k is None


def test_pooled_shares_are_those_of_a_fit_without_groups(by_island, penguins):
    """A draw that is read without its groups predicts as a draw that never had any."""
    predictive = by_island.fit_.posterior.predictive.thinned(3)
    plain = replace(predictive, model=replace(predictive.model, groups=None))
    kept = ("stick", "rest", "group_concentration")
    bare = [
        replace(
            one,
            draw=replace(
                one.draw,
                parameters={k: v for k, v in one.draw.parameters.items() if k not in kept},
            ),
        )
        for one in predictive.draws
    ]
    np.testing.assert_array_equal(plain.leave_one_out(), replace(plain, draws=bare).leave_one_out())
    assert not np.allclose(plain.leave_one_out(), predictive.leave_one_out())


@pytest.mark.parametrize(
    ("mean", "spread", "answer"), [(0.5, 0.1, True), (0.1, 2.0, None), (-0.1, 0.1, False)]
)
def test_the_answer_weighs_gain_and_error(mean, spread, answer):
    pointwise = mean + spread * np.resize([-1.0, 1.0], 100)
    of_data = np.resize([0, 1], 100).astype(np.int32)
    found = GroupGain(("a", "b"), of_data, pointwise, np.zeros(100))
    assert found.matter is answer
    assert found.result()["matter"] is answer
    assert str(found).startswith("do groups matter? ")


def test_there_must_be_groups(penguins):
    mixture = DFPMixture(**QUICK | {"n_warmup": 2, "n_draws": 2}).fit(penguins[0][:20])
    with pytest.raises(AttributeError, match="groups="):
        mixture.groups_matter()
