"""The moves of c, d, γ and κ given a fixed tree of rows in groups, against quadrature.

Kolmogorov–Smirnov tests with false-alarm rate 1e-4 a test, of draws that are so far apart that they
count as independent, which is checked.
"""

import numpy as np
import pytest

from sticktree.engine.common.franchise import count_groups, divide_sticks
from sticktree.engine.common.links import DISCOUNT, FACTOR
from sticktree.engine.common.random import random_state
from sticktree.engine.shared.seats import grouped_concentration_move, settle
from sticktree.engine.shared.state import empty_state, load_tree
from sticktree.model import Groups
from sticktree.processes import GroupedRestaurant, ParentedRestaurant
from tests.support.statistics import GridLaw, assert_independent, assert_law

GROUPS = np.array([0, 0, 1, 0, 1, 2, 1, 0], dtype=np.int32)
SHAPE, SCALE = np.array([1.0, 0.7]), 2.0
VALUES = {"c": 0.8, "d": 0.3, "gamma": 1.5, "kappa": 0.6}
FORESTS = {
    "none": None,
    "days": np.array([-1, 0, 1]),
    "conditions": np.array([3, 3, 4, -1, -1]),
}


def law_of(parents, c, d, gamma, kappa):
    choices = {"discount": d, "group_concentration": gamma}
    if parents is None:
        return GroupedRestaurant(c * SHAPE, **choices)
    return ParentedRestaurant(c * SHAPE, **choices, kinship=kappa, parents=parents)


def in_logs(x):
    return np.exp(x), x


def in_log_odds(x):
    p = 1.0 / (1.0 + np.exp(-x))
    return p, np.log(p) + np.log1p(-p)


# A grid of x; the value at x with the log of its slope; the log prior; its place in a state.
SOUGHT = {
    "c": (np.linspace(-9, 4, 61), in_logs, lambda c: 2.0 * np.log(c) - 2.0 * c),
    "d": (np.linspace(-14, 8, 61), in_log_odds, lambda d: np.log(d) + 4.0 * np.log1p(-d)),
    "gamma": (np.linspace(-20, 22, 81), in_logs, lambda gamma: -2.0 * np.log(SCALE + gamma)),
    "kappa": (np.linspace(-21, 21, 81), in_log_odds, lambda kappa: 0.0),
}
CASES = [
    (name, forest) for forest in FORESTS for name in SOUGHT if forest != "none" or name != "kappa"
]


def value_of(state, name):
    return {
        "c": state.scalars[FACTOR],
        "d": state.scalars[DISCOUNT],
        "gamma": state.gamma[0],
        "kappa": state.kappa[0],
    }[name]


@pytest.mark.parametrize(("name", "forest"), CASES)
def test_one_parameter_has_the_law_of_quadrature(name, forest):
    parents, rng = FORESTS[forest], np.random.default_rng([3, len(forest)])
    tree = law_of(parents, **VALUES).sample(GROUPS, rng).tree
    grid, form, log_prior = SOUGHT[name]
    logs = []
    for x in grid:
        value, log_slope = form(x)
        law = law_of(parents, **VALUES | {name: value})
        logs.append(law.log_prob(tree, GROUPS) + log_prior(value) + log_slope)
    state = empty_state(
        rng.standard_normal((GROUPS.size, 1)), SHAPE, np.ones(3), VALUES["c"], VALUES["d"], 1.0,
        group=GROUPS.astype(np.int64), line=Groups(GROUPS, parents=parents).line,
    )  # fmt: skip
    compressed = tree.compressed()
    load_tree(state, compressed.parent, compressed.level, compressed.leaf)
    count_groups(state)
    divide_sticks(state)
    state.gamma[0], state.kappa[0] = VALUES["gamma"], VALUES["kappa"]
    settle(state)
    learned = {one: one == name for one in SOUGHT}
    words, draws = random_state(rng), []
    for k in range(60 * 1500):
        grouped_concentration_move(
            state, words, learned["c"], (3.0, 2.0), learned["d"], (2.0, 5.0), False,
            learned["gamma"], SCALE, learned["kappa"],
        )  # fmt: skip
        if k % 60 == 59:
            draws.append(value_of(state, name))
    values = np.log(draws) if form is in_logs else np.log(draws) - np.log1p(-np.array(draws))
    assert_independent(values)
    assert_law(values, GridLaw(grid, np.array(logs)))
