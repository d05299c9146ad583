"""The whole sweep of every engine keeps the exact posterior.

A start is exact: parameters, tree and rows are drawn from the model, so that parameters and tree
are a draw from their posterior given the rows. After any number of sweeps they must still be one,
and over all starts the tree must have the law of the model, which is known: all trees on a few rows
are enumerated. The false-alarm rate is 1e-4 for each case.
"""

import os
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from sticktree.engine.bulk.own import OwnBulkChain
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.predictive import rebuild as rebuild_own
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.predictive import rebuild
from sticktree.model import Model
from sticktree.processes import NestedRestaurant, enumerate_trees
from tests.engine.own.test_chain import engine_model
from tests.engine.own.test_twin import model_of
from tests.support import shared_twin as twin
from tests.support.bulk import rows_of
from tests.support.own import engine as own_engine
from tests.support.own import twin as own_twin

N_ROWS, SHAPE, C, DISCOUNT = 5, np.array([1.0, 0.7]), 2.0, 0.2
FALSE_ALARM = 1e-4
PRIORS = {"precision_prior": (3.0, 0.5), "scale_prior": (3.0, 3.0)}
LEARNED = {"precision_prior": (3.0, None)}  # rates
N_SWEEPS = 6  # after each start
TIMES = int(os.environ.get("STICKTREE_STARTS", "1"))  # more starts than usual
GAPS = np.zeros((N_ROWS, 2), dtype=bool)
GAPS[[1, 2, 3], [0, 1, 0]] = True


class Shared:
    """Chains with shared noise, put at exact starts."""

    def __init__(self, rng, gaps=False, **choices):
        self.rng, self.gaps = rng, GAPS & gaps
        self.model = Model(SHAPE, concentration=C, discount=DISCOUNT, **PRIORS | choices)
        self.chain = Chain(self._shown(rng.standard_normal((N_ROWS, 2))), self.model, rng)

    def _shown(self, data):
        return np.where(self.gaps, np.nan, data)

    def start(self):
        draw = twin.sample_prior(self.model, N_ROWS, 2, self.rng)
        self._put(self.chain, draw)
        return self.chain, draw.tree

    def _put(self, chain, draw):
        chain.raw = draw.data.copy()  # what is missing is part of the state
        chain.factor = twin.factor_of(draw.sigma, self.model.covariance_type)
        rebuild(chain.state, draw.tree.compressed(), C, DISCOUNT, draw.setting.scale)
        chain._whiten()


class Own:
    """Chains whose leaves have their own noise, put at exact starts."""

    def __init__(self, rng, form, kinds=("gaussian",) * 2, gaps=False):
        floor = np.where([kind == "gaussian" and form != "full" for kind in kinds], 0.2, 0.0)
        self.rng = rng
        self.priors = model_of(kinds, form, 2, floor=floor, concentration=C, discount=DISCOUNT)
        self.model = engine_model(self.priors)
        self.gaps = np.zeros((N_ROWS, len(kinds)), dtype=bool)
        self.gaps[:, :2] = GAPS & gaps
        draw = own_twin.sample_prior(self.priors, N_ROWS, rng)
        self.chain = ColumnsChain(self._shown(draw.data), self.model, rng)

    def _shown(self, data):
        return np.where(self.gaps, np.nan, data)

    def start(self):
        draw = own_twin.sample_prior(self.priors, N_ROWS, self.rng)
        self._put(self.chain, draw)
        return self.chain, draw.tree

    def _put(self, chain, draw):
        imputed = False if chain.gaps is None else chain.gaps
        chain.state.data[:] = np.where(self.gaps & ~imputed, np.nan, draw.data)
        phi = draw.phi[draw.tree.level < len(SHAPE)]
        parameters = own_engine.parameters_of(phi, draw.setting)
        rebuild_own(chain.state, draw.tree, C, DISCOUNT, parameters)


class Bulk:
    """Chains for many rows, which take over a start of a chain of the other kind."""

    kind: type

    def __init__(self, rng, **choices):
        super().__init__(rng, **choices)
        rows = rows_of(self._shown(rng.standard_normal((N_ROWS, 2))))
        self.bulk = self.kind(rows, self.model, rng)
        self.bulk.n_rounds = 1

    def _put(self, chain, draw):
        super()._put(chain, draw)
        self.bulk.rows = rows_of(self._shown(draw.data))
        self.bulk._set_grids()
        self.bulk._read_rows()
        self.bulk._take_over(chain, np.arange(N_ROWS, dtype=np.uint64))

    def start(self):
        _, tree = super().start()
        return self.bulk, tree


class SharedBulk(Bulk, Shared):
    kind = SharedBulkChain


