"""Paired differences, for splits vary more from one to the next than good methods do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Difference:
    """A mean difference over splits with its 95 % t-interval; infinite with a single split."""

    mean: float
    half_width: float
    n_splits: int

    @property
    def verdict(self) -> str:
        if abs(self.mean) <= self.half_width:
            return "level"
        return "ahead" if self.mean > 0 else "behind"

    def __str__(self) -> str:
        return f"{signed(self.mean)} ± {self.half_width:.3f}"


def paired_difference(ours: dict[int, float], other: dict[int, float]) -> Difference:
    """Return ours − other over the splits that both have."""
    common = sorted(ours.keys() & other.keys())
    if not common:
        raise ValueError("the two have no split in common")
    differences = np.array([ours[split] - other[split] for split in common])
    n = differences.size
    half_width = float("inf")
    if n > 1:
        error = differences.std(ddof=1) / np.sqrt(n)
        half_width = float(stats.t.ppf(0.975, n - 1) * error)
    return Difference(float(differences.mean()), half_width, n)


def signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
