"""A slow, plain twin of the columns model: its joint density, and draws from it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit, gammainc, gammaincinv, softmax

from sticktree import Tree
from tests.support.own.evidence import log_leaf_evidence
from tests.support.own.setting import (
    KAPPA,
    A,
    Setting,
    coordinates_of,
    gaussian_columns,
    used_hyper,
)


@dataclass(frozen=True, eq=False)
class Priors:
    """A model: what the columns are and all priors. Any object with these names will do.

    ``concentration`` and ``discount`` are fixed values; None has them drawn from their priors.
    """

    kinds: tuple
    shape: np.ndarray
    hyper_mean: np.ndarray
    hyper_sd: np.ndarray
    form: str = "diag"
    categories: tuple = ()
    floor: np.ndarray | None = None
    node_prior: tuple = (1.0, 1.0)
    psi: float = 1.0
    concentration_prior: tuple = (1.0, 1.0)
    discount_prior: tuple = (1.0, 1.0)
    concentration: float | None = None
    discount: float | None = 0.0


# ---- densities -------------------------------------------------------------------------------


def log_phi_prior(tree, phi, setting):
    """Return log p(φ) of the nodes above the leaves."""
    inner = np.flatnonzero(tree.level < setting.depth)
    mean = np.where(inner[:, None] == 0, 0.0, phi[tree.parent[inner]])
    sd = np.sqrt(setting.v[tree.level[inner]])
    return stats.norm.logpdf(phi[inner], mean, sd).sum()


def log_likelihood(tree, phi, data, setting, evidence=log_leaf_evidence):
    """Return log p(data | tree, φ) with the parameters of all leaves integrated out."""
    return sum(
        float(evidence(data[tree.leaf == leaf], phi[tree.parent[leaf]], setting))
        for leaf in np.unique(tree.leaf)
    )


def log_joint(tree, phi, data, setting):
    """Return log p(tree, φ, data | hyper-parameters); rows of φ for leaves are not used.

    Under the full form ``data`` may hold the imputed entries; missing ones are integrated out.
    """
    return (
        setting.law.log_prob(tree)
        + log_phi_prior(tree, phi, setting)
        + log_likelihood(tree, phi, data, setting)
    )


def log_hyper_prior(setting, model):
    """Return the log density of all hyper-parameters that are not fixed, in their own units."""
    total = stats.invgamma.logpdf(setting.v, model.node_prior[0], scale=model.node_prior[1]).sum()
    used = setting.used
    # The density of κ, not of log κ: hence the Jacobian.
    logs = np.log(setting.hyper[used])
    total += (stats.norm.logpdf(logs, model.hyper_mean[used], model.hyper_sd[used]) - logs).sum()
    if model.concentration is None:
        shape, rate = model.concentration_prior
        total += stats.gamma.logpdf(setting.c, shape, scale=1 / rate)
    if model.discount is None:
        total += stats.beta.logpdf(setting.discount, *model.discount_prior)
    if setting.form == "full":
        g = len(setting.gaussian)
        total += stats.wishart.logpdf(setting.psi, g + 1, model.psi / (g + 1) * np.eye(g))
    return float(total)


# ---- draws -----------------------------------------------------------------------------------


class Draw(NamedTuple):
    """One draw of everything; the data are complete."""

    setting: Setting
    tree: Tree
    phi: np.ndarray
    data: np.ndarray


def sample_setting(model, rng):
    """Draw all hyper-parameters that are not fixed; what no column uses has its prior median."""
    offset, width = coordinates_of(model.kinds, model.categories)
    n_columns, depth = len(model.kinds), len(model.shape)
    used = used_hyper(model.kinds, model.form)
    noise = np.where(used, rng.standard_normal((3, n_columns)), 0.0)
    shape, rate = model.node_prior
    g = len(gaussian_columns(model.kinds))
    psi = None
    if model.form == "full":
        scale = model.psi / (g + 1) * np.eye(g)
        psi = np.reshape(stats.wishart.rvs(g + 1, scale, random_state=rng), (g, g))
    c, d = model.concentration, model.discount
    return Setting(
        kinds=tuple(model.kinds),
        form=model.form,
        offset=offset,
        width=width,
        floor=np.zeros(n_columns) if model.floor is None else model.floor,
        shape=model.shape,
        c=rng.gamma(model.concentration_prior[0], 1 / model.concentration_prior[1])
        if c is None
        else c,
        discount=rng.beta(*model.discount_prior) if d is None else d,
        v=rate / rng.standard_gamma(shape, (depth, int(width.sum()))),
        hyper=np.exp(model.hyper_mean + model.hyper_sd * noise),
        psi=psi,
    )


def sample_phi(tree, setting, rng):
    """Draw φ of the nodes above the leaves, from the root on; rows of leaves are NaN."""
    phi = np.full((tree.n_nodes, setting.n_coordinates), np.nan)
    for node in np.flatnonzero(tree.level < setting.depth):
        mean = phi[tree.parent[node]] if node else 0.0
        phi[node] = rng.normal(mean, np.sqrt(setting.v[tree.level[node]]))
    return phi


def sample_variance(a, b, floor, rng):
    """Draw s ~ InvGamma(a, ab), not below the floor: 1/s is Gamma, not above 1/floor."""
    highest = gammainc(a, a * b / floor) if floor > 0 else 1.0
    return a * b / gammaincinv(a, highest * (1.0 - rng.random()))


def sample_gaussian(n, u, columns, setting, rng):
    """Draw the leaf's mean and covariance, then n rows of the columns."""
    kappa, a, b = setting.hyper[:, columns[0]]
    g = len(columns)
    if setting.form == "full":
        nu = g - 1 + 2 * a
        covariance = stats.invwishart.rvs(nu, setting.psi, random_state=rng)
        covariance = np.reshape(covariance, (g, g))
    else:
        covariance = sample_variance(a, b, setting.floor[columns[0]], rng) * np.eye(g)
    factor = np.linalg.cholesky(covariance)
    mean = u + factor @ rng.standard_normal(g) / np.sqrt(kappa)
    return mean + rng.standard_normal((n, g)) @ factor.T


