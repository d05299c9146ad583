"""What a leaf says of its data, against the twin's evidence: any kinds, forms, floors and gaps."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from sticktree import Tree
from sticktree.engine.own.state import BASE, CENTRE, PHI
from tests.support.own import engine
from tests.support.own.evidence import log_leaf_evidence
from tests.support.own.setting import Setting, coordinates_of

KINDS = ("gaussian", "categorical", "poisson", "gaussian", "negative_binomial", "gaussian")
U = np.array([0.5, -0.3, 0.2, 0.9, -0.4, 1.1, 0.3, -0.8])
N = 30


def setting_of(form, floor):
    offset, width = coordinates_of(KINDS, (3,))
    return Setting(
        kinds=KINDS,
        form=form,
        offset=offset,
        width=width,
        floor=np.array([floor, 0.0, 0.0, 2.0 * floor, 0.0, 0.5 * floor]),
        shape=np.ones(1),
        c=1.0,
        discount=0.1,
        v=np.ones((1, 8)),
        hyper=np.exp(np.random.default_rng(3).normal([[-0.5], [0.5], [-0.4]], 0.4, (3, 6))),
        psi=np.array([[0.8, 0.3, 0.1], [0.3, 0.6, -0.2], [0.1, -0.2, 1.5]]),
    )


def rows_of(spread, gaps, rng):
    """Return rows of all kinds. A share of the entries is missing; the last rows miss many."""
    data = np.empty((N, 6))
    data[:, [0, 3, 5]] = [0.7, -0.2, 1.3] + spread * rng.standard_normal((N, 3))
    data[:, 1] = rng.choice(3, N, p=[0.6, 0.1, 0.3])
    data[:, 2], data[:, 4] = rng.poisson(3.0, N), rng.negative_binomial(2, 0.3, N)
    data[rng.random((N, 6)) < gaps] = np.nan
    if gaps:
        data[-1] = np.nan
        data[-2, [0, 3, 5]] = np.nan
        data[-3, 1:] = np.nan
    return data


def leaf_state(form, floor, spread, gaps):
    """Return setting, data, and a state with the first half of the data in one leaf, number 1."""
    rng = np.random.default_rng(7)
    setting, data = setting_of(form, floor), rows_of(spread, gaps, rng)
    if form == "full":  # what is in the tree has been imputed
        half = data[: N // 2]
        half[:, [0, 3, 5]] = np.where(
            np.isnan(half[:, [0, 3, 5]]), rng.normal(size=(N // 2, 3)), half[:, [0, 3, 5]]
        )
    # The others sit in a leaf of their own, number 2, without entries.
    tree = Tree.from_paths([(1,)] * (N // 2) + [(2,)] * (N - N // 2))
    shown = data.copy()
    shown[N // 2 :] = 0.0
    state = engine.state_of(tree, np.vstack([U, U, U]), shown, setting)
    state.data[:] = data
    return setting, data, state


CASES = [
    ("diag", 0.0, 1.0, 0.2),
    ("diag", 0.3, 1.0, 0.2),
    ("diag", 0.3, 1e-7, 0.0),
    ("spherical", 0.0, 1.0, 0.2),
    ("spherical", 0.3, 1e-7, 0.2),
    ("full", 0.0, 1.0, 0.3),
    ("full", 0.0, 1e-7, 0.0),
]
every_case = pytest.mark.parametrize(("form", "floor", "spread", "gaps"), CASES)


def log_ratio(setting, rows, row):
    """Return the log predictive density of a row given others, by evidence."""
    return log_leaf_evidence(np.vstack([rows, row]), U, setting) - log_leaf_evidence(
        rows, U, setting
    )


@every_case
def test_predictive_density_is_a_ratio_of_evidence(form, floor, spread, gaps):
    setting, data, state = leaf_state(form, floor, spread, gaps)
    for i in range(N // 2, N):
        found = engine.predictive(state, 1, i, -np.inf)
        assert found == pytest.approx(log_ratio(setting, data[: N // 2], data[i]), abs=1e-7)
        # The parent stands for an empty leaf.
        found = engine.predictive(state, 0, i, -np.inf)
        assert found == pytest.approx(log_ratio(setting, data[:0], data[i]), abs=1e-7)


@every_case
def test_predictive_density_that_stops_early_is_below_what_was_asked(form, floor, spread, gaps):
    _, _, state = leaf_state(form, floor, spread, gaps)
    stopped = 0
    for i in range(N // 2, N):
        exact = engine.predictive(state, 1, i, -np.inf)
        for least in (exact - 3.0, exact - 1e-9, exact + 1e-9, exact + 0.5, exact + 30.0):
            found = engine.predictive(state, 1, i, least)
            assert found == exact or max(found, exact) < least
            stopped += found != exact
    assert stopped


@pytest.mark.parametrize(("floor", "spread"), [(0.0, 1.0), (0.3, 1.0), (0.3, 1e-7), (30.0, 1e-7)])
def test_the_bound_of_a_leaf_is_its_density_at_the_centre(floor, spread):
    # With a floor it must be that too: or next to no leaf would be ruled out by it.
    _, data, state = leaf_state("diag", floor, spread, 0.0)
    gaussian = [0, 3, 5]
    rows = data[N // 2 :].copy()
    state.data[N // 2 :, gaussian] = state.entries[1, gaussian, CENTRE]
    peak = engine.predictive(state, 1, N // 2, -np.inf)
    state.data[N // 2, gaussian] = rows[0, gaussian]
    others = engine.predictive(state, 1, N // 2, -np.inf)
    parts = state.entries[1, gaussian, BASE].sum()
    assert state.nodes["base"][1] == pytest.approx(parts)
    state.data[:, gaussian] = np.nan
    assert peak - engine.predictive(state, 1, N // 2, -np.inf) == pytest.approx(parts)
    assert others < peak


@every_case
def test_evidence_of_a_leaf_below_any_node(form, floor, spread, gaps):
    setting, data, state = leaf_state(form, floor, spread, gaps)
    seen = data[: N // 2]
    # The engine leaves out what depends on single data alone.
    left_out = engine.constants_of(replace(state, data=seen.copy()))
    found = engine.evidence(state, 1, 0) + left_out
    assert found == pytest.approx(log_leaf_evidence(seen, U, setting), abs=1e-6)
    other = U + np.random.default_rng(1).normal(size=U.size)
    state.coordinates[0, :, PHI] = other
    engine.settle(state)
    found = engine.evidence(state, 1, 0) + left_out
    assert found == pytest.approx(log_leaf_evidence(seen, other, setting), abs=1e-6)


@every_case
def test_data_that_come_and_go_leave_a_leaf_as_it_was(form, floor, spread, gaps):
    setting, data, state = leaf_state(form, floor, spread, gaps)
    rng = np.random.default_rng(5)
    inside = list(range(N // 2))
    probe = N - 4
    for _ in range(400):
        if inside and (rng.random() < 0.5 or len(inside) == N // 2):
            i = inside.pop(rng.integers(len(inside)))
            engine.put_rows(state, 1, np.array([i]), -1.0)
        else:
            i = rng.choice(np.setdiff1d(np.arange(N // 2), inside))
            inside.append(i)
            engine.put_rows(state, 1, np.array([i]), 1.0)
    found = engine.predictive(state, 1, probe, -np.inf)
    assert found == pytest.approx(log_ratio(setting, data[inside], data[probe]), abs=1e-6)
    before = engine.copied(state)
    engine.renew_leaf(state, 1)
    assert engine.predictive(state, 1, probe, -np.inf) == pytest.approx(found, abs=1e-6)
    if form == "full":
        np.testing.assert_allclose(before.matrices[1], state.matrices[1], atol=1e-7)
        assert before.nodes["log_det"][1] == pytest.approx(state.nodes["log_det"][1], abs=1e-7)
    # Without data it is as an empty leaf.
    engine.put_rows(state, 1, np.array(inside, dtype=np.int64), -1.0)
    found = engine.predictive(state, 1, probe, -np.inf)
    assert found == pytest.approx(engine.predictive(state, 0, probe, -np.inf), abs=1e-6)


def test_log_of_the_lower_incomplete_gamma_function():
    a = np.geomspace(0.05, 5_000.0, 60)
    for shape in a:
        x = np.concatenate([shape * np.geomspace(1e-3, 10.0, 80), shape + np.linspace(0.5, 2, 7)])
        exact = special.gammainc(shape, x)
        found = np.array([engine.lower_gamma(shape, point) for point in x])
        normal = exact > 1e-290
        np.testing.assert_allclose(found[normal], np.log(exact[normal]), rtol=1e-10, atol=1e-10)
        assert (found[~normal] < np.log(1e-280)).all()
        assert np.isfinite(found).all()
