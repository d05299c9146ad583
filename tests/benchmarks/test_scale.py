import numpy as np
import pytest
from scipy.stats import multivariate_normal

from benchmarks.__main__ import PARTS, asked_for
from benchmarks.scale_cost import Machines, Parts, predicted, size
from benchmarks.scale_dask import NOTHING, TaskCost, n_tasks
from benchmarks.scale_data import clusters, planted
from benchmarks.scale_sweep import overlapping
from sticktree.engine.bulk.components import Components


def test_scale_is_run_when_asked_for():
    assert not any(part.startswith("scale") for part in asked_for([]))
    assert asked_for(["scale"]) == [part for part in PARTS if part.startswith("scale_")]
    assert asked_for(["imports", "scale_cold"]) == ["imports", "scale_cold"]


@pytest.mark.parametrize(("dimension", "equal"), [(2, True), (3, False)])
def test_the_density_is_that_of_the_model_that_made_the_rows(dimension, equal):
    made = clusters(2_000, dimension, 7, equal=equal, n_test=50, seed=3)
    np.testing.assert_allclose(made.data.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(made.data.std(axis=0), 1.0)
    density = sum(
        weight * multivariate_normal(centre, np.diag(made.noise**2)).pdf(made.test)
        for weight, centre in zip(made.weights, made.centres, strict=True)
    )
    assert made.log_density() == pytest.approx(np.log(density).mean())


def test_rows_are_near_their_centres():
    made = clusters(5_000, 2, 9, seed=1)
    away = ((made.data[:, None] - made.centres) / made.noise) ** 2
    # The nearest centre is no further than the own one, whose square is 2 on average.
    assert away.sum(axis=2).min(axis=1).mean() < 2.1


def test_chains_start_with_a_leaf_for_each_cluster():
    chain = planted(clusters(3_000, 2, 12), n_threads=1, n_sweeps=0)
    assert chain.leaves.size == 12
    chain.sweep()
    assert chain.sums.n.sum() == 3_000


def test_leaves_on_top_of_each_other_have_the_same_weight_in_all():
    leaves = planted(clusters(3_000, 2, 5), n_threads=1, n_sweeps=0).components()
    crowd = overlapping(leaves, 4)
    assert crowd.log_weight.size == 4 * leaves.log_weight.size
    assert np.exp(crowd.log_weight).sum() == pytest.approx(np.exp(leaves.log_weight).sum())


def test_bytes_are_those_of_all_arrays():
    leaves = Components(*[np.zeros(3)] * 8, kind=0, impute=False, grid=np.zeros(4))
    assert size(leaves) == 8 * 24 + 2 * 8 + 32


@pytest.mark.parametrize("parts", [1, 8, 9, 65, 100])
def test_tasks_are_counted_as_a_pass_has_them(parts):
    pytest.importorskip("distributed", reason="dask and distributed are not installed")
    from sticktree.data.sources.dask.placement import DaskPlacement

    class Watched:
        """A session that counts tasks, and has all results."""

        n_tasks = 0

        def key(self, what, first, second=0):
            return what, first, second

        def submit(self, graph, keys):
            self.n_tasks = len(graph)
            return keys

        def results(self, futures):
            return [0] * len(futures)

    session = Watched()
    DaskPlacement(list(range(parts)), session, extent=()).map_reduce(NOTHING, 0, sum)
    assert session.n_tasks == n_tasks(parts)


def test_a_prediction_is_the_sum_of_its_parts():
    parts = Parts(0.3, 0.1, 0.01, told=1000, returned=2000, picked=500)
    cost = TaskCost(round_trip=0.005, task=0.004, serial=0.001, shared=0.002)
    few = predicted(parts, 1000, cost, Machines(1, 1000, 1, 1e6))
    assert few == pytest.approx((0.4, 0.01, 0.0035, 0.01))
    assert few.sweep == pytest.approx(0.4235)
    many = predicted(parts, 1000, cost, Machines(4, 5000, 2, 1e6))
    assert many.passes == pytest.approx(5 * 0.4 / 2)
    assert many.messages == pytest.approx(4 * 0.003 + 0.0005)
    assert many.tasks == pytest.approx(2 * (0.005 + 14 * 0.001))
