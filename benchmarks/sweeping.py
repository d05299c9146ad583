"""What is measured in fresh processes, also of older checkouts: it asks little of the library."""

from __future__ import annotations

import time
import warnings
from typing import Any, Literal

N_CHAINS, N_STEPS = 2, 4


def sweeps(
    path: str, noise: Literal["shared", "own"], n_warmup: int, n_draws: int
) -> list[tuple[Any, float]]:
    """Return log joint and number of leaves after each sweep, and the processor's seconds.

    Chains are of trees of four steps with full covariances.
    """
    import numpy as np

    from sticktree.engine import engine_of
    from sticktree.model import Model
    from sticktree.processes import LogDivergence, resolve_concentration

    data = np.load(path)
    concentration = resolve_concentration(LogDivergence(), N_STEPS)
    model = Model(
        concentration.alpha,
        private_step=concentration.private_step,
        covariance_type="full",
        leaf_noise=noise,
        precision_prior=(1.0, 0.01),
    )
    found = []
    for seed in range(N_CHAINS):
        chain: Any = engine_of(model).chain(data, model, np.random.default_rng(seed))
        for _ in range(n_warmup):
            chain.sweep(tune=True)
        values, seconds = [], 0.0
        for _ in range(n_draws):
            start = time.process_time()
            chain.sweep(tune=False)
            seconds += time.process_time() - start
            values.append((float(chain.log_joint()), int(np.unique(chain.tree().leaf).size)))
        found.append((values, seconds))
    return found


def first_fit() -> float:
    """Return the seconds of a fit and a prediction, with all that has to be loaded."""
    start = time.monotonic()
    from sklearn.datasets import load_iris

    from sticktree import DFPMixture

    data = load_iris().data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        DFPMixture(random_state=0, progress=False).fit(data).predict(data[:5])
    return time.monotonic() - start
