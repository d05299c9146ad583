"""Rows in groups: every move against the exact posterior over all trees on a few rows.

Starts are exact draws of tree and shared sticks, so draws are independent: chi-square with
false-alarm rate 1e-4.
"""

import numpy as np
import pytest
from scipy.special import gammaln

from sticktree.engine.common.franchise import count_groups, log_grouped_tree
from sticktree.engine.common.links import ALIVE
from sticktree.engine.common.random import random_state
from sticktree.engine.shared.datum import datum_sweep, move_data
from sticktree.engine.shared.mixture import Observed, log_density, log_leave_one_out
from sticktree.engine.shared.regraft import regraft_sweep
from sticktree.engine.shared.seats import grouped_concentration_move, settle
from sticktree.engine.shared.split_leaves import split_merge_sweep
from sticktree.engine.shared.split_nodes import node_split_sweep
from sticktree.engine.shared.state import empty_state, load_tree
from tests.engine.shared.test_moves import ALPHA, DATA, NOISE, SCALE
from tests.support.compiled import without_row
from tests.support.grouped import ExactGroups, put_sticks
from tests.support.statistics import assert_frequencies

GROUPS = (0, 1, 0, 0)
GAMMA, DEPTH = 0.8, 3
N_DRAWS = 1_500
FIXED = (False, (1.0, 1.0), False, (1.0, 1.0), False, False, 10.0, False)


class Starts:
    """Exact draws of tree and sticks, as states."""

    def __init__(self, twin, discount, groups=GROUPS, depth=DEPTH):
        self.discount, self.groups, self.depth = discount, groups, depth
        self.exact = ExactGroups(ALPHA[:depth], discount, GAMMA, groups)
        self.setting = twin.Setting(ALPHA[:depth], discount, SCALE[: depth + 1], NOISE)
        self.trees = self.exact.trees
        plain = np.array([self.setting.law.log_prob(tree) for tree in self.trees])
        likelihood = np.log(twin.posterior(self.trees, DATA, self.setting)) - plain
        logs = self.exact.log_prior + likelihood
        self.probabilities = np.exp(logs - logs.max())
        self.probabilities /= self.probabilities.sum()
        self.state = empty_state(
            DATA, ALPHA[:depth], SCALE[: depth + 1], 1.0, discount, NOISE, group=np.array(groups)
        )

        self.pool = [self._draw(np.random.default_rng([7, k])) for k in range(N_DRAWS)]

    def _draw(self, rng):
        """Draw a tree, and its sticks as a state has them."""
        k, state = int(rng.choice(len(self.trees), p=self.probabilities)), self.state
        tree = self.trees[k].compressed()
        load_tree(state, tree.parent, tree.level, tree.leaf)
        put_sticks(state, self.trees[k], *self.exact.draw_sticks(k, rng))
        return tree, state.stick.copy(), state.rest.copy()

    def __iter__(self):
        """Yield the state at each of the starts."""
        for tree, stick, rest in self.pool:
            state = self.state
            load_tree(state, tree.parent, tree.level, tree.leaf)
            count_groups(state)
            state.stick[:], state.rest[:], state.gamma[0] = stick, rest, GAMMA
            settle(state)
            yield state


MOVES = {
    "datum": lambda state, words: move_data(state, np.array([0]), words),
    "data": datum_sweep,
    "regraft": lambda state, words: regraft_sweep(state, words, 3),
    "split_merge": lambda state, words: split_merge_sweep(state, words, 3),
    "node_split": lambda state, words: node_split_sweep(state, words, 3),
}


def everything(state, words):
    for name in ("data", "regraft", "split_merge", "node_split"):
        MOVES[name](state, words)
    grouped_concentration_move(state, words, *FIXED)


MOVES["everything"] = lambda state, words: [everything(state, words) for _ in range(2)]


@pytest.fixture(scope="module")
def starts(twin):
    return {discount: Starts(twin, discount) for discount in (0.0, 0.3)}


@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize("move", MOVES)
def test_move_keeps_exact_draws_exact(move, discount, starts, twin):
    start, words = starts[discount], random_state(np.random.default_rng(3))
    census = twin.Census(start.trees)
    for state in start:
        MOVES[move](state, words)
        census.add(state)
    assert_frequencies(census.counts, start.probabilities)


def some_state(twin, n_data=14, depth=3):
    """Return a state of rows in three groups, some of them alone on their leaves."""
    rng = np.random.default_rng(5)
    data, groups = 2.0 * rng.standard_normal((n_data, 2)), rng.integers(3, size=n_data)
    state = empty_state(
        data, ALPHA[:depth], SCALE[: depth + 1], 1.0, 0.2, NOISE, group=groups.astype(np.int64)
    )
    words = random_state(rng)
    move_data(state, np.arange(n_data), words)
    for _ in range(3):
        everything(state, words)
    return state


def test_leaving_one_out_is_prediction_without_the_row(twin):
    state = some_state(twin)
    assert {1} < {int(state.nodes["n"][leaf]) for leaf in state.leaf}
    found = log_leave_one_out(twin.copied(state), Observed.complete(*state.data.shape))
    for i, y in enumerate(state.data):
        mixture = without_row(twin.copied(state), i)
        assert mixture.weight.sum() == pytest.approx(1, abs=1e-9)
        assert found[i] == pytest.approx(log_density(mixture, y[None])[0], rel=1e-8)


def test_density_of_tree_and_sticks_is_the_product_over_points(twin):
    state = some_state(twin)
    order = state.order[: state.sizes[ALIVE]]
    seated, gamma, d = state.seated, state.gamma[0], 0.2
    total = 0.0
    for node in order:
        parent, level = state.nodes["parent"][node], state.nodes["level"][node]
        first = 0 if parent < 0 else state.nodes["level"][parent] + 1
        for at in range(first, min(level, DEPTH - 1) + 1):
            children = [node] if at < level else order[state.nodes["parent"][order] == node]
            alpha, beta = state.levels["alpha"][at], state.stick[children, at]
            size = len(children)
            total += gammaln(alpha + 1) + np.log(alpha + d * np.arange(1, size)).sum()
            total -= (
                gammaln(alpha + d * size) + size * gammaln(1 - d) + (d + 1) * np.log(beta).sum()
            )
            total += (alpha + d * size - 1) * np.log(state.rest[node, at])
            for j in range(3):
                total -= gammaln(gamma + seated[node, j]) - gammaln(gamma)
                for k, b in zip(children, beta, strict=True):
                    total += gammaln(gamma * b + seated[k, j]) - gammaln(gamma * b)
    assert log_grouped_tree(state) == pytest.approx(total, rel=1e-10)
