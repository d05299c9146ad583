"""What is trained on and what is tested on, the same for every method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA

from benchmarks.folder import load
from sticktree.checks import FloatArray

Rows = npt.NDArray[np.int64]
Preprocessing = Literal[
    "standardised",
    "standardised, dequantised",
    "10 principal components, standardised",
    "raw",
    "log10(ActArea + 0.01), dequantised",
    "log10(ActArea + 0.01), dequantised, means in gaps",
]
PREPROCESSING: dict[str, Preprocessing] = {
    "r15": "standardised",
    "d31": "standardised",
    "aggregation": "standardised",
    "glass": "standardised, dequantised",
    "ccle": "raw",
    "ccle_missing": "log10(ActArea + 0.01), dequantised",
    "ccle_imputed": "log10(ActArea + 0.01), dequantised, means in gaps",
    "iris": "standardised",
    "wine": "standardised",
    "breast_cancer": "standardised",
    "digits": "10 principal components, standardised",
}
N_COMPONENTS = 10
SEED_OF_JITTER = 0
ACTIVITY_UNIT = 1e-4  # four decimals; only numbers below 0.1 have more, and none more digits
ACTIVITY_OFFSET = 0.01  # some activities are 0


@dataclass(frozen=True, eq=False)
class Split:
    train: FloatArray
    test: FloatArray


def prepared(name: str) -> FloatArray:
    """Return a data set as it is before it is split; missing entries are NaN."""
    data = load(name)
    preprocessing = PREPROCESSING[name]
    if "ActArea" in preprocessing:
        units = np.full(data.shape[1], ACTIVITY_UNIT)
        return np.asarray(np.log10(dequantised(data, units) + ACTIVITY_OFFSET))
    return dequantised(data, last_digits(data)) if "dequantised" in preprocessing else data


def make_split(data: FloatArray, preprocessing: Preprocessing, split: int) -> Split:
    """Split the rows; whatever is learned to prepare both parts is learned from training rows.

    Standardised is by their mean and population sd.
    """
    test_rows, train_rows = split_rows(len(data), split)
    train, test = data[train_rows], data[test_rows]
    if "principal components" in preprocessing:
        components = PCA(N_COMPONENTS, svd_solver="full").fit(train)
        train, test = components.transform(train), components.transform(test)
    if "standardised" in preprocessing:
        centre, spread = train.mean(axis=0), train.std(axis=0)
        train, test = (train - centre) / spread, (test - centre) / spread
    if "means in gaps" in preprocessing:
        means = np.nanmean(train, axis=0)
        train, test = filled(train, means), filled(test, means)
    return Split(train, test)


def filled(data: FloatArray, values: FloatArray) -> FloatArray:
    """Return data with a value for each column in place of NaN."""
    return np.where(np.isnan(data), values, data)


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
    return np.array([last_digit(column) for column in data.T])


def last_digit(values: FloatArray) -> float:
    """Return the power of ten that is one unit of the last digit, by the smallest gap."""
    gaps = np.diff(np.unique(values))
    if gaps.size == 0:
        return 0.0
    # Differences of decimals are a little off; without the margin 0.01 might round to 0.001.
    return float(10.0 ** np.floor(np.log10(gaps.min()) + 1e-6))
