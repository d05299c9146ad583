"""
Comparing two trees
===================

Trees of the same rows, from anywhere, can be held against each other and against known classes.
"""

# %%
# The same table, clustered twice: by Ward's linkage, as scipy does it, and by the consensus of a
# posterior.

import matplotlib.pyplot as plt
from scipy.cluster.hierarchy import linkage
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from sticktree import DFPMixture, Tree
from sticktree.metrics import dendrogram_purity, meeting_distance, robinson_foulds
from sticktree.plotting import plot_dendrogram

wine = load_wine()
cultivar = [f"cultivar {k + 1}" for k in wine.target]
ward = Tree.from_linkage(linkage(scale(wine.data), "ward"))
mixture = DFPMixture(
    covariance_type="diag", leaf_noise="own", n_warmup=300, n_draws=300, random_state=0
).fit(wine.data)
consensus = mixture.tree_

# %%
# Ward's tree joins two at a time to the end and says nothing of how sure a join is. The consensus
# branches as widely as the draws do, and has supports.

figure, axes = plt.subplots(1, 2, figsize=(10, 5.5), layout="constrained")
for ax, tree, title in zip(axes, (ward, consensus), ("Ward", "consensus"), strict=True):
    plot_dendrogram(tree, classes=cultivar, names=False, ax=ax)
    ax.set_title(title, fontsize=10, loc="left")

# %%
# Purity: how well a tree keeps the cultivars together, which neither has seen.

for name, tree in ("Ward", ward), ("consensus", consensus):
    print(f"{name:10s} {tree.n_nodes:4d} nodes, purity {dendrogram_purity(tree, cultivar):.3f}")

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
