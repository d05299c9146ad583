"""Every move of the engine against the exact posterior over all trees on a few data.

Each move alone starts from exact draws: trees from the enumeration, φ given the tree from a chain
that does nothing else. What comes out must have the same law; the moves are applied several times,
so that what one does wrong adds up. Chains of all moves must find the posterior by themselves. All
checks are chi-square or z-tests with false-alarm rate 1e-4.
"""

from dataclasses import replace

import numpy as np
import pytest

from sticktree import Tree
from sticktree.engine.common.random import random_state
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.collapsed import collapsed_sweep
from sticktree.engine.own.regraft import regraft_sweep
from sticktree.engine.own.split_leaves import split_merge_sweep
from sticktree.engine.own.split_nodes import node_split_sweep
from tests.engine.own.test_exact import CASES, setting_of
from tests.support.own import engine, exact, placements, twin
from tests.support.statistics import (
    GridLaw,
    assert_frequencies,
    assert_independent,
    assert_law,
    assert_mean,
)

MOVES = {
    "datum": engine.move_all_data,
    "regraft": lambda state, words: regraft_sweep(state, words, 3),
    "split_merge": lambda state, words: split_merge_sweep(state, words, 3),
    "node_split": lambda state, words: node_split_sweep(state, words, 3),
}
# Where all columns are Gaussian.
COLLAPSED = {
    "grafts": lambda state, words: collapsed_sweep(state, words, 3, 0),
    "broods": lambda state, words: collapsed_sweep(state, words, 0, 3),
}
# More data, of which several sit in one leaf.
MORE = {
    "five": (("gaussian",), "diag", (), [[0.1], [np.nan], [1.8], [0.4], [0.2]]),
    "six": (("gaussian",), "diag", (), [[0.1], [np.nan], [1.8], [0.4], [0.2], [1.3]]),
}


def case_of(name, depth, floor=0.05):
    kinds, form, categories, data = (CASES | MORE)[name]
    setting = setting_of(kinds, form, min(depth, 2), categories, 0.0 if form == "full" else floor)
    setting = replace(setting, discount=0.5)  # so large that it must be right everywhere
    if depth == 3:
        setting = replace(
            setting,
            shape=np.array([1.0, 0.7, 0.5]),
            v=np.array([[0.8], [0.5], [0.6]]) * setting.v[:1],
        )
    return setting, np.array(data, dtype=float)


@pytest.fixture(scope="module")
def posterior():
    """Return a function that gives the setting, the data, all trees and their probabilities."""
    known = {}

    def get(name, depth):
        if (name, depth) not in known:
            setting, data = case_of(name, depth)
            law = exact.tree_posterior(data, setting)
            known[name, depth] = setting, data, list(law), np.array(list(law.values()))
        return known[name, depth]

    return get


def functions(state):
    """Return numbers of tree and φ whose means must stay."""
    tree, phi = tree_of(state), engine.phi_of(state)
    above = tree.parent[tree.leaf]
    apart = np.abs(phi[above[0]] - phi[above[1]]).sum()
    n_inner = (tree.level < tree.depth).sum()
    n_leaves = (tree.level == tree.depth).sum()
    steps = phi[1:] - phi[tree.parent[1:]]
    return np.concatenate(
        [
            np.tanh(phi[0]),
            np.tanh(phi[above[:3]]).ravel(),
            np.tanh(phi[0] - phi[above[0]]) ** 2,
            [np.tanh(apart), np.nansum(np.tanh(steps) ** 2), np.nansum(np.tanh(phi))],
            [n_inner, n_leaves, n_leaves**2, tree.count[tree.leaf[0]]],
            [n_leaves * np.tanh(phi[above[0]].sum()), n_inner * np.tanh(phi[above[0]].sum())],
        ]
    )


def assert_stays(move, case, n_draws, n_repeats):
    setting, data, trees, probabilities = case
    gaps = engine.gaps_of(data, setting)
    rng = np.random.default_rng(len(trees))
    words = random_state(rng)
    starts = []
    for tree in trees:
        phi = twin.sample_phi(tree, setting, rng)
        filled = np.where(gaps, rng.standard_normal(data.shape), data)
        starts.append(engine.state_of(tree, phi, filled, setting))
        for _ in range(20):
            engine.redraw_phi(starts[-1], words, gaps)
    census, differences = engine.Census(trees), []
    for k in rng.choice(len(trees), size=n_draws, p=probabilities / probabilities.sum()):
        for _ in range(2):
            engine.redraw_phi(starts[k], words, gaps)
        state = engine.copied(starts[k])
        move(state, words)
        for _ in range(n_repeats - 1):
            engine.redraw_phi(state, words, gaps)
            move(state, words)
        census.add(state)
        differences.append(functions(state) - functions(starts[k]))
    assert_frequencies(census.counts, probabilities)
    assert_mean(differences, 0.0)


@pytest.mark.parametrize(
    ("name", "depth", "move"),
    [
        (name, depth, move)
        for name, depth, moves in [
            ("gaussian", 3, ("datum", "regraft", "node_split", *COLLAPSED)),
            ("two categories", 2, ("regraft", "node_split")),
            ("spherical", 2, ("datum", "split_merge", "node_split", *COLLAPSED)),
            ("full", 2, (*MOVES, *COLLAPSED)),
            ("mixed", 2, MOVES),
            ("five", 2, ("node_split", "broods")),
            ("six", 1, ("datum", "split_merge")),
        ]
        for move in moves
    ],
)
def test_move_alone_keeps_exact_draws_exact(name, depth, move, posterior):
    case = posterior(name, depth)
    n_draws = 2_000 if len(case[2]) > 50 else 1_000
    assert_stays((MOVES | COLLAPSED)[move], case, n_draws, 4)


