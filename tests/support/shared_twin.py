"""A slow, plain twin of the engine: every number from its definition, every choice enumerated."""

import json
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from sticktree import Tree
from sticktree.engine.common.links import ALIVE, DISCOUNT, FACTOR, LEAVES, MADE, ROOT
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.shared import state as engine_state
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.datum import move_data
from sticktree.engine.shared.noise import LEAST_RATE
from sticktree.engine.shared.seats import settle
from sticktree.engine.shared.state import NOISE, State, empty_state
from sticktree.model import Model
from sticktree.processes import DiffusionModel, GaussianTransition, NestedRestaurant
from sticktree.tree import NULL
from tests.support.compiled import complete
from tests.support.compiled import take_out as compiled_take_out


class Setting(NamedTuple):
    """All hyper-parameters, in units of Σ."""

    alpha: np.ndarray
    discount: float
    scale: np.ndarray
    noise: float

    @property
    def depth(self):
        return len(self.alpha)

    @property
    def law(self):
        return NestedRestaurant(self.alpha, discount=self.discount)

    def row_covariance(self, tree):
        transition = GaussianTransition(level_scales=self.scale, noise=self.noise)
        return DiffusionModel(self.law, transition).row_covariance(tree)


def random_setting(rng, depth, discount=None):
    """Draw hyper-parameters under which trees branch at all levels, not only near the root."""
    return Setting(
        alpha=rng.lognormal(size=depth) * 2.0 / depth,
        discount=rng.uniform(0.1, 0.5) / depth if discount is None else discount,
        scale=rng.lognormal(size=depth + 1) * 3.0 / depth,
        noise=rng.lognormal(-1.0),
    )


# ---- states and trees ------------------------------------------------------------------------


def copied(state):
    return replace(state, **{one.name: getattr(state, one.name).copy() for one in fields(state)})


def put_back(state, kept):
    """Make all arrays of a state what they are in another, of which it was a copy."""
    for one in fields(state):
        np.copyto(getattr(state, one.name), getattr(kept, one.name))


def in_use(state):
    """Return the numbers of the nodes in the order of the walk."""
    return state.order[: state.sizes[ALIVE]]


def setting_of(state):
    return Setting(
        state.levels["alpha"][:-1].copy(),
        float(state.scalars[DISCOUNT]),
        state.levels["scale"].copy(),
        float(state.scalars[NOISE]),
    )


def empty_of(data, setting):
    """Return a state with all data out of the tree."""
    alpha, discount, scale, noise = setting
    return empty_state(data, np.asarray(alpha), np.asarray(scale), 1.0, discount, noise)


def random_data(rng, n_data, dimension):
    """Draw data in clusters, so that some share a leaf and some do not."""
    centres = 2.0 * rng.standard_normal((4, dimension))
    return centres[rng.integers(4, size=n_data)] + 0.3 * rng.standard_normal((n_data, dimension))


def state_of(tree, data, setting):
    """Make a state from a tree, without any move of the engine."""
    tree = tree.compressed()
    alpha, discount, scale, noise = setting
    state = empty_state(
        np.asarray(data), np.asarray(alpha), np.asarray(scale), 1.0, discount, noise
    )
    nodes = state.nodes[: tree.n_nodes]
    nodes["parent"], nodes["level"], nodes["n"] = tree.parent, tree.level, tree.count
    nodes["n_children"] = tree.n_children
    for link in ("first_child", "next_sibling", "previous_sibling"):
        nodes[link] = NULL
    for node in range(tree.n_nodes):
        children = tree.children(node)
        nodes["first_child"][node] = children[0] if children.size else NULL
        nodes["next_sibling"][children[:-1]] = children[1:]
        nodes["previous_sibling"][children[1:]] = children[:-1]
    state.leaf[:] = tree.leaf
    state.total[: tree.n_nodes] = 0.0
    np.add.at(state.total, state.leaf, state.data)
    state.sizes[MADE] = tree.n_nodes
    leaves = np.flatnonzero(nodes["level"] == tree.depth)
    nodes["slot"][leaves] = np.arange(leaves.size)
    state.leaves[: leaves.size] = leaves
    state.sizes[LEAVES] = leaves.size
    nodes["left"], nodes["covariance"], nodes["share"] = 0, 0.0, 0.0
    settle(state)
    return state


def move_datum(state, i, words):
    """Let one datum choose its leaf, or come in; return 1 if it changed, else 0."""
    return move_data(state, np.array([i]), words)


def take_out(state, x, old):
    """Return a copy without a datum in leaf ``old``, all nodes up to date, and 1/(r − W)."""
    state = copied(state)
    if old == NULL:
        state.nodes["left"][ROOT], state.nodes["path"][ROOT] = 1, 1.0
        lack, moved = 0.0, 0.0
    else:
        lack, moved, _ = compiled_take_out(state, x, old)
    complete(state, x)
    return state, lack, moved


