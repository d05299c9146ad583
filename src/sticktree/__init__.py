"""Bayesian trees by breaking sticks: the Dirichlet fragmentation process.

>>> import numpy as np
>>> from sticktree.processes import NestedRestaurant
>>> restaurant = NestedRestaurant(concentration=1.0, depth=3)
>>> restaurant.sample(100, np.random.default_rng(0)).n_data
100
"""

from sticktree.tree import NULL, Tree

__all__ = ["NULL", "Tree", "__version__"]
__version__ = "0.1.0"
