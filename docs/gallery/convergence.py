"""
Have the chains converged?
==========================

A fit runs several chains from different starts. If they do not agree, no answer of theirs is to
be relied on; if they do, that is no proof, but it is what can be checked.
"""

# %%
# A fit that is far too short. Usually it would warn; here the warning is caught, to be read.

import textwrap
import warnings

from sklearn.datasets import make_blobs

from sticktree import DFPMixture
from sticktree.plotting import LeavesPerLevelDisplay, TracesDisplay
from sticktree.posterior.tree_space import tree_space

X, _ = make_blobs(200, centers=6, cluster_std=0.7, random_state=0)
shown = ["log_joint", "nodes", "concentration", "noise"]
mixture = DFPMixture(
    covariance_type="full", leaf_noise="shared", n_warmup=0, n_draws=25, random_state=0
)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    mixture.fit(X)
for warning in caught:
    print(textwrap.fill(str(warning.message), 90))

# %%
# The traces show why: chains are still on their way from where they started.

TracesDisplay.from_estimator(mixture, names=shown)

# %%
# A longer run of the same model.

mixture = DFPMixture(
    covariance_type="full", leaf_noise="shared", n_warmup=500, n_draws=500, random_state=0
).fit(X)
TracesDisplay.from_estimator(mixture, names=shown)

# %%
# What two halves of the chains answer is now the same:

print(textwrap.fill(mixture.diagnosis_.verdict().text, 90))

# %%
# R-hat and effective draws of every scalar are there as details:

for name, r_hat in mixture.diagnosis_.r_hat.items():
    print(f"{name:15s} R-hat {r_hat:.3f}   effective draws {mixture.diagnosis_.ess[name]:5.0f}")

# %%
# Scalars may agree where trees do not. The distance of trees, within chains and between them, asks
# that directly.

print(tree_space(mixture.posterior_).in_words())

# %%
# Converged does not mean certain: how many branches there are at each level is itself a
# distribution.

LeavesPerLevelDisplay.from_estimator(mixture)
