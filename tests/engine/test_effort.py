"""Numbers of moves: learned in warm-up, then frozen, and kept in snapshots."""

import numpy as np
import pytest

from sticktree.engine import engine_of, parallel_chain_of
from sticktree.engine.chain import Effort, Move, apply_moves
from sticktree.inference.runner import Run, Schedule
from sticktree.model import Model
from tests.support.bulk import rows_of

MODELS = {
    noise: Model(np.array([1.0, 0.7]), leaf_noise=noise, covariance_type="diag")
    for noise in ("shared", "own")
}


def data_of(n_rows=40):
    rng = np.random.default_rng(3)
    return rng.normal(size=(n_rows, 2)) * 0.2 + rng.integers(4, size=(n_rows, 1))


def chain_of(noise, bulk, seed=0):
    rng, model = np.random.default_rng(seed), MODELS[noise]
    if bulk:
        return parallel_chain_of(model)(rows_of(data_of()), model, rng)
    return engine_of(model).chain(data_of(), model, rng)


def test_a_sweep_says_of_each_move_how_many_were_accepted_and_of_how_many():
    done = []
    moves = [Move("half", lambda n: done.append(n) or n // 2, 6), Move("all", lambda n: n)]
    assert apply_moves(moves) == {"half": (3, 6), "all": (1, 1)}
    assert done == [6]


def test_the_effort_follows_the_tree_at_powers_of_two_only():
    effort, sizes = Effort(10), []
    for sweep in range(1, 20):
        effort.tune(100 + sweep)
        sizes.append(effort.size)
    assert sizes == [101, 102, 102, *[104] * 4, *[108] * 8, *[116] * 4]


def test_counts_grow_with_the_size_up_to_a_limit():
    assert [Effort(size).count(4) for size in (0, 3, 4, 40, 400)] == [2, 2, 3, 12, 32]
    assert Effort(400).count(1, 64) == 64


@pytest.mark.parametrize("bulk", [False, True])
@pytest.mark.parametrize("noise", MODELS)
def test_warm_up_ends_the_tuning(noise, bulk):
    run = Run(chain_of(noise, bulk))
    sizes = [(run.chain.effort.size, run.chain.effort.n_tuned) for _ in run.sweeps(Schedule(5, 20))]
    assert [n for _, n in sizes] == [1, 2, 3, 4, *[5] * 21]
    assert len(set(sizes[3:])) == 2  # the size is that of sweep 4 for ever


@pytest.mark.parametrize("bulk", [False, True])
@pytest.mark.parametrize("noise", MODELS)
def test_a_snapshot_keeps_the_effort_and_an_old_one_gets_that_of_its_tree(noise, bulk):
    chain = chain_of(noise, bulk)
    chain.effort = Effort(77, 3)
    saved, model, rng = chain.snapshot(), MODELS[noise], np.random.default_rng(0)
    rows = rows_of(data_of()) if bulk else data_of()
    assert type(chain).restored(rows, model, rng, saved).effort == Effort(77, 3)
    old = saved.copy()
    del old["effort"]
    if bulk:
        old["parallel"] = np.append(saved["parallel"], np.array([5, 9], dtype=np.uint64))
    restored = type(chain).restored(rows, model, rng, old)
    size = restored.leaves.size if bulk else restored.tree().n_nodes
    assert restored.effort == Effort(size)
    restored.sweep()
