"""What is trained on and what is tested on, the same for every method.

Split s of n rows: a tenth of them, the first of a permutation by ``default_rng(s)``, is tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.datasets import Dataset, load
from sticktree.datasets.catalogue import ENTRIES

Rows = npt.NDArray[np.int64]
Preparation = Literal["standardised", "components", "raw"]
SEED_OF_JITTER = 0
N_COMPONENTS = 10
ACTIVITY_DIGIT = 1e-4  # four decimals; only numbers below 0.1 have more, and none more digits
ACTIVITY_OFFSET = 0.01  # some activities are 0
SENSITIVITY_DIGIT = 0.01  # activities were rounded to this before their logarithm was taken


@dataclass(frozen=True)
class Prepared:
    """One way to prepare a data set.

    Attributes
    ----------
    dataset : str
        Its name in :func:`sticktree.datasets.load`.
    preparation : {"standardised", "components", "raw"}
        What is done to each split, by what its training rows say.
    dequantised : bool
        Whether values get uniform jitter of one unit of their last digit, the same for all.
    """

    dataset: str
    preparation: Preparation = "standardised"
    dequantised: bool = False

    @property
    def words(self) -> str:
        """What was done, as a reader needs it."""
        text = {
            "standardised": "standardised",
            "components": f"{N_COMPONENTS} principal components, standardised",
            "raw": "raw",
        }[self.preparation]
        if self.dataset == "ccle_activity":
            text = f"log10(activity + {ACTIVITY_OFFSET:g}), gaps as gaps"
        return text + (", dequantised" if self.dequantised else "")


SETS = {
    "r15": Prepared("r15"),
    "d31": Prepared("d31"),
    "aggregation": Prepared("aggregation"),
    "macaque": Prepared("macaque"),
    "ccle": Prepared("ccle", "raw"),
    "ccle-dequantised": Prepared("ccle", "raw", dequantised=True),
    "ccle-gaps": Prepared("ccle_activity", "raw", dequantised=True),
    "glass": Prepared("glass"),
    "glass-dequantised": Prepared("glass", dequantised=True),
    "iris": Prepared("iris"),
    "wine": Prepared("wine"),
    "breast_cancer": Prepared("breast_cancer"),
    "digits": Prepared("digits", "components"),
}
"""Names of prepared sets. Those of the paper come first."""


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows; missing entries are NaN."""

    train: FloatArray
    test: FloatArray


def prepared(name: str) -> FloatArray:
    """Return the rows of a prepared set as they are before they are split."""
    how = SETS[name]
    return rows_of(load(how.dataset), how)


def title_of(dataset: str) -> str:
    """Return the title of a data set, be its file here or not."""
    titles = {entry.name: entry.title for entry in ENTRIES}
    return titles.get(dataset) or load(dataset).title


def rows_of(dataset: Dataset, how: Prepared) -> FloatArray:
    """Return the rows of a data set, with jitter if it is asked for."""
    data = dataset.data
    if dataset.name == "ccle_activity":
        units = np.full(data.shape[1], ACTIVITY_DIGIT)
        jittered = dequantised(data, units) if how.dequantised else data
        return np.asarray(np.log10(jittered + ACTIVITY_OFFSET))
    if not how.dequantised:
        return data
    if dataset.name == "ccle":  # logarithms: the digits are those of what they were taken of
        units = np.full(data.shape[1], SENSITIVITY_DIGIT)
        return np.asarray(np.log10(dequantised(10.0**data, units)))
    return dequantised(data, last_digits(data))


def make_split(data: FloatArray, preparation: Preparation, split: int) -> Split:
    """Split the rows; whatever is learned to prepare both parts is learned from training rows.

    Standardised is by their mean and population sd.

    Examples
    --------
    >>> data = np.arange(20.0)[:, None]
    >>> split = make_split(data, "raw", 0)
    >>> split.train.shape, split.test.shape
    ((18, 1), (2, 1))
    """
    test_rows, train_rows = split_rows(len(data), split)
    train, test = data[train_rows], data[test_rows]
    if preparation == "components":
        from sklearn.decomposition import PCA

        components = PCA(N_COMPONENTS, svd_solver="full").fit(train)
        train, test = components.transform(train), components.transform(test)
    if preparation != "raw":
        centre, spread = train.mean(axis=0), train.std(axis=0)
        train, test = (train - centre) / spread, (test - centre) / spread
    return Split(train, test)


def split_rows(n_rows: int, split: int) -> tuple[Rows, Rows]:
    """Return the test rows, a tenth, and the training rows."""
    order = np.random.default_rng(split).permutation(n_rows)
    n_test = round(0.1 * n_rows)
    return order[:n_test], order[n_test:]


def dequantised(data: FloatArray, units: FloatArray, seed: int = SEED_OF_JITTER) -> FloatArray:
    """Add uniform jitter, centred, of one unit of each column's last digit.

    Repeated values would otherwise let a model with variances of its own win by a spike.
    """
    jitter = np.random.default_rng(seed).random(data.shape) - 0.5
    return np.asarray(data + units * jitter)


def last_digits(data: FloatArray) -> FloatArray:
    """Return one unit of the last digit of every column."""
    return np.array([last_digit(column) for column in data.T])


def last_digit(values: FloatArray) -> float:
    """Return the power of ten that is one unit of the last digit, by the smallest gap."""
    gaps = np.diff(np.unique(values))
    if gaps.size == 0:
        return 0.0
    # Differences of decimals are a little off; without the margin 0.01 might round to 0.001.
    return float(10.0 ** np.floor(np.log10(gaps.min()) + 1e-6))
