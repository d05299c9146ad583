"""
How clusters come from draws
============================

A draw is made for density: it covers a bent cluster by many leaves. Which of them belong together
is told by all draws at once, by a walk that steps from row to row.
"""

# %%
# A ring around a core, a group beside it, and three rows that belong to nothing. Every leaf has a
# normal distribution, so none of them can be a ring.

import matplotlib.pyplot as plt
import numpy as np

from sticktree import DFPMixture
from sticktree.plotting import plot_dendrogram
from sticktree.plotting.base import CLUSTERS, INK, REST
from sticktree.posterior.cutting import TIMES

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 240)
ring = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
places = np.vstack([ring, np.zeros((90, 2)), np.full((70, 2), [5.0, 0.0])])
X = rng.normal(places, np.repeat([0.22, 0.5, 0.5], [240, 90, 70])[:, None])
X = np.vstack([X, [[5.4, 4.0], [5.8, 4.1], [5.5, 4.4]]])

mixture = DFPMixture(
    covariance_type="full", leaf_noise="own", n_warmup=200, n_draws=200, random_state=0
).fit(X)


def panel(ax, title, colours, **how):
    """Draw the rows."""
    dots = ax.scatter(*X.T, c=colours, s=14, linewidths=0, **how)
    ax.set_title(title, fontsize=11, color=INK)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return dots


def hues(labels):
    """Return a colour for each row, grey for strays."""
    return [REST if k < 0 else CLUSTERS[k % len(CLUSTERS)] for k in labels]


# %%
# **Draws and clusters.** Two draws, coloured by leaf, cut the ring into pieces, each in its own
# way. On the right ``labels_``: the ring is one cluster, because the pieces of one draw reach over
# the gaps between those of another.

draws = mixture.posterior_.draws
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
for ax, number in zip(axes[:2], (100, 700), strict=True):
    leaves = draws[number].tree.cut(mixture.level_)
    panel(ax, f"one draw: {leaves.max() + 1} leaves", hues(leaves))
panel(axes[2], f"all draws: {mixture.n_clusters_} clusters", hues(mixture.labels_))

# %%
# **The walk.** *Step to a random row of your own leaf in a random draw.* The probabilities of steps
# are a matrix :math:`P`, and its powers say where one is after many: first near by, then anywhere
# on the ring, and hardly ever elsewhere.

walk = mixture.fit_.walk
steps = walk.memberships(np.arange(len(X), dtype=np.int32))  # each row as a cluster of its own: P
start = int(np.argmin(np.hypot(*(X - [-3, 0]).T)))
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
for ax, t in zip(axes, (1, 8, 64), strict=True):
    there = np.linalg.matrix_power(steps, t)[start]
    shade = np.clip(np.log10(np.maximum(there, 1e-12)), -5, -1.5)
    panel(ax, f"after {t} step{'s' * (t > 1)}", shade, cmap="Blues", vmin=-5.6, vmax=-1.5)
    ax.plot(*X[start], "o", ms=9, mfc="none", mec=CLUSTERS[3], mew=2)

# %%
# **How many?** The longer the walk, the fewer groups of rows are still apart. Numbers that mean
# nothing come and go; the one that lasts longest, on a scale on which each doubling of time counts
# the same, is ``n_clusters_``.

lasting = mixture.fit_.lasting
counts = np.array(lasting.counts)
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.step(TIMES, counts, where="mid", color=REST, lw=2)
ax.step(TIMES, np.where(counts == lasting.n_clusters, counts, np.nan), where="mid", lw=4)
ax.annotate(
    f"{lasting.n_clusters} clusters, for a factor of {lasting.factor:.0f} in time",
    (lasting.t, lasting.n_clusters),
    xytext=(0, 12),
    textcoords="offset points",
    ha="center",
    color=CLUSTERS[0],
    fontsize=11,
)
ax.set_xscale("log", base=2)
ax.set_xticks([4, 16, 64, 256, 1024], ["4", "16", "64", "256", "1024"])
ax.set(xlabel="steps of the walk", ylabel="clusters", ylim=(0, counts.max() + 1))
ax.spines[["top", "right"]].set_visible(False)

# %%
# How much that depends on which draws one has, is seen by finding the number anew from parts of
# them:

print(mixture.number_of_clusters_)

# %%
# **How sure?** ``membership_`` has the probability to be in each cluster after one step, and
# ``confidence_`` that of the own one. Here they leave no doubt:

print(f"the least confidence of {len(X)} rows: {mixture.confidence_.min():.2f}")

# %%
# Asked for four clusters, the walk has to cut the ring. Where it does so is arbitrary, and
# memberships say so: rows at the cuts belong to both sides. On the right the rows of a small branch
# that is apart from every cluster: strays, which join the nearest one, or are labelled −1.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
panel(axes[0], "cluster(n_clusters=4)", hues(mixture.cluster(n_clusters=4)))
sure = mixture.membership(n_clusters=4).max(axis=1)
dots = panel(axes[1], "largest membership", sure, cmap="viridis", vmin=0.4, vmax=1)
figure.colorbar(dots, ax=axes[1], shrink=0.7)
strays = mixture.cluster(strays="label")
panel(axes[2], 'cluster(strays="label")', hues(strays))
axes[2].plot(*X[strays < 0].T, "o", ms=9, mfc="none", mec=INK, mew=1)

# %%
# **The cluster tree.** The walk has a tree as well, ``cluster_tree_``, of which all clusters are
# cuts: ``cluster(n_clusters=2)`` cuts it higher, ``cluster(n_clusters=4)`` lower. Its times go from
# 0 to 1; numbers are supports, how nearly draws have this branch. A cluster that draws cover by
# many leaves is no branch of theirs, so a small support says nothing against it.

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
plot_dendrogram(mixture.cluster_tree_, labels=mixture.labels_, names=False, ax=ax)
ax.set_xlabel("time of cluster_tree_")
