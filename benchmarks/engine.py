"""The engine's datum sweep against one E-step of scikit-learn's GaussianMixture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.mixture import GaussianMixture

from benchmarks.timing import Row, race
from sticktree.engine.chain import Chain
from sticktree.engine.datum import datum_sweep
from sticktree.model import Model


def rows() -> Iterator[Row]:
    yield sweep(100_000, 2, 100)
    yield sweep(20_000, 16, 50)


def sweep(n_rows: int, dimension: int, n_clusters: int) -> Row:
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 10, (n_clusters, dimension))
    data = centres[rng.integers(n_clusters, size=n_rows)] + rng.normal(size=(n_rows, dimension))
    data = (data - data.mean(0)) / data.std(0)
    model = Model(np.ones(3), covariance_type="spherical", precision_prior=(1.0, 0.01))
    chain = Chain(data, model, rng)
    for _ in range(3):
        chain.sweep()
    n_leaves = np.unique(chain.state.leaf).size
    peer = GaussianMixture(n_leaves, covariance_type="spherical", max_iter=1, init_params="random")
    peer.means_init = data[rng.choice(n_rows, n_leaves, replace=False)]
    with np.errstate(all="ignore"):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer.fit(data)
    return Row(
        f"datum sweep, {n_rows:,}×{dimension}, {n_leaves} leaves, vs one E-step of GaussianMixture",
        *race(
            lambda: datum_sweep(chain.state, chain.words),
            lambda: peer.score_samples(data),
            rounds=3,
        ),
        target=0.5,
    )
