"""Groups with parents: every move against the exact posterior over all trees on a few rows.

Starts are exact draws of tree and sticks, so draws are independent: chi-square with false-alarm
rate 1e-4.
"""

import numpy as np
import pytest

from sticktree.engine.common.franchise import count_groups
from sticktree.engine.common.random import random_state
from sticktree.engine.shared.datum import datum_sweep, move_data
from sticktree.engine.shared.regraft import regraft_sweep
from sticktree.engine.shared.seats import grouped_concentration_move, settle
from sticktree.engine.shared.split_leaves import split_merge_sweep
from sticktree.engine.shared.split_nodes import node_split_sweep
from sticktree.engine.shared.state import empty_state, load_tree
from tests.engine.shared.test_moves import ALPHA, DATA, NOISE, SCALE
from tests.support.parents import ExactParents, put_all_sticks
from tests.support.statistics import assert_frequencies

FORESTS = {
    "conditions": ((0, 1, 0, 2), (3, 3, 4, -1, -1)),
    "days": ((0, 1, 1, 2), (-1, 0, 1)),
}
GAMMA, KAPPA, DEPTH = 0.8, 0.7, 3
N_DRAWS = 1_000
FIXED = (False, (1.0, 1.0), False, (1.0, 1.0), False, False, 10.0, False)


class Starts:
    """Exact draws of tree and sticks, as states."""

    def __init__(self, twin, forest, discount):
        groups, parents = FORESTS[forest]
        self.exact = ExactParents(ALPHA[:DEPTH], discount, GAMMA, KAPPA, groups, parents)
        setting = twin.Setting(ALPHA[:DEPTH], discount, SCALE[: DEPTH + 1], NOISE)
        self.trees = self.exact.trees
        plain = np.array([setting.law.log_prob(tree) for tree in self.trees])
        likelihood = np.log(twin.posterior(self.trees, DATA, setting)) - plain
        logs = self.exact.log_prior + likelihood
        self.probabilities = np.exp(logs - logs.max())
        self.probabilities /= self.probabilities.sum()
        self.state = empty_state(
            DATA, ALPHA[:DEPTH], SCALE[: DEPTH + 1], 1.0, discount, NOISE,
            group=np.array(groups), line=self.exact.model.line,
        )  # fmt: skip
        self.pool = [self._draw(likelihood, np.random.default_rng([7, k])) for k in range(N_DRAWS)]

    def _draw(self, likelihood, rng):
        full, share, rest = self.exact.draw(likelihood, rng)
        tree, state = full.compressed(), self.state
        load_tree(state, tree.parent, tree.level, tree.leaf)
        put_all_sticks(state, full, share, rest)
        names = ("stick", "rest", "theta", "theta_rest")
        return tree, {name: getattr(state, name).copy() for name in names}

    def __iter__(self):
        """Yield the state at each of the starts."""
        for tree, sticks in self.pool:
            state = self.state
            load_tree(state, tree.parent, tree.level, tree.leaf)
            count_groups(state)
            for name, values in sticks.items():
                getattr(state, name)[:] = values
            state.gamma[0], state.kappa[0] = GAMMA, KAPPA
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
    found = {}

    def get(forest, discount):
        if (forest, discount) not in found:
            found[forest, discount] = Starts(twin, forest, discount)
        return found[forest, discount]

    return get


@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("move", MOVES)
def test_move_keeps_exact_draws_exact(move, forest, discount, starts, twin):
    start, words = starts(forest, discount), random_state(np.random.default_rng(3))
    census = twin.Census(start.trees)
    for state in start:
        MOVES[move](state, words)
        census.add(state)
    assert_frequencies(census.counts, start.probabilities)
