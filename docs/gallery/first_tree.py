"""
A first tree
============

A table of 150 irises, the tree that the data suggest, and how sure each branch is.
"""

# %%
# The table has four columns and no gaps. The species are known, but the fit does not see them.
# ``covariance_type="full"`` and ``leaf_noise="own"`` say that every cluster may have its own shape,
# ``depth=3`` that the tree has two levels. Left out, the data choose these, which takes longer.

from sklearn.datasets import load_iris

from sticktree import DFPMixture
from sticktree.metrics import dendrogram_purity
from sticktree.plotting import DendrogramDisplay
from sticktree.present.terminal import tree_text

iris = load_iris()
species = iris.target_names[iris.target]
mixture = DFPMixture(
    depth=3, covariance_type="full", leaf_noise="own", n_warmup=500, n_draws=500, random_state=0
).fit(iris.data)

# %%
# The consensus of all draws. Lines are coloured by cluster, the strip shows the species, and
# numbers are transfer supports: 1 less the share of rows that would have to move to match a draw.

DendrogramDisplay.from_estimator(mixture, classes=species, names=False)

# %%
# Setosa is apart in nearly every draw. Between the other two species the data leave some doubt, and
# the supports say so. Purity is 1 if every class has a branch of its own.

print(f"purity {dendrogram_purity(mixture.tree_, species):.3f}")
print(f"largest R-hat {max(mixture.diagnosis_.r_hat.values()):.2f}")

# %%
# The same tree in words, for a terminal:

print(tree_text(mixture.tree_, max_lines=8))
