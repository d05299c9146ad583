"""The chain with own noise for many rows: its density, its clusters, and how rows are dealt out."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sticktree.engine.bulk.own import OwnBulkChain
from sticktree.engine.bulk.partition import partition
from sticktree.engine.bulk.placement import ThreadPlacement
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.own.chain import ColumnsChain
from sticktree.model import Column, Model
from tests.engine.own.test_chain import engine_model
from tests.engine.own.test_twin import model_of
from tests.support.own import engine, twin

FORMS = ["diag", "spherical", "full"]


def two_clusters(n, gaps, rng):
    """Return rows of a tight cluster and a wide one, and which they belong to."""
    label = (np.arange(n) % 3 == 0).astype(int)
    y = rng.standard_normal((n, 2)) * np.where(label, 0.1, 0.8)[:, None] + 3.0 * label[:, None]
    y = (y - y.mean(axis=0)) / y.std(axis=0)
    if gaps:
        y[rng.random(y.shape) < 0.03] = np.nan
    return y, label


def model_with(form, depth=2, **choices):
    return Model(np.ones(depth), covariance_type=form, leaf_noise="own", **choices)


@pytest.mark.parametrize("form", FORMS)
def test_joint_density_is_that_of_the_twin(form):
    rng = np.random.default_rng(1)
    priors = model_of(("gaussian",) * 2, form, 2, floor=np.full(2, 0.0 if form == "full" else 0.1))
    data = twin.sample_prior(priors, 12, rng).data
    if form != "full":
        data[[1, 5, 5], [0, 0, 1]] = np.nan
    chain = OwnBulkChain(Rows(ThreadPlacement(partition(data, 0))), engine_model(priors), rng)
    setting = twin.sample_setting(priors, rng)
    seen = set()
    for _ in range(6):
        chain.sweep()
        now = engine.setting_in(chain.state, setting)
        tree, phi = chain.tree(), engine.phi_of(chain.state)
        expected = twin.log_joint(tree, phi, data, now) + twin.log_hyper_prior(now, priors)
        assert chain.log_joint() == pytest.approx(expected, abs=1e-7)
        seen.add(chain.log_joint())
    assert len(seen) == 6


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("form", FORMS)
def test_two_clusters_with_variances_of_their_own_are_found(form, gaps):
    rng = np.random.default_rng(2)
    y, label = two_clusters(300, gaps, rng)
    chain = OwnBulkChain(Rows(ThreadPlacement(partition(y, 0))), model_with(form, 1), rng)
    scores = []
    for sweep in range(80):
        chain.sweep()
        assert chain.sums.n.sum() == 300
        if sweep >= 60:
            scores.append(adjusted_rand_score(label, chain.tree().leaf))
    assert np.mean(scores) > 0.9


@pytest.mark.parametrize("form", FORMS)
def test_results_do_not_depend_on_partitions_or_threads(form, many_parts, monkeypatch):
    monkeypatch.setattr(OwnBulkChain, "first_sweeps", 3)
    y, _ = two_clusters(900, True, np.random.default_rng(3))
    y[:, 1] = np.round(y[:, 1], 1)
    results = []
    for cuts, n_threads in ([], 1), ([], 3), ([311], 1), ([1, 40, 200, 201, 555, 899], 2):
        jitter = np.array([0.0, 0.1]) if form == "full" else None
        rows = many_parts(y, cuts, n_threads, jitter=jitter)
        columns = (Column(), Column(floor=0.1**2 / 12))
        chain = OwnBulkChain(rows, model_with(form, columns=columns), np.random.default_rng(4))
        for _ in range(8):
            chain.sweep()
        results.append((chain.tree(), chain.log_joint(), chain.parameters()))
    for tree, log_joint, parameters in results[1:]:
        assert (tree.leaf == results[0][0].leaf).all()
        assert log_joint == results[0][1]
        for name, value in parameters.items():
            assert (value == results[0][2][name]).all(), name


def test_jitter_depends_on_the_number_of_the_row_alone():
    x = np.round(np.random.default_rng(5).standard_normal((700, 2)), 1)
    width = np.array([0.1, 0.0])
    whole, part = partition(x, 0, width), partition(x[300:], 300, width)

    def by_number(some):
        taken = np.arange(some.row.shape[1]) < some.filled[:, None]
        y = np.moveaxis(some.y, 1, 2)[taken]
        return dict(zip(some.row[taken].tolist(), y.tolist(), strict=True))

    one, other = by_number(whole), by_number(part)
    assert {k: v for k, v in one.items() if k >= 300} == other
    off = np.array([one[i] for i in range(700)]) - x
    assert (off[:, 1] == 0).all()
    assert np.abs(off[:, 0]).max() <= 0.05
    assert np.abs(np.sort(off[:, 0] / 0.1 + 0.5) - np.linspace(0, 1, 700)).max() < 2.2 / 700**0.5


@pytest.mark.parametrize("form", FORMS)
def test_sums_of_tight_leaves_are_exact_enough(form):
    rng = np.random.default_rng(6)
    y = np.vstack([rng.normal(3.0, 1e-3, (200, 2)), rng.normal(-1.0, 0.4, (600, 2))])
    chain = OwnBulkChain(Rows(ThreadPlacement(partition(y, 0))), model_with(form, 1), rng)
    chain._assign()
    labels = chain.tree().leaf
    order = chain.state.order
    for k, leaf in enumerate(chain.leaves):
        mine = y[order[labels] == leaf]
        second, total = chain.sums.second[k], chain.sums.total[k]
        off = mine - mine.mean(axis=0)
        if form == "full":
            scatter, exactly = second - np.outer(total, total) / len(mine), off.T @ off
        else:
            scatter, exactly = second - total**2 / len(mine), (off**2).sum(axis=0)
        np.testing.assert_allclose(scatter, exactly, atol=1e-6 * 1e-6 * len(mine) + 1e-12)


class SmallChain(OwnBulkChain):
    room = 8


@pytest.mark.parametrize("form", FORMS)
def test_a_state_that_is_full_is_replaced_by_a_larger_one(form):
    rng = np.random.default_rng(7)
    y = rng.standard_normal((300, 2))
    chain = SmallChain(Rows(ThreadPlacement(partition(y, 0))), model_with(form), rng)
    before, phi = chain.log_joint(), engine.phi_of(chain.state)
    size = chain.state.nodes.size
    chain._make_room(10_000)
    chain._settle()
    assert chain.state.nodes.size > size
    assert chain.log_joint() == before
    np.testing.assert_array_equal(engine.phi_of(chain.state), phi)
    for _ in range(3):
        chain.sweep()


@pytest.mark.parametrize("form", FORMS)
def test_rows_without_entries_and_columns_that_a_leaf_lacks_are_no_trouble(form):
    rng = np.random.default_rng(8)
    y, _ = two_clusters(120, False, rng)
    y[:40, 0] = np.nan
    y[10:30] = np.nan
    chain = OwnBulkChain(Rows(ThreadPlacement(partition(y, 0))), model_with(form), rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            chain.sweep()
            assert np.isfinite(chain.log_joint())


def test_parameters_are_those_of_the_other_chain_and_sums_in_the_order_of_leaves():
    rng = np.random.default_rng(9)
    y, _ = two_clusters(200, False, rng)
    model = model_with("diag")
    chain = OwnBulkChain(Rows(ThreadPlacement(partition(y, 0))), model, rng)
    chain.sweep()
    tree, found = chain.tree(), chain.draw(labelled=True).parameters
    other = ColumnsChain(y, model, rng).parameters()
    assert set(other) <= set(found)
    leaves = np.flatnonzero(tree.level == 2)
    assert len(found["sums_total"]) == leaves.size
    for k, leaf in enumerate(leaves):
        np.testing.assert_allclose(
            found["sums_total"][k], y[tree.leaf == leaf].sum(axis=0), atol=1e-9
        )
    assert found["phi"].shape == (tree.n_nodes - leaves.size, 2)


def test_columns_that_are_not_gaussian_are_refused():
    model = model_with("diag", columns=(Column(), Column("poisson")))
    rows = Rows(ThreadPlacement(partition(np.ones((5, 2)), 0)))
    with pytest.raises(ValueError, match="columns must all be 'gaussian'"):
        OwnBulkChain(rows, model, np.random.default_rng(0))
