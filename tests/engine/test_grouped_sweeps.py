"""The whole sweep keeps the exact posterior of rows in groups, whatever the noise.

A start is exact: γ, c, d, tree, shared sticks and rows are drawn from the model. After some sweeps
they must still have the law of the model, and so the mean of any function of them is what it was at
the start: paired tests over independent starts, with false-alarm rate 1e-4 over all functions.
"""

import os

import numpy as np
import pytest
from scipy import stats

from sticktree.engine.bulk.own import OwnBulkChain
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.common.franchise import count_groups
from sticktree.engine.common.links import ALIVE, DISCOUNT, FACTOR
from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.predictive import rebuild as rebuild_own
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.factor import least_form
from sticktree.engine.shared.predictive import rebuild
from sticktree.engine.shared.seats import settle
from sticktree.model import Groups, Model
from sticktree.processes import GroupedRestaurant, GroupedSticks
from tests.engine.own.test_chain import engine_model
from tests.engine.own.test_twin import model_of
from tests.support import shared_twin as twin
from tests.support.bulk import rows_of
from tests.support.grouped import put_sticks
from tests.support.own import engine as own_engine
from tests.support.own import twin as own_twin

GROUPS = np.array([0, 0, 1, 0, 1, 2], dtype=np.int32)
SHAPE, SCALE = np.array([1.0, 0.7]), 2.0
PRIORS = {"concentration_prior": (3.0, 2.0), "discount_prior": (2.0, 5.0)}
FALSE_ALARM = 1e-4
TIMES = int(os.environ.get("STICKTREE_STARTS", "1"))  # more starts than usual


def draw_tree(rng, c=None, d=None):
    """Draw γ, c, d, a tree with its tables, and the sticks given these."""
    u = rng.random()
    gamma = SCALE * u / (1.0 - u)
    c = rng.gamma(3.0) / 2.0 if c is None else c
    d = rng.beta(2.0, 5.0) if d is None else d
    choices = {"group_concentration": gamma, "discount": d}
    seated = GroupedRestaurant(c * SHAPE, **choices).sample(GROUPS, rng)
    shared = GroupedSticks(c * SHAPE, **choices).redraw(seated, rng).shared
    tree, share = seated.tree, np.ones(seated.tree.n_nodes)
    share[1:] = shared.mass[1:] / shared.mass[tree.parent[1:]]
    return gamma, c, d, tree, share, shared.unbroken / shared.mass


class Shared:
    def __init__(self, rng, form, gaps=False):
        self.rng, self.gaps = rng, np.zeros((GROUPS.size, 2), dtype=bool)
        self.gaps[[1, 4], [0, 1]] = gaps
        groups = Groups(GROUPS, scale=SCALE)
        priors = PRIORS | {"precision_prior": (3.0, 0.5), "scale_prior": (3.0, 3.0)}
        self.model = Model(SHAPE, discount=None, covariance_type=form, groups=groups, **priors)
        shown = np.where(self.gaps, np.nan, rng.standard_normal((GROUPS.size, 2)))
        self.chain = Chain(shown, self.model, rng)

    def start(self):
        gamma, c, d, tree, share, rest = draw_tree(self.rng)
        prior = twin.sample_prior(self.model, GROUPS.size, 2, self.rng)
        setting = prior.setting._replace(alpha=c * SHAPE, discount=d)
        chain = self.chain
        chain.raw = twin.sample_data(tree, setting, prior.sigma, self.rng)
        root = np.linalg.cholesky(prior.sigma)
        chain.factor = least_form(root, self.model.covariance_type, 2)
        rebuild(chain.state, tree.compressed(), c, d, setting.scale)
        fill(chain.state, tree, share, rest, gamma)
        settle(chain.state)
        chain._whiten()
        return chain


class Own:
    def __init__(self, rng, form, kinds=("gaussian",) * 2):
        self.rng, self.gaps = rng, False
        floor = np.where([kind == "gaussian" and form != "full" for kind in kinds], 0.2, 0.0)
        self.priors = model_of(kinds, form, 2, floor=floor, concentration=2.0, discount=0.2)
        model = engine_model(self.priors)
        self.model = Model(**vars(model) | {"groups": Groups(GROUPS, scale=SCALE), "shape": SHAPE})
        draw = own_twin.sample_prior(self.priors, GROUPS.size, rng)
        self.chain = ColumnsChain(draw.data, self.model, rng)

    def start(self):
        gamma, c, d, tree, share, rest = draw_tree(self.rng, 2.0, 0.2)
        draw = own_twin.sample_prior(self.priors, GROUPS.size, self.rng, tree=tree)
        chain = self.chain
        chain.state.data[:] = draw.data
        parameters = own_engine.parameters_of(draw.phi[tree.level < 2], draw.setting)
        rebuild_own(chain.state, tree, c, d, parameters)
        fill(chain.state, tree, share, rest, gamma)
        return chain


