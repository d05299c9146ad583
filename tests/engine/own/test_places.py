"""The choice of a place for a datum, against the weights of all places computed one by one."""

import math

import numpy as np
import pytest

from sticktree.engine.common.links import LEAVES, add_data
from sticktree.engine.common.random import random_state
from sticktree.engine.own.branches import (
    bound_branch,
    draw_chain,
    draw_place,
    lend,
    set_paths,
    set_reach,
)
from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.datum import hold, release
from sticktree.engine.own.leaves import has_gaps, log_predictive, log_within, put
from sticktree.engine.own.places import AUXILIARY, PATIENCE, chance, choose
from sticktree.engine.own.state import TWIGS
from sticktree.jit import jit
from sticktree.model import Column, Model
from sticktree.tree.arrays import NULL
from tests.support.own import engine
from tests.support.statistics import assert_frequencies

N, N_CHOICES = 60, 20_000


@jit
def choices_of(state, i, words, n):
    """Return how often each place is chosen; the last are branches with nodes of their own."""
    counts = np.zeros(state.nodes.size + 1)
    places = np.empty(AUXILIARY, dtype=np.int64)
    chains = np.empty((AUXILIARY, state.levels.size, state.coordinates.shape[1]))
    gaps = has_gaps(state, i)
    old, value, is_out = hold(state, i, gaps)
    for _ in range(n):
        node, which = choose(state, i, gaps, old, value, 0, places, chains, words)
        counts[node if which == NULL else -1] += 1
    release(state, i, is_out)
    return counts


@jit
def weights_of(state, i, words, n):
    """Return the weights, that of all branches as a mean over n, and a bound on it in the units."""
    weights = np.zeros(state.nodes.size + 1)
    gaps, leaf = has_gaps(state, i), state.leaf[i]
    put(state, leaf, i, -1.0)
    add_data(state, leaf, -1)
    for node in state.leaves[: state.sizes[LEAVES]]:
        density = math.exp(log_predictive(state, node, i, gaps, -math.inf))
        weights[node] = chance(state, node) * density
    for node in state.twigs[: state.sizes[TWIGS]]:
        density = math.exp(log_predictive(state, node, i, gaps, -math.inf))
        weights[node] = chance(state, node) * density
    fresh, bound = 0.0, 0.0
    if state.levels.size > 2:
        set_reach(state)
        fresh = set_paths(state)
        bound = fresh * math.exp(bound_branch(state, i, gaps)[1]) / weights.max()
        chain = np.empty((state.levels.size, state.coordinates.shape[1]))
        for _ in range(n):
            draw_chain(state, draw_place(state, fresh, words), chain, words)
            density = math.exp(log_predictive(state, lend(state, 0, chain), i, gaps, -math.inf))
            weights[-1] += fresh * density / n
    put(state, leaf, i, 1.0)
    add_data(state, leaf, 1)
    return weights, bound


@jit
def within(state, i):
    """Return the log density of a datum given the others in its leaf, as it is and taken out."""
    gaps, leaf = has_gaps(state, i), state.leaf[i]
    found = log_within(state, leaf, i, gaps)
    put(state, leaf, i, -1.0)
    exact = log_predictive(state, leaf, i, gaps, -math.inf)
    put(state, leaf, i, 1.0)
    return found, exact


def chain_of(form, depth, kinds, gaps, floor, rng):
    group = rng.integers(4, size=N)
    data = np.empty((N, len(kinds)))
    for d, kind in enumerate(kinds):
        centre = rng.normal(size=4)
        if kind == "gaussian":
            data[:, d] = centre[group] + 0.3 * rng.standard_normal(N)
        elif kind == "categorical":
            data[:, d] = (group + rng.integers(2, size=N)) % 3
        elif kind == "trials":
            data[:, d] = rng.integers(1, 40, size=N)
        elif kind == "binomial":
            data[:, d] = 0.0
        else:
            data[:, d] = rng.poisson(np.exp(1.0 + centre[group]))
    if "binomial" in kinds:
        d, m = kinds.index("binomial"), kinds.index("trials")
        data[:, d] = rng.binomial(data[:, m].astype(int), 0.2 + 0.2 * group)
    if gaps:
        data[2::5, 0] = data[1::7, -1] = np.nan
    columns = tuple(
        Column(
            kind,
            3 if kind == "categorical" else 1,
            floor if kind == "gaussian" else 0.0,
            kinds.index("trials") if kind == "binomial" else NULL,
        )
        for kind in kinds
    )
    model = Model(np.ones(depth), covariance_type=form, leaf_noise="own", columns=columns)
    chain = ColumnsChain(data, model, rng)
    for _ in range(5):
        chain.sweep()
    return chain


