"""
Random trees
============

Sticks that break, and data that diffuse.
"""

import numpy as np

from sticktree.plotting import plot_sticks
from sticktree.processes import RecursiveSticks

sticks = RecursiveSticks(1.0, depth=3).sample(np.random.default_rng(0), truncation=0.01)
plot_sticks(sticks)
