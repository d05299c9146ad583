"""
Comparing two trees
===================

Trees of the same rows, from anywhere, can be held against each other and against known classes.
"""

# %%
# Three families of three groups, ten rows in each, clustered twice: by Ward's linkage, as scipy
# does it, and by the consensus of a posterior.

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import linkage

from sticktree import DFPMixture, Tree
from sticktree.metrics import dendrogram_purity, meeting_distance, robinson_foulds
from sticktree.plotting import plot_dendrogram

rng = np.random.default_rng(2)
families = rng.normal(0, 10, (3, 1, 1, 3))
groups = families + rng.normal(0, 3, (3, 3, 1, 3))
X = (groups + rng.normal(0, 0.7, (3, 3, 10, 3))).reshape(90, 3)
group = np.repeat([f"{family}{k}" for family in "abc" for k in (1, 2, 3)], 10)

ward = Tree.from_linkage(linkage(X, "ward"))
mixture = DFPMixture(
    covariance_type="full", leaf_noise="shared", n_warmup=500, n_draws=500, random_state=0
).fit(X)
consensus = mixture.tree_
sure = consensus.collapsed(0.5)

# %%
# Ward's tree joins two at a time to the end and says nothing of how sure a join is. The consensus
# has supports, so that branches that fewer than half of the draws have can be left out.

trees = {"Ward": ward, "consensus": consensus, "supported by half": sure}
figure, axes = plt.subplots(1, 3, figsize=(11, 5), layout="constrained")
for ax, (title, tree) in zip(axes, trees.items(), strict=True):
    plot_dendrogram(tree, labels=group, names=False, ax=ax)
    ax.set_title(title, fontsize=10, loc="left")

# %%
# Purity: how well a tree keeps the groups together, which neither has seen. Round groups of equal
# width are what Ward's linkage is made for. Leaving out what is doubtful costs purity: a tree that
# says less is right less often, and wrong less often too.

for name, tree in trees.items():
    print(f"{name:18s} {tree.n_nodes:4d} nodes, purity {dendrogram_purity(tree, group):.3f}")

# %%
# Two distances. Robinson–Foulds counts branches that only one tree has, and is large as soon as one
# tree resolves what the other leaves open; the meeting distance compares when rows meet, and is
# milder. Both are 0 for equal trees and at most 1.

print(f"Robinson–Foulds  {robinson_foulds(ward, consensus):.2f}")
print(f"meeting distance {meeting_distance(ward, consensus):.2f}")

# %%
# The distance of two draws of one posterior is a yardstick: that much is chance.

first, last = mixture.posterior_.draws[0].tree, mixture.posterior_.draws[-1].tree
print(f"two draws        {meeting_distance(first, last):.2f}")
