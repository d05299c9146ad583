"""Every move and the whole sweep keep the exact posterior of rows whose groups have parents.

A start is exact: γ, κ, c, d, tree, sticks of all and of parents, and rows are drawn from the model.
After some sweeps they must still have the law of the model, and so the mean of any function of them
is what it was at the start: paired tests over independent starts, with false-alarm rate 1e-4 over
all functions. That checks γ and κ given everything else, too.
"""

import os

import numpy as np
import pytest
from scipy import stats

from sticktree.engine.common.franchise import count_groups
from sticktree.engine.common.links import ALIVE, DISCOUNT, FACTOR
from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.predictive import rebuild as rebuild_own
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.factor import least_form
from sticktree.engine.shared.predictive import rebuild
from sticktree.engine.shared.seats import settle
from sticktree.model import Groups, Model
from sticktree.processes import ParentedRestaurant
from tests.engine.own.test_chain import engine_model
from tests.engine.own.test_twin import model_of
from tests.support import shared_twin as twin
from tests.support.own import engine as own_engine
from tests.support.own import twin as own_twin
from tests.support.parents import broken, put_all_sticks

FORESTS = {
    "conditions": ([0, 0, 1, 0, 1, 2], [3, 3, 4, -1, -1]),
    "days": ([0, 0, 1, 1, 1, 2], [-1, 0, 1]),
}
SHAPE, SCALE = np.array([1.0, 0.7]), 2.0
PRIORS = {"concentration_prior": (3.0, 2.0), "discount_prior": (2.0, 5.0)}
FALSE_ALARM = 1e-4
TIMES = int(os.environ.get("STICKTREE_STARTS", "1"))  # more starts than usual


def groups_of(forest):
    group, parents = FORESTS[forest]
    return Groups(np.array(group, dtype=np.int32), scale=SCALE, parents=np.array(parents))


def draw_tree(groups, rng, c=None, d=None):
    """Draw γ, κ, c, d, a tree with its tables, and the sticks given these."""
    u = rng.random()
    gamma, kappa = SCALE * u / (1.0 - u), rng.random()
    c = rng.gamma(3.0) / 2.0 if c is None else c
    d = rng.beta(2.0, 5.0) if d is None else d
    choices = {"group_concentration": gamma, "discount": d, "kinship": kappa}
    choices["parents"] = groups.parents
    law = ParentedRestaurant(c * SHAPE, **choices)
    seated = law.sample(groups.of_row, rng)
    return gamma, kappa, c, d, seated.tree, *broken(law, groups.line, seated, rng)


class Shared:
    def __init__(self, rng, forest, form, gaps=False):
        self.rng, self.groups = rng, groups_of(forest)
        self.gaps = np.zeros((self.groups.of_row.size, 2), dtype=bool)
        self.gaps[[1, 4], [0, 1]] = gaps
        priors = PRIORS | {"precision_prior": (3.0, 0.5), "scale_prior": (3.0, 3.0)}
        self.model = Model(SHAPE, discount=None, covariance_type=form, groups=self.groups, **priors)
        shown = np.where(self.gaps, np.nan, rng.standard_normal(self.gaps.shape))
        self.chain = Chain(shown, self.model, rng)

    def start(self):
        gamma, kappa, c, d, tree, share, rest = draw_tree(self.groups, self.rng)
        prior = twin.sample_prior(self.model, tree.n_data, 2, self.rng)
        setting = prior.setting._replace(alpha=c * SHAPE, discount=d)
        chain = self.chain
        chain.raw = twin.sample_data(tree, setting, prior.sigma, self.rng)
        root = np.linalg.cholesky(prior.sigma)
        chain.factor = least_form(root, self.model.covariance_type, 2)
        rebuild(chain.state, tree.compressed(), c, d, setting.scale)
        fill(chain.state, tree, share, rest, gamma, kappa)
        settle(chain.state)
        chain._whiten()
        return chain


