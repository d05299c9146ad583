"""Draws keep the tree and the parameters of a chain; posteriors put them into arrays."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from sticktree.engine.common.links import DISCOUNT, FACTOR
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.draw import tracked_pairs
from sticktree.engine.shared.chain import Chain
from sticktree.inference.packing import pack_draws, unpack_draws
from sticktree.model import Model
from sticktree.posterior import Posterior, best_draw, labels_at, meeting_times
from sticktree.posterior.consensus import consensus_tree
from sticktree.posterior.tree_space import tree_space
from tests.support.models import of_depth

FORMS = ["spherical", "diag", "full"]


def chain_of(n_rows=20, dimension=2, depth=3, seed=0, n_sweeps=5, **choices):
    rng = np.random.default_rng(seed)
    model = Model(np.ones(depth), **{"discount": None} | choices)
    chain = Chain(rng.standard_normal((n_rows, dimension)), model, rng)
    for _ in range(n_sweeps):
        chain.sweep()
    return chain


def count_nodes(tree, depth):
    """Count the nodes of every level one by one."""
    expanded = tree.expanded()
    return [int((expanded.level == level).sum()) for level in range(1, depth + 1)]


@pytest.mark.parametrize("form", FORMS)
def test_draw_has_the_tree_and_the_parameters_of_its_chain(form):
    chain = chain_of(covariance_type=form)
    draw = chain.draw()
    assert draw.tree == tree_of(chain.state)
    assert draw.concentration == chain.state.scalars[FACTOR]
    assert draw.discount == chain.state.scalars[DISCOUNT]
    assert draw.log_joint == chain.log_joint()
    np.testing.assert_array_equal(draw.parameters["scales"], chain.state.levels["scale"])
    covariance = chain.covariance
    factor = draw.parameters["factor"]
    mine = factor if factor.ndim == 2 else np.diag(factor * np.ones(2))
    assert factor.ndim == FORMS.index(form)
    np.testing.assert_allclose(mine @ mine.T, covariance)


def test_draw_does_not_change_with_its_chain():
    chain = chain_of(covariance_type="full")
    draw = chain.draw()
    parameters = {name: value.copy() for name, value in draw.parameters.items()}
    before = draw.tree, draw.log_joint
    for _ in range(5):
        chain.sweep()
    assert draw.tree == before[0] != tree_of(chain.state)
    for name, value in parameters.items():
        np.testing.assert_array_equal(draw.parameters[name], value)
    assert draw.log_joint == before[1]


@pytest.mark.parametrize("n_rows", [1, 2, 127, 129, 300])
def test_trees_of_any_size_survive_the_small_integers(n_rows):
    # Nearly every datum gets a leaf of its own, so the larger trees need more than one byte.
    chain = chain_of(n_rows, dimension=1, n_sweeps=1, concentration=1e4)
    draw = chain.draw()
    assert draw.tree == tree_of(chain.state)
    assert draw.tree.n_nodes > n_rows
    assert draw.leaf.dtype == np.min_scalar_type(draw.tree.n_nodes)


@pytest.mark.parametrize("depth", [1, 2, 6])
def test_nodes_per_level_count_the_nodes_on_edges_too(depth):
    chain = chain_of(depth=depth)
    for _ in range(10):
        chain.sweep()
        draw = chain.draw()
        np.testing.assert_array_equal(
            draw.nodes_per_level(depth), count_nodes(tree_of(chain.state), depth)
        )


def test_size_of_a_draw_is_that_of_its_arrays_and_three_numbers(make_draw):
    draw = make_draw([(1, 1), (1, 2), (2, 1)])
    arrays = [draw.leaf, draw.parent, draw.level, *draw.parameters.values()]
    assert draw.nbytes == sum(array.nbytes for array in arrays) + 3 * 8


@pytest.fixture(scope="module")
def posteriors(fit, blobs):
    """Return a posterior for each form of the covariance."""
    return {form: fit(blobs(), covariance_type=form, discount=None).posterior_ for form in FORMS}


@pytest.mark.parametrize("form", FORMS)
def test_scalars_have_a_row_for_each_chain_and_the_values_of_its_draws(posteriors, form):
    posterior = posteriors[form]
    scalars = posterior.scalars()
    shapes = {name: values.shape for name, values in scalars.items()}
    assert shapes == {
        "log_joint": (2, 20),
        "nodes": (2, 20, 2),
        "concentration": (2, 20),
        "discount": (2, 20),
        "scales": (2, 20, 3),
        "noise": (2, 20),
        "meeting_level": (2, 20),
    }
    draw = posterior.chains[1][7]
    for name in ("log_joint", "concentration", "discount"):
        assert scalars[name][1, 7] == getattr(draw, name)
    np.testing.assert_array_equal(scalars["scales"][1, 7], draw.parameters["scales"])
    np.testing.assert_array_equal(scalars["nodes"][1, 7], count_nodes(draw.tree, 2))
    factor = draw.parameters["factor"]
    factor = factor if factor.ndim == 2 else np.diag(factor * np.ones(2))
    volume = np.linalg.det(factor @ factor.T)
    assert scalars["noise"][1, 7] == pytest.approx(volume ** (1 / 4))
    assert 0 <= scalars["meeting_level"][1, 7] <= 2


def test_scalars_do_not_depend_on_the_numbers_of_the_nodes(make_draw):
    first = make_draw([(1, 1), (1, 2), (2, 1), (2, 1)])
    second = make_draw([(2, 2), (2, 1), (1, 1), (1, 1)])
    assert first.tree == second.tree
    mine, other = (Posterior([[draw]], of_depth(2)).scalars() for draw in (first, second))
    for name in mine:
        np.testing.assert_array_equal(mine[name], other[name])


def test_labels_have_a_row_for_each_draw(posteriors):
    posterior = posteriors["full"]
    for level in (0, 1, 2):
        labels = posterior.labels(level)
        assert labels.shape == (40, 24)
        for row, draw in zip(labels, posterior.draws, strict=True):
            np.testing.assert_array_equal(row, draw.tree.cut(level))
    assert not posterior.labels(0).any()


@pytest.mark.parametrize("level", [-1, 1.5, None])
def test_labels_reject_what_is_no_level(posteriors, level):
    with pytest.raises(ValueError, match=r"level must be an integer of at least 0, got"):
        posteriors["full"].labels(level)


def test_draws_come_chain_after_chain_and_are_counted(posteriors):
    posterior = posteriors["diag"]
    assert (posterior.n_chains, posterior.n_draws, len(posterior)) == (2, 20, 40)
    assert posterior.draws == posterior.chains[0] + posterior.chains[1]
    size = np.mean([draw.nbytes for draw in posterior.draws])
    assert posterior.nbytes_per_draw == size
    levels = f"trees of {posterior.depth} levels, {size:,.0f} bytes a draw"
    assert repr(posterior) == f"Posterior(2 chains of 20 draws, {levels})"


def test_posterior_without_draws_says_so():
    empty = Posterior([[], []], of_depth(2))
    assert (empty.n_chains, empty.n_draws, len(empty)) == (2, 0, 0)
    assert repr(empty) == "Posterior(2 chains, no draws yet)"


def test_chains_of_different_length_are_compared_by_what_they_share(make_draw):
    draws = [make_draw([(1,), (2,)], log_joint=float(k)) for k in range(5)]
    posterior = Posterior([draws[:5], draws[:3]], of_depth(1))
    assert (posterior.n_draws, len(posterior)) == (3, 8)
    np.testing.assert_array_equal(posterior.scalars()["log_joint"], [[0, 1, 2], [0, 1, 2]])


def test_arviz_gets_every_scalar_with_its_chains_and_draws(posteriors):
    posterior = posteriors["full"]
    group = posterior.to_arviz()["posterior"]
    scalars = posterior.scalars()
    assert set(group.data_vars) == set(scalars)
    assert (group.sizes["chain"], group.sizes["draw"]) == (2, 20)
    for name, values in scalars.items():
        np.testing.assert_array_equal(group[name].values, values)
    assert group["nodes"].dims == ("chain", "draw", "level")
    assert group["level"].values.tolist() == list(range(1, posterior.depth + 1))
    assert not [dim for dim in group.dims if "_dim_" in dim]


def test_missing_arviz_is_said_with_what_to_install(posteriors, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r"pip install sticktree\[arviz\]"):
        posteriors["full"].to_arviz()


# ---- draws without labels ------------------------------------------------------------------------


def test_draw_without_labels_keeps_its_counts_and_its_level(make_draw):
    draw = make_draw([(1, 1), (1, 2), (1, 2), (2, 1), (3, 1)])
    small = draw.without_labels()
    assert (draw.labelled, small.labelled) == (True, False)
    assert (draw.n_data, small.n_data, small.leaf.size) == (5, 5, 0)
    np.testing.assert_array_equal(small.counts, draw.tree.count)
    np.testing.assert_array_equal(draw.rows_below(), draw.tree.count)
    np.testing.assert_array_equal(small.nodes_per_level(2), draw.nodes_per_level(2))
    pairs = tracked_pairs(5)
    assert small.meeting_level == draw.tree.meeting_level(*pairs).mean()
    assert small.nbytes == draw.nbytes - draw.leaf.nbytes + small.counts.nbytes
    assert small.without_labels().meeting_level == small.meeting_level


@pytest.mark.parametrize("ask", ["tree", "rows_below", "tracked_level"])
def test_draw_without_labels_says_what_to_use(make_draw, ask):
    draw = replace(make_draw([(1,), (2,)]), leaf=np.empty(0, dtype=np.uint8), n_data=1_234)
    with pytest.raises(ValueError, match=r"labels of the 1,234 rows.*use the draws of Posterior"):
        getattr(draw, ask)()


def test_labels_of_some_rows_only_are_refused(make_draw):
    with pytest.raises(ValueError, match="leaf must have an entry for each of 7 rows, or none"):
        replace(make_draw([(1,), (2,)]), n_data=7)


@pytest.fixture
def thinned(posteriors):
    """Return a posterior in which every fourth draw has labels, and the same with all labels."""
    whole = posteriors["full"]
    chains = [
        [draw if k % 4 == 0 else draw.without_labels() for k, draw in enumerate(chain)]
        for chain in whole.chains
    ]
    return Posterior(chains, whole.model), whole


def test_scalars_need_no_labels(thinned):
    some, whole = thinned
    for name, values in whole.scalars().items():
        np.testing.assert_array_equal(some.scalars()[name], values)


def test_answers_about_rows_come_from_the_labelled_draws(thinned):
    some, whole = thinned
    kept = whole.chains[0][::4] + whole.chains[1][::4]
    assert some.labelled == kept
    assert whole.labelled == whole.draws
    np.testing.assert_array_equal(labels_at(some.draws, 1), labels_at(kept, 1))
    np.testing.assert_array_equal(some.labels(1), Posterior([kept], whole.model).labels(1))
    np.testing.assert_array_equal(meeting_times(some.draws), meeting_times(kept))
    assert consensus_tree(some.draws, 3.0) == consensus_tree(kept, 3.0)
    assert best_draw(some.draws, 1) is best_draw(kept, 1)
    alone = Posterior([chain[::4] for chain in whole.chains], whole.model)
    assert repr(tree_space(some)) == repr(tree_space(alone))


def test_posterior_without_labels_says_so(thinned):
    draws = [draw.without_labels() for draw in thinned[0].draws]
    for answer in (
        lambda: labels_at(draws, 1),
        lambda: consensus_tree(draws, 3.0),
        lambda: meeting_times(draws),
    ):
        with pytest.raises(ValueError, match=r"labels of the rows, got 40 without"):
            answer()
    with pytest.raises(ValueError, match=r"a draw of every chain that has kept the labels"):
        tree_space(Posterior([draws], of_depth(2)))


@pytest.mark.parametrize("kept", [range(0, 20, 3), [4], [], range(20)])
def test_draws_without_labels_are_packed(posteriors, kept):
    draws = [
        draw if k in kept else draw.without_labels()
        for k, draw in enumerate(posteriors["full"].chains[0])
    ]
    again = unpack_draws(pack_draws(draws))
    assert [draw.labelled for draw in again] == [k in kept for k in range(20)]
    for mine, other in zip(draws, again, strict=True):
        for name in ("leaf", "parent", "level", "counts"):
            value = getattr(mine, name)
            np.testing.assert_array_equal(getattr(other, name), value)
            assert value is None or getattr(other, name).dtype == value.dtype
        for name in ("n_data", "meeting_level", "log_joint"):
            assert getattr(other, name) == getattr(mine, name)


def test_files_of_labelled_draws_are_as_ever(posteriors):
    arrays = pack_draws(posteriors["full"].draws)
    assert {name for name in arrays if "draw_values" not in name and "draw_shapes" not in name} == {
        "draw_sizes",
        "draw_leaf",
        "draw_parent",
        "draw_level",
        "draw_traced",
        "draw_scalars",
    }