class OwnBulk(Bulk, Own):
    kind = OwnBulkChain


MIXED = ("gaussian", "categorical", "poisson", "negative_binomial")
CASES = {
    "shared spherical": (Shared, {"covariance_type": "spherical"}, 1500),
    "shared diagonal": (Shared, {"covariance_type": "diag", **LEARNED}, 1200),
    "shared full": (Shared, {"covariance_type": "full"}, 1000),
    "shared scales": (Shared, {"scales": "shared"}, 1200),
    "shared full with gaps": (Shared, {"covariance_type": "full", "gaps": True, **LEARNED}, 700),
    "own diagonal": (Own, {"form": "diag"}, 1200),
    "own spherical with gaps": (Own, {"form": "spherical", "gaps": True}, 900),
    "own full": (Own, {"form": "full"}, 900),
    "own full with gaps": (Own, {"form": "full", "gaps": True}, 900),
    "mixed columns": (Own, {"form": "diag", "kinds": MIXED, "gaps": True}, 900),
    "many rows, shared": (SharedBulk, {"covariance_type": "full", **LEARNED}, 400),
    "many rows, shared with gaps": (SharedBulk, {"covariance_type": "diag", "gaps": True}, 400),
    "many rows, own": (OwnBulk, {"form": "diag", "gaps": True}, 400),
    "many rows, own full": (OwnBulk, {"form": "full"}, 400),
}


def shape_of(tree):
    """Return a tree without the names of its rows: the sizes of leaves, node by node."""
    below = defaultdict(list)
    for path, n in zip(*np.unique(np.array(tree.paths()), axis=0, return_counts=True), strict=True):
        below[path[0]].append(int(n))
    return tuple(sorted(tuple(sorted(sizes)) for sizes in below.values()))


@dataclass
class Law:
    """The exact law of shapes, and the shape of each tree that a chain may have."""

    probability: dict

    def __post_init__(self):
        self.place = {shape: k for k, shape in enumerate(self.probability)}
        self._known = {}

    @classmethod
    def of_model(cls):
        restaurant, probability = NestedRestaurant(C * SHAPE, discount=DISCOUNT), defaultdict(float)
        for tree in enumerate_trees(N_ROWS, len(SHAPE)):
            probability[shape_of(tree)] += np.exp(restaurant.log_prob(tree))
        return cls(probability)

    def look_up(self, tree):
        raw = tree.parent.tobytes(), tree.leaf.tobytes(), tree.level.tobytes()
        if raw not in self._known:
            self._known[raw] = self.place[shape_of(tree.expanded())]
        return self._known[raw]


def excess(visits, starts, probability):
    """Return by how much each shape is visited too often, and the p-value of all together.

    ``visits`` is (starts, sweeps). What a start says of the sweeps after it, whose rows are the
    same, is taken out by regression: its law is known as well.
    """
    kept = probability * len(starts) > 20.0  # rarer ones are not normal enough
    cells = np.eye(probability.size)[:, kept]
    after = cells[visits].mean(axis=1) - probability[kept]
    before = cells[starts] - probability[kept]
    after = after - before @ np.linalg.lstsq(before, after, rcond=None)[0]
    mean, n = after.mean(axis=0), len(after)
    squared = n * mean @ np.linalg.solve(np.cov(after.T), mean)  # Hotelling's T²
    k = kept.sum()
    return mean / probability[kept], stats.f.sf(squared * (n - k) / (k * (n - 1)), k, n - k)


@pytest.fixture(scope="module")
def law():
    return Law.of_model()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_whole_sweep_keeps_exact_draws_exact(name, law):
    kind, choices, n_starts = CASES[name]
    maker = kind(np.random.default_rng(len(name)), **choices)
    probability = np.array(list(law.probability.values()))
    starts, visits = [], []
    for _ in range(n_starts * TIMES):
        chain, tree = maker.start()
        starts.append(law.look_up(tree.compressed()))
        visits.append([])
        for _ in range(N_SWEEPS):
            chain.sweep()
            visits[-1].append(law.look_up(chain.tree()))
    relative, p = excess(np.array(visits), np.array(starts), probability)
    assert p > FALSE_ALARM, relative.round(3)


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_of_moves_do_not_follow_the_tree(name):
    kind, choices, _ = CASES[name]
    maker = kind(np.random.default_rng(1), **choices)
    sizes, counts = set(), set()
    for _ in range(15):
        chain, tree = maker.start()
        sizes.add(tree.compressed().n_nodes)
        info = chain.sweep()
        counts.add(tuple(info[move][1] for move in ("regraft", "node_split")))
        counts.add((chain.effort.count(8), chain.effort.count(1)))
    assert len(sizes) > 2
    assert len(counts) == 2