def from_scratch(state):
    """Return a copy whose sums and messages are all made anew from its tree and data."""
    fresh = copied(state)
    fresh.total[in_use(fresh)] = 0.0
    np.add.at(fresh.total, fresh.leaf, fresh.data)
    settle(fresh)
    return fresh


class Census:
    """Remembers which of the listed trees each state had."""

    def __init__(self, trees):
        self._place = {tree.compressed(): k for k, tree in enumerate(trees)}
        assert len(self._place) == len(trees)
        self._known = {}  # by the raw arrays: canonical forms are slow to make
        self.visits = []

    def add(self, state):
        tree = tree_of(state)
        raw = tree.parent.tobytes(), tree.leaf.tobytes(), tree.level.tobytes()
        if raw not in self._known:
            self._known[raw] = self._place[tree]
        self.visits.append(self._known[raw])
        return self.visits[-1]

    @property
    def counts(self):
        return np.bincount(self.visits, minlength=len(self._place))


# ---- densities -------------------------------------------------------------------------------


def log_normal(data, row_covariance, sigma=None):
    """Return the log density of data ~ MN(0, S, Σ); Σ is I unless given."""
    if sigma is not None:
        # The covariance of all entries, to be quite plain.
        law = stats.multivariate_normal(np.zeros(data.size), np.kron(row_covariance, sigma))
        return law.logpdf(data.ravel())
    factor = np.linalg.cholesky(row_covariance)
    white = np.linalg.solve(factor, data)
    log_det = 2 * data.shape[1] * np.log(np.diag(factor)).sum()
    return -0.5 * (log_det + (white**2).sum() + data.size * np.log(2 * np.pi))


def log_posterior(tree, data, setting):
    """Return log p(tree) + log p(data | tree), for whitened data."""
    return setting.law.log_prob(tree) + log_normal(data, setting.row_covariance(tree))


def posterior(trees, data, setting):
    """Return the probabilities of the listed trees given the data, if there are no others."""
    logs = np.array([log_posterior(tree, data, setting) for tree in trees])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def log_prior_covariance(sigma, form, prior):
    a, b = prior
    dimension = len(sigma)
    if form == "full":
        law = stats.invwishart(dimension - 1 + 2 * a, 2 * b * np.eye(dimension))
        return law.logpdf(sigma)
    variances = np.diag(sigma) if form == "diag" else sigma[0, 0]
    return stats.invgamma.logpdf(variances, a, scale=b).sum()


def log_posterior_covariance(sigma, data, row_covariance, form, prior):
    """Return log p(Σ | data, S), whose prior is conjugate."""
    a, b = prior
    n_data, dimension = data.shape
    quadratic = data.T @ np.linalg.solve(row_covariance, data)
    if form == "full":
        scale = 2 * b * np.eye(dimension) + quadratic
        return stats.invwishart(dimension - 1 + 2 * a + n_data, scale).logpdf(sigma)
    if form == "diag":
        rates = b + np.diag(quadratic) / 2
        return stats.invgamma.logpdf(np.diag(sigma), a + n_data / 2, scale=rates).sum()
    rate = b + np.trace(quadratic) / 2
    return stats.invgamma.logpdf(sigma[0, 0], a + n_data * dimension / 2, scale=rate)


def log_evidence(data, row_covariance, form, prior):
    """Return log p(data | S) with Σ integrated out: p(data | Σ) p(Σ)/p(Σ | data) at any Σ."""
    variance = 0.7
    sigma = variance * np.eye(data.shape[1])
    return (
        log_normal(data, variance * row_covariance)
        + log_prior_covariance(sigma, form, prior)
        - log_posterior_covariance(sigma, data, row_covariance, form, prior)
    )


# ---- every place for a datum or a subtree ----------------------------------------------------


def places_of_datum(tree, i):
    """Return every tree in which datum ``i`` sits elsewhere, or where it was, given the others."""
    return _places(tree.expanded(), [i], tree.depth)


def places_of_subtree(tree, members, ceiling):
    """Return every tree that has the subtree of ``members``, from level ``ceiling`` on, anywhere.

    A whole subtree keeps a root of its own, so it never joins a node of its own level.
    """
    return _places(tree.expanded(), members, ceiling, join=False)


def _places(tree, members, ceiling, join=True):
    paths = tree.paths()
    rest = {i: path for i, path in enumerate(paths) if i not in members}
    fresh = max(max(path) for path in paths) + 1
    stems = {path[:level] for path in rest.values() for level in range(ceiling)}
    tops = [stem + (fresh,) + (1,) * (ceiling - len(stem) - 1) for stem in stems]
    if join:
        tops += set(rest.values())
    return [
        Tree.from_paths(
            [rest.get(i, top + path[ceiling:]) for i, path in enumerate(paths)]
        ).canonical()
        for top in tops
    ]