def shape_functions(tree, phi, setting):
    """Return numbers of a large tree, and of the steps of φ between its levels."""
    steps = phi[:, 0] - np.where(tree.parent < 0, 0.0, phi[tree.parent, 0])
    values = [setting.law.log_prob(tree), twin.meeting_level(tree, *tree.leaf[:2])]
    for level in range(setting.depth + 1):
        nodes = np.flatnonzero(tree.level == level)
        values += [nodes.size, np.square(tree.count[nodes]).sum()]
        values += [(tree.count[nodes] == 2).sum()]
        if level < setting.depth:
            values.append((steps[nodes] ** 2).mean() / setting.v[level, 0])
        if 0 < level < setting.depth:
            values.append((steps[nodes] * steps[tree.parent[nodes]]).mean())
    return np.array(values, dtype=float)


@pytest.mark.parametrize("move", MOVES | COLLAPSED)
def test_move_keeps_the_prior_where_nothing_is_seen(move):
    # Exact draws are easy to come by then, of trees too large to enumerate.
    setting = replace(case_of("gaussian", 3)[0], c=0.4)
    data = np.full((7, 1), np.nan)
    rng = np.random.default_rng(6)
    words = random_state(rng)
    differences = []
    for _ in range(1_200):
        tree = setting.law.sample(len(data), rng)
        phi = twin.sample_phi(tree, setting, rng)
        state = engine.state_of(tree, phi, data, setting)
        for _ in range(10):
            (MOVES | COLLAPSED)[move](state, words)
        after = shape_functions(tree_of(state), engine.phi_of(state), setting)
        differences.append(after - shape_functions(tree, phi, setting))
    assert_mean(differences, 0.0)


@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("ceiling", [1, 2, 3])
def test_places_of_a_subtree_have_their_prior_probabilities(ceiling, m):
    setting, _ = case_of("gaussian", 3)
    tree = Tree.from_paths([(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1), (2, 1, 1), (2, 2, 1)])
    phi = np.zeros((tree.n_nodes, 1))
    state = engine.state_of(tree, phi, np.zeros((tree.n_data, 1)), setting)
    found, expected = engine.places_of_subtree(state, ceiling, m), []
    order = state.order[: tree.n_nodes]
    for node in order[tree.level[order] < ceiling]:
        more, _ = placements.extended(tree, phi, node)
        leaf = np.append(more.leaf, np.repeat(more.leaf[-1], m - 1))
        expected.append(setting.law.log_prob(Tree(more.parent, leaf, level=more.level)))
    found = found[tree.level[order] < ceiling]
    np.testing.assert_allclose(found - found[0], np.array(expected) - expected[0], atol=1e-10)


def excess_of_stays(visits, probabilities):
    """Return the mean autocorrelation of the visits of all trees.

    It is half the relative amount by which the chi-square statistic of the visits is too large.
    """
    stays = visits[1:][visits[1:] == visits[:-1]]
    common = probabilities * len(visits) > 5
    share = np.bincount(stays, minlength=len(probabilities)) / (len(visits) - 1)
    excess = (share - probabilities**2)[common] / probabilities[common]
    return excess.sum() / (common.sum() - 1)


def sweep_keeping_psi(chain, gaps):
    """Apply every move as the chain does, but those of hyper-parameters."""
    state, words = chain.state, chain.words
    for move in MOVES.values():
        move(state, words)
    engine.redraw_phi(state, words, gaps)


@pytest.mark.parametrize(
    ("name", "depth"),
    [(name, 2) for name in CASES] + [("full", 1), ("mixed", 3)],
)
def test_sweeps_find_the_exact_posterior_of_tree_and_root(name, depth):
    setting, data = case_of(name, depth)
    # The variances cannot be fixed, but their prior can be as narrow as one likes.
    setting = replace(setting, v=np.full_like(setting.v, 0.8))
    law = exact.tree_posterior(data, setting)
    trees, probabilities = list(law), np.array(list(law.values()))
    chain = ColumnsChain(
        data,
        engine.model_of(setting, node_prior=(1e10, 0.8e10)),
        np.random.default_rng([len(name), depth]),
    )
    gaps = engine.gaps_of(data, setting)
    if setting.form == "full":
        chain.state.variance[:] = 0.8
        chain.state.psi[:] = setting.psi
        chain.state.scalars[engine.LOG_PSI] = np.linalg.slogdet(setting.psi)[1]
        engine.settle(chain.state)
    census, root = engine.Census(trees), []
    for sweep in range(1_000 * 3 + 50):
        if setting.form == "full":
            sweep_keeping_psi(chain, gaps)
        else:
            chain.sweep()
        if sweep >= 50 and sweep % 3 == 0:
            census.add(chain.state)
            root.append(engine.phi_of(chain.state)[0])
    assert excess_of_stays(np.array(census.visits), probabilities) < 0.03
    assert_frequencies(census.counts, probabilities)
    root = np.array(root)[::3]
    assert_independent(root)
    for p in range(setting.n_coordinates):
        points, density = exact.root_posterior(data, setting, p)
        with np.errstate(divide="ignore"):
            assert_law(root[:, p], GridLaw(points, np.log(density)))