class Bulk:
    """Chains for many rows, which take over a start of a chain of the other kind."""

    kind: type

    def __init__(self, rng, **choices):
        super().__init__(rng, **choices)
        shown = np.where(self.gaps, np.nan, rng.standard_normal((GROUPS.size, 2)))
        self.gibbs, rows = self.chain, rows_of(shown, group=GROUPS)
        self.chain = self.kind(rows, self.model, rng)
        self.chain.n_rounds = 1

    def start(self):
        self.chain, bulk = self.gibbs, self.chain
        gibbs = super().start()
        self.chain = bulk
        rows = gibbs.raw if hasattr(gibbs, "factor") else gibbs.state.data
        bulk.rows = rows_of(np.where(self.gaps, np.nan, rows), group=GROUPS)
        bulk._set_grids()
        bulk._read_rows()
        bulk._take_over(gibbs, np.arange(GROUPS.size, dtype=np.uint64), GROUPS)
        return bulk


class SharedBulk(Bulk, Shared):
    kind = SharedBulkChain


class OwnBulk(Bulk, Own):
    kind = OwnBulkChain


def fill(state, tree, share, rest, gamma):
    count_groups(state)
    put_sticks(state, tree, share, rest)
    state.gamma[0] = gamma


def functions(chain):
    """Return numbers whose means are compared."""
    state, tree = chain.state, chain.tree()
    above = tree.level[tree.parent[1:]]
    nodes = [np.sum((above < level) & (tree.level[1:] >= level)) for level in (1, 2)]
    meeting = tree.meeting_level([0, 0, 2], [1, 2, 4])
    u = state.gamma[0] / (state.gamma[0] + SCALE)
    return [
        u, u**2, np.log(state.scalars[FACTOR]), state.scalars[DISCOUNT],
        *nodes, *np.square(nodes), *meeting, *np.square(meeting),
        state.rest[0, 0], u * nodes[1],
    ]  # fmt: skip


CASES = {
    "shared full": (Shared, {"form": "full"}, 400),
    "shared diagonal with gaps": (Shared, {"form": "diag", "gaps": True}, 400),
    "own diagonal": (Own, {"form": "diag"}, 400),
    "own full": (Own, {"form": "full"}, 400),
    "mixed columns": (Own, {"form": "diag", "kinds": ("gaussian", "categorical")}, 400),
    "many rows, shared full": (SharedBulk, {"form": "full"}, 300),
    "many rows, shared with gaps": (SharedBulk, {"form": "diag", "gaps": True}, 300),
    "many rows, own diagonal": (OwnBulk, {"form": "diag"}, 300),
    "many rows, own full": (OwnBulk, {"form": "full"}, 300),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_whole_sweep_keeps_exact_draws_of_grouped_rows_exact(name):
    kind, choices, n_starts = CASES[name]
    maker = kind(np.random.default_rng(len(name)), **choices)
    differences = []
    for _ in range(n_starts * TIMES):
        chain = maker.start()
        before = functions(getattr(maker, "gibbs", chain))
        for _ in range(3):
            chain.sweep()
        differences.append(np.array(functions(chain)) - before)
    differences = np.array(differences)
    varies = np.ptp(differences, axis=0) > 0
    p = stats.ttest_1samp(differences[:, varies], 0.0).pvalue
    assert (p > FALSE_ALARM / varies.sum()).all(), p


@pytest.mark.parametrize("name", CASES)
def test_chains_start_with_sticks_that_add_up_and_every_row_in_its_group(name):
    kind, choices, _ = CASES[name]
    chain = kind(np.random.default_rng(1), **choices).chain
    state = chain.state
    order = state.order[: state.sizes[ALIVE]]
    for node in order:
        below = order[state.nodes["parent"][order] == node]
        level = state.nodes["level"][node]
        if below.size:
            assert (state.stick[below, level] > 0).all()
            assert state.rest[node, level] > 0
            total = state.stick[below, level].sum() + state.rest[node, level]
            assert total == pytest.approx(1.0, abs=1e-12)
        above = state.nodes["parent"][node]
        for at in range(0 if above < 0 else state.nodes["level"][above] + 1, level):
            assert min(state.stick[node, at], state.rest[node, at]) > 0
            assert state.stick[node, at] + state.rest[node, at] == pytest.approx(1.0, abs=1e-12)
    assert state.seated[0].tolist() == [3, 2, 1, 0]
    if state.leaf.size:  # rows are at hand one by one
        before = state.seated.copy()
        count_groups(state)
        assert (state.seated[order] == before[order]).all()
    assert np.isfinite(chain.log_joint())
