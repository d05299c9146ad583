"""Rows of a fit, for tests of what takes them."""

from sticktree.data import read_table
from sticktree.data.scaling import Scaling
from sticktree.data.training import TrainingData


def training_of(data, parallel=False):
    """Return rows that are standardised already."""
    scaling = Scaling.of(data, read_table(data).columns, standardize=False)
    return TrainingData.of_data(scaling, data, parallel=parallel)
