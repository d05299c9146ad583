"""Chains of the model that the estimator has by default."""

from __future__ import annotations

from dataclasses import fields
from typing import TypeVar

import numpy as np

from sticktree import DFPMixture
from sticktree.checks import FloatArray
from sticktree.engine.chain import ChainLike
from sticktree.engine.shared.chain import Chain
from sticktree.model import Model
from sticktree.processes import LogDivergence, resolve_concentration

AnyChain = TypeVar("AnyChain", bound=ChainLike)


def default_model(n_steps: int = 4) -> Model:
    """Return the model of ``DFPMixture(n_steps, covariance_type="full")``.

    It has a tree of one level less, and a private step.
    """
    concentration = resolve_concentration(LogDivergence(), n_steps)
    parameters = DFPMixture(n_steps).get_params()
    shared = {
        field.name: parameters[field.name] for field in fields(Model) if field.name in parameters
    }
    shared |= {"covariance_type": "full", "leaf_noise": "shared", "columns": None}
    return Model(concentration.alpha, private_step=concentration.private_step, **shared)


def warm(chain: AnyChain, n_sweeps: int) -> AnyChain:
    for _ in range(n_sweeps):
        chain.sweep(tune=True)
    return chain


def default_chain(data: FloatArray, n_steps: int = 4, seed: int = 0) -> Chain:
    return Chain(data, default_model(n_steps), np.random.default_rng(seed))


def n_leaves(chain: ChainLike) -> int:
    return int(np.unique(chain.tree().leaf).size)
