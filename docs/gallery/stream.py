"""
A stream whose source changes
=============================

Rows come in batches and are forgotten; the posterior goes on. Before a batch is taken in, it is
compared with what was expected of it.
"""

# %%
# Three clusters at first. From batch 7 on there is a fourth, and from batch 12 on all of them move.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from sticktree import DFPMixture
from sticktree.inference.drift import DriftWarning
from sticktree.plotting import plot_stream

rng = np.random.default_rng(0)
centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [8.0, 8.0]])


def batch(number: int) -> np.ndarray:
    """Return 300 rows as they come at that time."""
    clusters = rng.integers(3 if number < 7 else 4, size=300)
    moved = 0.25 * max(number - 11, 0)
    return centres[clusters] + moved + rng.normal(size=(300, 2))


mixture = DFPMixture(
    covariance_type="full",
    leaf_noise="shared",
    n_chains=2,
    n_warmup=200,
    n_draws=200,
    random_state=0,
)
for number in range(16):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftWarning)  # the figure tells
        mixture.partial_fit(batch(number), n_warmup=10, n_draws=20)

# %%
# A cluster that is new shows at once, and a quarter of the batch sits in new leaves. Then its
# weight is too small for a while, since all rows that were ever seen count the same. Clusters that
# move show as a density that falls from batch to batch.

plot_stream(mixture.stream_)
plt.show()
