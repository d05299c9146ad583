"""Models for tests."""

import numpy as np

from sticktree.model import Model


def of_depth(depth):
    """Return a model of so many levels, for draws of which nothing else matters."""
    return Model(shape=np.ones(depth))
