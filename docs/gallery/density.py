"""
Data, tree and density
======================

One fit answers three questions: which rows belong together, how the groups are nested, and how
probable a new row would be.
"""

# %%
# Three families of three groups each. The fit knows neither number.

import numpy as np

from sticktree import DFPMixture
from sticktree.plotting import figure_density

rng = np.random.default_rng(1)
families = 8.0 * np.exp(2j * np.pi * (np.arange(3) + 0.75) / 3)
groups = families[:, None] + 2.7 * np.exp(2j * np.pi * np.array([0.05, 0.4, 0.7]))
centres = np.repeat(groups.ravel(), [40, 30, 20] * 3)
X = rng.normal(np.column_stack([centres.real, centres.imag]), 0.7)

mixture = DFPMixture(
    covariance_type="full", leaf_noise="shared", n_warmup=500, n_draws=500, random_state=0
).fit(X)

# %%
# On the left the rows, coloured by cluster; in the middle the consensus tree, with the share of
# draws that have a branch where that is not nearly all; on the right the smallest regions that hold
# 50, 80, 95 and 99 % of the predictive density. The density averages over all draws, so it is
# smooth where they disagree.

figure_density(mixture, resolution=150)

# %%
# Log densities are in the units of the data. Rows far from everything get small ones.

for row in ([5.0, -2.5], [0.0, 0.0], [30.0, 30.0]):
    print(row, f"{mixture.score_samples([row])[0]:8.2f}")