GAUSSIAN = ("gaussian",) * 3
MIXED = ("gaussian", "categorical", "poisson", "negative_binomial", "binomial", "trials")
CASES = [
    ("diag", 2, GAUSSIAN, True, 0.0),
    ("diag", 3, GAUSSIAN, False, 0.05),
    ("diag", 1, GAUSSIAN[:1], False, 0.0),
    ("full", 2, GAUSSIAN, False, 0.0),
    ("full", 4, GAUSSIAN[:2], False, 0.0),
    ("spherical", 2, GAUSSIAN, True, 0.05),
    ("diag", 1, MIXED, False, 0.05),
]
every_case = pytest.mark.parametrize(("form", "depth", "kinds", "gaps", "floor"), CASES)


@every_case
def test_places_are_chosen_by_their_weights(form, depth, kinds, gaps, floor):
    rng = np.random.default_rng(depth)
    state = chain_of(form, depth, kinds, gaps, floor, rng).state
    words, checked = random_state(rng), 0
    for i in range(0, N, 3):
        if state.nodes["n"][state.leaf[i]] == 1:
            continue
        weights, bound = weights_of(state, i, words, 40_000)
        if bound > PATIENCE or weights.max() > 0.999 * weights.sum():
            continue
        assert_frequencies(choices_of(state, i, words, N_CHOICES), weights / weights.sum())
        checked += 1
    assert checked > 2


@every_case
def test_datum_has_the_same_density_in_its_leaf_and_out_of_it(form, depth, kinds, gaps, floor):
    rng = np.random.default_rng(depth)
    state = chain_of(form, depth, kinds, gaps, floor, rng).state
    for i in range(N):
        found, exact = within(state, i)
        if form != "spherical":
            assert found == pytest.approx(exact, rel=1e-6, abs=1e-6)


@every_case
def test_all_that_is_kept_is_what_would_be_computed_anew(form, depth, kinds, gaps, floor):
    rng = np.random.default_rng(depth)
    chain = chain_of(form, depth, kinds, gaps, floor, rng)
    for move in chain.moves()[:4] * 3:
        move.kernel(move.count)
        kept = engine.copied(chain.state)
        engine.recount(chain.state)
        state = chain.state
        leaves = state.leaves[: state.sizes[LEAVES]]
        twigs = state.twigs[: state.sizes[TWIGS]]
        assert set(kept.leaves[: leaves.size]) == set(leaves)
        assert set(kept.twigs[: twigs.size]) == set(twigs)
        assert set(leaves) == set(state.leaf)
        for leaf in leaves:
            members, i = [], kept.first[leaf]
            while i != NULL:
                members.append(i)
                i = kept.beside[i, 1]
            assert sorted(members) == np.flatnonzero(state.leaf == leaf).tolist()
        here = np.concatenate([leaves, twigs])
        for name in ("entries", "coordinates"):
            found, expected = getattr(kept, name)[here], getattr(state, name)[here]
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
        for leaf in leaves:
            found, expected = kept.sketch[:, kept.place[leaf]], state.sketch[:, state.place[leaf]]
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
        if form == "full":
            np.testing.assert_allclose(kept.matrices[here], state.matrices[here], atol=1e-8)
        for name in ("n", "base", "power", "log_det"):
            np.testing.assert_allclose(kept.nodes[name][here], state.nodes[name][here], atol=1e-8)
