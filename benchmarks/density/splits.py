"""What is trained on and what is tested on, the same for every method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from benchmarks.folder import load
from sticktree.checks import FloatArray

Rows = npt.NDArray[np.int64]
Preprocessing = Literal["standardised", "standardised, dequantised", "raw"]
PREPROCESSING: dict[str, Preprocessing] = {
    "r15": "standardised",
    "d31": "standardised",
    "aggregation": "standardised",
    "glass": "standardised, dequantised",
    "ccle": "raw",
}
SEED_OF_JITTER = 0


@dataclass(frozen=True, eq=False)
class Split:
    train: FloatArray
    test: FloatArray


def prepared(name: str) -> FloatArray:
    """Return a data set as it is before it is split."""
    data = load(name)
    return dequantised(data) if "dequantised" in PREPROCESSING[name] else data


def make_split(data: FloatArray, preprocessing: Preprocessing, split: int) -> Split:
    """Split the rows; standardise both parts by the training rows' mean and population sd."""
    test_rows, train_rows = split_rows(len(data), split)
    train, test = data[train_rows], data[test_rows]
    if preprocessing != "raw":
        centre, spread = train.mean(axis=0), train.std(axis=0)
        train, test = (train - centre) / spread, (test - centre) / spread
    return Split(train, test)


def split_rows(n_rows: int, split: int) -> tuple[Rows, Rows]:
    """Return the test rows, a tenth, and the training rows."""
    order = np.random.default_rng(split).permutation(n_rows)
    n_test = round(0.1 * n_rows)
    return order[:n_test], order[n_test:]


def dequantised(data: FloatArray, seed: int = SEED_OF_JITTER) -> FloatArray:
    """Add uniform jitter, centred, of one unit of each column's last digit.

    Repeated values would otherwise let a model with variances of its own win by a spike.
    """
    units = np.array([last_digit(column) for column in data.T])
    jitter = np.random.default_rng(seed).random(data.shape) - 0.5
    return np.asarray(data + units * jitter)


def last_digit(values: FloatArray) -> float:
    """Return the power of ten that is one unit of the last digit, by the smallest gap."""
    gaps = np.diff(np.unique(values))
    if gaps.size == 0:
        return 0.0
    # Differences of decimals are a little off; without the margin 0.01 might round to 0.001.
    return float(10.0 ** np.floor(np.log10(gaps.min()) + 1e-6))
