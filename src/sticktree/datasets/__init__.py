"""Data sets: those of the paper's experiments, some that come with scikit-learn, some made here.

:func:`load` reads one by its name, :func:`names` lists them. The files of the paper's sets are not
part of this library. They are looked for in a folder of yours, then in the cache, and then
downloaded from where they are published. :func:`load_suite` reads a suite of small sets with
reference labellings from a folder of yours, to compare clusterings by.

>>> from sticktree import datasets
>>> iris = datasets.load("iris")
>>> iris.data.shape, iris.labels[0]
((150, 4), 'setosa')
"""

from sticktree.datasets.dataset import Dataset
from sticktree.datasets.loading import load, names
from sticktree.datasets.places import MissingDataError, cache_folder, data_folder, set_data_folder
from sticktree.datasets.suite import SuiteSet, load_suite, suite_folder, suite_names

__all__ = [
    "Dataset",
    "MissingDataError",
    "SuiteSet",
    "cache_folder",
    "data_folder",
    "load",
    "load_suite",
    "names",
    "set_data_folder",
    "suite_folder",
    "suite_names",
]