class Own:
    def __init__(self, rng, forest, form, kinds=("gaussian",) * 2):
        self.rng, self.groups = rng, groups_of(forest)
        floor = np.where([kind == "gaussian" and form != "full" for kind in kinds], 0.2, 0.0)
        self.priors = model_of(kinds, form, 2, floor=floor, concentration=2.0, discount=0.2)
        model = engine_model(self.priors)
        self.model = Model(**vars(model) | {"groups": self.groups, "shape": SHAPE})
        draw = own_twin.sample_prior(self.priors, self.groups.of_row.size, rng)
        self.chain = ColumnsChain(draw.data, self.model, rng)

    def start(self):
        gamma, kappa, c, d, tree, share, rest = draw_tree(self.groups, self.rng, 2.0, 0.2)
        draw = own_twin.sample_prior(self.priors, tree.n_data, self.rng, tree=tree)
        chain = self.chain
        chain.state.data[:] = draw.data
        parameters = own_engine.parameters_of(draw.phi[tree.level < 2], draw.setting)
        rebuild_own(chain.state, tree, c, d, parameters)
        fill(chain.state, tree, share, rest, gamma, kappa)
        return chain


def fill(state, tree, share, rest, gamma, kappa):
    count_groups(state)
    put_all_sticks(state, tree, share, rest)
    state.gamma[0], state.kappa[0] = gamma, kappa


def functions(chain):
    """Return numbers whose means are compared."""
    state, tree = chain.state, chain.tree()
    above = tree.level[tree.parent[1:]]
    nodes = [np.sum((above < level) & (tree.level[1:] >= level)) for level in (1, 2)]
    meeting = tree.meeting_level([0, 0, 2], [1, 2, 4])
    u, kappa = state.gamma[0] / (state.gamma[0] + SCALE), state.kappa[0]
    left = np.exp(state.theta_rest[0, 0])
    return [
        u, u**2, kappa, kappa**2, kappa * u, np.log(state.scalars[FACTOR]), state.scalars[DISCOUNT],
        *nodes, *np.square(nodes), *meeting, *np.square(meeting),
        state.rest[0, 0], *left, *(left * state.rest[0, 0]), u * nodes[1], kappa * nodes[1],
    ]  # fmt: skip


def compare(maker, advance, n_starts):
    differences = []
    for _ in range(n_starts * TIMES):
        chain = maker.start()
        before = functions(chain)
        advance(chain)
        differences.append(np.array(functions(chain)) - before)
    differences = np.array(differences)
    varies = np.ptp(differences, axis=0) > 0
    assert varies.any()
    p = stats.ttest_1samp(differences[:, varies], 0.0).pvalue
    assert (p > FALSE_ALARM / varies.sum()).all(), p


CASES = {
    "shared full": (Shared, {"forest": "conditions", "form": "full"}),
    "shared with gaps": (Shared, {"forest": "days", "form": "diag", "gaps": True}),
    "own diagonal": (Own, {"forest": "days", "form": "diag"}),
    "own full": (Own, {"forest": "conditions", "form": "full"}),
    "mixed columns": (
        Own, {"forest": "conditions", "form": "diag", "kinds": ("gaussian", "categorical")},
    ),
}  # fmt: skip


def sweeps(chain):
    for _ in range(3):
        chain.sweep()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_whole_sweep_keeps_exact_draws_exact(name):
    kind, choices = CASES[name]
    compare(kind(np.random.default_rng(len(name)), **choices), sweeps, 400)


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize(
    "move", ["datum", "regraft", "split_merge", "node_split", "collapsed", "parameters"]
)
def test_each_move_of_own_noise_keeps_exact_draws_exact(move, forest):
    maker = Own(np.random.default_rng(len(move)), forest, "diag")

    def advance(chain):
        for each in chain.moves():
            if each.name == move:
                for _ in range(3):
                    each.kernel(each.count)

    compare(maker, advance, 300)


@pytest.mark.parametrize("name", CASES)
def test_sticks_of_parents_add_up_in_all_moves(name):
    kind, choices = CASES[name]
    chain = kind(np.random.default_rng(1), **choices).chain
    for _ in range(3):
        chain.sweep()
        state = chain.state
        order = state.order[: state.sizes[ALIVE]]
        for node in order:
            below = order[state.nodes["parent"][order] == node]
            level = state.nodes["level"][node]
            if below.size:
                total = np.exp(state.theta[below, level]).sum(axis=0)
                total += np.exp(state.theta_rest[node, level])
                np.testing.assert_allclose(total, 1.0, atol=1e-9)
            above = state.nodes["parent"][node]
            for at in range(0 if above < 0 else state.nodes["level"][above] + 1, level):
                total = np.exp(state.theta[node, at]) + np.exp(state.theta_rest[node, at])
                np.testing.assert_allclose(total, 1.0, atol=1e-9)
        assert np.isfinite(chain.log_joint())
