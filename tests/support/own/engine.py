"""The engine, put where the twin is and read back: settings, states, and sweeps of chosen moves."""

from dataclasses import fields, replace

import numpy as np

from sticktree.engine.common.links import ALIVE, DISCOUNT, FACTOR
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.own.covariances import covariance_sweep, impute
from sticktree.engine.own.covariances import draw_precision as precision_of_leaf
from sticktree.engine.own.datum import move_data
from sticktree.engine.own.densities import recount
from sticktree.engine.own.hyper import settle
from sticktree.engine.own.kinds.dispatch import constants
from sticktree.engine.own.kinds.gaussian import log_lower_gamma
from sticktree.engine.own.layout import empty_state
from sticktree.engine.own.leaves import (
    has_gaps,
    log_evidence,
    log_predictive,
    put,
    renew,
)
from sticktree.engine.own.nodes import node_sweep
from sticktree.engine.own.predictive import rebuild
from sticktree.engine.own.regraft import set_prior_weights
from sticktree.engine.own.state import FORM, FULL, LOG_PSI, PHI
from sticktree.jit import jit
from sticktree.model import Column, Model
from tests.support.own.setting import trials_of

# ---- kernels that other kernels call only ----------------------------------------------------


@jit
def lower_gamma(a, x):
    return log_lower_gamma(a, x)


@jit
def draw_precision(shape, rate, floor, rng):
    return precision_of_leaf(shape, rate, floor, rng)


@jit
def put_rows(state, leaf, rows, sign):
    for i in rows:
        put(state, leaf, i, sign)


@jit
def renew_leaf(state, leaf):
    renew(state, leaf)


@jit
def predictive(state, leaf, i, least):
    return log_predictive(state, leaf, i, has_gaps(state, i), least)


@jit
def evidence(state, leaf, node):
    return log_evidence(state, leaf, node)


@jit
def constants_of(state):
    value = 0.0
    for d in range(state.columns.size):
        value += constants(state, d)
    return value


@jit
def places_of_subtree(state, ceiling, m):
    weights = np.full(state.sizes[ALIVE], np.nan)
    set_prior_weights(state, ceiling, m, weights)
    return weights


# ---- from the twin to the engine and back ----------------------------------------------------


def columns_of(kinds, width, floor):
    parts = zip(kinds, width.tolist(), floor, trials_of(kinds), strict=True)
    return tuple(Column(*column) for column in parts)


def model_of(setting, **choices):
    """Return a model with all that can be fixed at the values of a setting."""
    fixed = {
        "concentration": setting.c,
        "discount": setting.discount,
        "hyper_prior": (np.log(setting.hyper), np.zeros_like(setting.hyper)),
        "less_discount": setting.less_discount,
    }
    return Model(
        setting.shape,
        leaf_noise="own",
        covariance_type=setting.form,
        columns=columns_of(setting.kinds, setting.width, setting.floor),
        **fixed | choices,
    )


def parameters_of(phi, setting):
    none = np.empty((0, 0))
    psi = setting.psi if setting.form == "full" else none
    return {"phi": phi, "variance": setting.v, "hyper": setting.hyper, "psi": psi}


def gaps_of(data, setting):
    """Return where entries are imputed."""
    gaps = np.isnan(data)
    gaps[:, [kind != "gaussian" or setting.form != "full" for kind in setting.kinds]] = False
    return gaps


def state_of(tree, phi, data, setting):
    """Return a state; Gaussian entries that a full covariance needs must not be missing."""
    state = empty_state(data, model_of(setting))
    inner = tree.level < setting.depth
    parameters = parameters_of(phi[inner], setting)
    rebuild(state, tree, setting.c, setting.discount, parameters, setting.less_discount)
    return state


def copied(state):
    return replace(state, **{one.name: getattr(state, one.name).copy() for one in fields(state)})


def phi_of(state):
    """Return φ with a row for each node of `tree_of`; rows of leaves are NaN."""
    order = state.order[: state.sizes[ALIVE]]
    leaves = state.nodes["level"][order] == state.levels.size - 1
    return np.where(leaves[:, None], np.nan, state.coordinates[order, :, PHI])


def setting_in(state, setting):
    """Return the setting with what the state has learned."""
    return replace(
        setting,
        c=state.scalars[FACTOR],
        discount=state.scalars[DISCOUNT],
        v=state.variance.copy(),
        hyper=state.hyper.copy(),
        psi=state.psi.copy() if setting.form == "full" else None,
    )


class Census:
    """Remembers which of the listed trees each state had."""

    def __init__(self, trees):
        self._place = {tree: k for k, tree in enumerate(trees)}
        self._known = {}  # by the raw arrays: canonical forms are slow to make
        self.visits = []

    def add(self, state):
        tree = tree_of(state)
        raw = tree.parent.tobytes(), tree.leaf.tobytes(), tree.level.tobytes()
        if raw not in self._known:
            self._known[raw] = self._place[tree]
        self.visits.append(self._known[raw])

    @property
    def counts(self):
        return np.bincount(self.visits, minlength=len(self._place))


# ---- sweeps that keep all hyper-parameters ---------------------------------------------------


def redraw_phi(state, words, gaps):
    """Redraw φ of all nodes, and what is imputed; Ψ is kept, which the engine would redraw."""
    node_sweep(state, words)
    if state.sizes[FORM] == FULL:
        psi, log_psi = state.psi.copy(), state.scalars[LOG_PSI]
        covariance_sweep(state, words, 1.0)
        state.psi[:], state.scalars[LOG_PSI] = psi, log_psi
        settle(state)
        if gaps.any():
            impute(state, words, gaps)
            recount(state)


def move_all_data(state, words):
    move_data(state, np.arange(state.leaf.size), words)
