"""
Random trees
============

The laws behind the mixtures can be sampled on their own: sticks that break, data that find their
way down, and locations that diffuse.
"""

# %%
# A stick of length 1 breaks into pieces, each piece breaks again, and so on to depth 3. Every bar
# is as long as its mass; what is left unbroken is grey. On the right the heavier pieces as a tree.

import numpy as np

from sticktree.plotting import figure_diffusion, figure_recursive_sticks, plot_tree
from sticktree.processes import (
    DiffusionModel,
    GaussianTransition,
    LogDivergence,
    NestedRestaurant,
    RecursiveSticks,
)

rng = np.random.default_rng(4)
sticks = RecursiveSticks(1.0, depth=3).sample(rng, truncation=0.01)
figure_recursive_sticks(sticks)

# %%
# With the sticks integrated out, data choose their way one after another: a nested restaurant. Its
# trees have an exact probability.

restaurant = NestedRestaurant(LogDivergence(c=1.0), depth=5)
tree = restaurant.sample(60, rng)
plot_tree(tree, labels="count")
print(f"log probability of this tree: {restaurant.log_prob(tree):.1f}")

# %%
# In forty small steps the same process is close to a Dirichlet diffusion tree: paths that walk
# together until they part. First 20 data with their tree, then 980 more that continue it.

model = DiffusionModel(
    NestedRestaurant(LogDivergence(), depth=40), GaussianTransition(dimension=2, noise=0)
)
few = model.sample(20, rng)
many = model.extend(few, 980, rng)
figure_diffusion(few, many)