def sample_leaf(n, u, setting, rng, trials=None):
    """Draw n rows of a leaf whose parent has φ = u; trials are given, for all columns alike."""
    rows = np.empty((n, len(setting.kinds)))
    trials = np.full(n, 5) if trials is None else trials
    for columns in setting.blocks:
        here, first = u[setting.coordinates(columns)], columns[0]
        kappa, kind = setting.hyper[KAPPA, first], setting.kinds[first]
        if kind == "gaussian":
            rows[:, columns] = sample_gaussian(n, here, columns, setting, rng)
        elif kind == "categorical":
            theta = rng.dirichlet(kappa * softmax(here))
            rows[:, first] = rng.choice(len(here), size=n, p=theta)
        elif kind == "poisson":
            rate = rng.gamma(kappa * np.exp(here[0]), 1 / kappa)
            rows[:, first] = rng.poisson(rate, n)
        elif kind == "binomial":
            # In ratios of Gammas, as below.
            up = rng.standard_gamma(kappa * expit(here[0]))
            down = rng.standard_gamma(kappa * expit(-here[0]))
            rows[:, first + 1] = trials
            rows[:, first] = rng.binomial(trials, up / (up + down))
        else:
            # q/(1 − q) as a ratio of two Gammas: 1 − q itself may be too near to 0.
            up = rng.standard_gamma(kappa * expit(here[0]))
            down = rng.standard_gamma(kappa * expit(-here[0]))
            rates = rng.standard_gamma(setting.hyper[A, first], n) * up / down
            rows[:, first] = rng.poisson(rates)
    return rows


def sample_data(tree, phi, setting, rng):
    """Draw complete data given tree and φ, all parameters of leaves afresh."""
    data = np.empty((tree.n_data, len(setting.kinds)))
    for leaf in np.unique(tree.leaf):
        members = np.flatnonzero(tree.leaf == leaf)
        u, trials = phi[tree.parent[leaf]], 1 + 2 * (members % 4)
        data[members] = sample_leaf(members.size, u, setting, rng, trials)
    return data


def sample_prior(model, n_data, rng, tree=None):
    """Draw hyper-parameters, tree unless it is given, φ and complete data from the model."""
    setting = sample_setting(model, rng)
    tree = setting.law.sample(n_data, rng) if tree is None else tree
    phi = sample_phi(tree, setting, rng)
    return Draw(setting, tree, phi, sample_data(tree, phi, setting, rng))


# ---- what Geweke's test compares -------------------------------------------------------------


def meeting_level(tree, first, second):
    # Parents have smaller numbers than their children.
    while first != second:
        first, second = min(first, second), tree.parent[max(first, second)]
    return tree.level[first]


def data_statistics(data, kinds, categories):
    """Return numbers of the first two data; they must not be missing, or are left out."""
    values = []
    for d, kind in enumerate(kinds):
        if kind == "trials":
            continue
        seen = data[:2, d][~np.isnan(data[:2, d])]
        if kind == "categorical":
            values += [y == k for y in seen for k in range(categories[d])]
        elif kind == "gaussian":
            values += [*np.log(np.abs(seen)), *np.tanh(seen)]
        else:
            values += [*np.log1p(seen), *(seen == 0)]
        if seen.size == 2:
            values.append(np.log1p(np.abs(seen[0] - seen[1])))
    return np.array(values, dtype=float)


def statistics(tree, phi, setting, data):
    """Return numbers whose means are compared; logarithms and tanh keep all moments finite."""
    hyper = np.log(setting.hyper[setting.used])
    v = np.log(setting.v).ravel()
    nodes = np.array([np.sum(tree.level == level) for level in range(1, setting.depth + 1)])
    above = tree.parent[tree.leaf[:2]]
    together = tree.leaf[0] == tree.leaf[1]
    of_data = data_statistics(data, setting.kinds, setting.width)
    parts = [
        [np.log(setting.c), setting.discount, setting.discount**2],
        v,
        v**2,
        hyper,
        hyper**2,
        nodes,
        nodes**2,
        [meeting_level(tree, *tree.leaf[:2]), tree.count[tree.leaf[0]]],
        np.tanh(phi[0]),
        np.log(np.abs(phi[0])),
        np.tanh(phi[above]).ravel(),
        np.log(np.abs(phi[above])).ravel(),
        np.tanh(phi[0] * phi[above[0]]),
        of_data,
        [of_data.sum() * together],
        of_data.sum() * np.tanh(phi[above[0]]),
    ]
    if setting.form == "full":
        sd = np.sqrt(np.diag(setting.psi))
        correlation = setting.psi / np.outer(sd, sd)
        parts += [np.log(sd), np.log(sd) ** 2, correlation[np.triu_indices(len(sd), 1)]]
    return np.concatenate(parts)