# ---- draws from the prior --------------------------------------------------------------------


class Draw(NamedTuple):
    """One draw of everything."""

    c: float
    setting: Setting
    tree: Tree
    sigma: np.ndarray
    data: np.ndarray


def sample_covariance(model, dimension, rng):
    a, b = model.precision_prior
    size = 1 if model.covariance_type == "spherical" else dimension
    if b is None:
        law = stats.gamma(model.rate_prior[0], scale=1 / model.rate_prior[1])
        b = law.isf(law.sf(LEAST_RATE) * rng.random(size))
    if model.covariance_type == "full":
        degrees, scale = dimension - 1 + 2 * a, 2 * np.diag(np.broadcast_to(b, size))
        draw = stats.invwishart.rvs(degrees, scale, random_state=rng)
        return np.reshape(draw, (dimension, dimension))
    return np.eye(dimension) * (b / rng.standard_gamma(a, size))


def factor_of(sigma, form):
    """Return A of Σ = A Aᵀ as chains have it."""
    return np.linalg.cholesky(sigma) if form == "full" else np.sqrt(np.diag(sigma))


def sample_data(tree, setting, sigma, rng):
    """Draw data given everything else, step by step from the root."""
    reach = np.cumsum(setting.scale)[tree.level]
    jumps = rng.standard_normal((tree.n_nodes, len(sigma)))
    places = np.sqrt(reach[0]) * jumps
    for node in range(1, tree.n_nodes):
        above = tree.parent[node]
        places[node] = places[above] + np.sqrt(reach[node] - reach[above]) * jumps[node]
    noise = rng.standard_normal((tree.n_data, len(sigma)))
    white = places[tree.leaf] + np.sqrt(setting.noise) * noise
    return white @ np.linalg.cholesky(sigma).T


def sample_prior(model, n_data, dimension, rng):
    """Draw tree, hyper-parameters and data from the model."""
    c = model.concentration
    if c is None:
        c = rng.gamma(model.concentration_prior[0], 1 / model.concentration_prior[1])
    discount = model.discount
    if discount is None:
        discount = rng.beta(*model.discount_prior)
    scale = np.ones(model.depth + 1)
    if model.scales == "per_level":
        scale = model.scale_prior[1] / rng.standard_gamma(model.scale_prior[0], model.depth + 1)
    setting = Setting(c * model.shape, discount, scale, model.noise)
    tree = setting.law.sample(n_data, rng)
    sigma = sample_covariance(model, dimension, rng)
    return Draw(c, setting, tree, sigma, sample_data(tree, setting, sigma, rng))


# ---- the same chain, compiled or not ---------------------------------------------------------


class Records:
    """An array of records whose fields are also attributes, as they are in compiled kernels."""

    def __init__(self, array):
        self.array = array
        self.size = array.size

    def __getitem__(self, key):
        return Record(self.array, key) if isinstance(key, (int, np.integer)) else self.array[key]

    def __setitem__(self, key, value):
        self.array[key] = value.array[value.k] if isinstance(value, Record) else value


class Record:
    def __init__(self, array, k):
        self.__dict__.update(array=array, k=k)

    def __getattr__(self, field):
        return self.array[field][self.k]

    def __setattr__(self, field, value):
        self.array[field][self.k] = value


def interpreted_state(**fields):
    """Make a State that interpreted kernels can use: numpy's own records have no attributes."""
    wrapped = {name: Records(fields[name]) for name in ("nodes", "levels", "saved", "near")}
    return State(**{**fields, **wrapped})


def some_draws():
    """Run short chains; return everything that they drew."""
    draws = []
    cases = [("spherical", 0.0, 0), ("diag", None, 0), ("full", 0.3, 0), ("full", 0.0, 3)]
    for form, discount, n_missing in cases:
        rng = np.random.default_rng(8)
        model = Model(np.array([1.0, 0.7, 0.5]), covariance_type=form, discount=discount)
        data = rng.standard_normal((7, 2))
        data.ravel()[:n_missing] = np.nan
        chain = Chain(data, model, rng)
        for _ in range(6):
            chain.sweep()
            draws.append(
                {
                    "leaf": chain.state.leaf.tolist(),
                    "parent": chain.state.nodes["parent"][in_use(chain.state)].tolist(),
                    "words": chain.words.tolist(),
                    "scalars": chain.state.scalars[[FACTOR, DISCOUNT]].tolist(),
                    "scales": chain.state.levels["scale"].tolist(),
                    "factor": chain.factor.ravel().tolist(),
                    "mean": chain.state.mean[in_use(chain.state)].ravel().tolist(),
                }
            )
    return draws


if __name__ == "__main__":
    engine_state.State = interpreted_state
    with np.errstate(over="ignore"):  # random words wrap around
        print(json.dumps(some_draws()))
