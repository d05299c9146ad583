"""
Which columns of a wide table matter
====================================

Most columns of a wide table have nothing to do with its clusters. Of every draw, ``relevance`` says
how much of a column's variance is between clusters, beside what chance would give.
"""

# %%
# The table is made up, so that the truth is known: 90 samples of three classes. Each of 6 of the 40
# genes is higher in one class, by several standard deviations or by hardly any.

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from sticktree import DFPMixture
from sticktree.plotting import RelevanceDisplay, plot_heatmap

rng = np.random.default_rng(0)
classes = np.repeat([0, 1, 2], 30)
names = [f"telling {k}" for k in range(6)] + [f"noise {k}" for k in range(34)]
centres = np.zeros((3, 40))
centres[[0, 1, 2, 0, 1, 2], range(6)] = [7.0, 6.0, 5.0, 3.0, 2.0, 1.0]
table = pd.DataFrame(centres[classes] + rng.normal(size=(90, 40)), columns=names)

mixture = DFPMixture(
    covariance_type="diag", leaf_noise="shared", n_warmup=200, n_draws=200, random_state=0
).fit(table)
print(f"{mixture.n_clusters_} clusters")
print(f"adjusted Rand index with the classes: {adjusted_rand_score(classes, mixture.labels_):.2f}")

# %%
# Lines are sorted by what is beyond chance. The interval is over draws: it is wide where rows go
# from one cluster to another between draws.

relevance = mixture.relevance()
print(relevance.top(10))

# %%
# Chance is no guess: if the values of a column were dealt out to the rows at random, the mean share
# between :math:`K` clusters would be :math:`(K - 1) / (n - 1)`, whatever the values are. Columns of
# noise scatter around it.

noise = [line for line in relevance if line.column.startswith("noise")]
print(f"noise has a mean share of {np.mean([line.share for line in noise]):.4f}")
print(f"chance would give         {np.mean([line.chance for line in noise]):.4f}")

RelevanceDisplay(relevance).plot(max_columns=14)

# %%
# The columns that carry the clusters, and the rows in the order of the cluster tree.

first = [line.column for line in relevance.top(6)]
plot_heatmap(table[first], mixture.cluster_tree_, labels=mixture.labels_, classes=classes)
