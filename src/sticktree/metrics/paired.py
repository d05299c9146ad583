"""Paired differences: splits vary more from one to the next than good methods do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Difference:
    """A mean difference over splits with its 95 % t-interval.

    Attributes
    ----------
    mean : float
        The mean difference.
    half_width : float
        Half the width of the interval; infinite with a single split.
    n_splits : int
        Number of splits.
    """

    mean: float
    half_width: float
    n_splits: int

    @property
    def verdict(self) -> str:
        """Return "ahead" or "behind" if the interval excludes 0, else "level"."""
        if abs(self.mean) <= self.half_width:
            return "level"
        return "ahead" if self.mean > 0 else "behind"

    def __str__(self) -> str:
        """Return mean ± half width, in three decimals."""
        return f"{signed(self.mean)} ± {self.half_width:.3f}"


def paired_difference(ours: Mapping[int, float], other: Mapping[int, float]) -> Difference:
    """Return ours − other over the splits that both have.

    Parameters
    ----------
    ours, other : dict
        The figure of each split, by the number of the split.

    Examples
    --------
    >>> from sticktree.metrics import paired_difference
    >>> difference = paired_difference({0: -1.0, 1: -1.2, 2: -0.9}, {0: -1.1, 1: -1.3, 2: -1.1})
    >>> print(difference, difference.verdict)
    +0.133 ± 0.143 level
    """
    common = sorted(ours.keys() & other.keys())
    if not common:
        raise ValueError("ours and other must have a split in common, got none")
    differences = np.array([ours[split] - other[split] for split in common])
    n = differences.size
    half_width = float("inf")
    if n > 1:
        from scipy.special import stdtrit

        error = differences.std(ddof=1) / np.sqrt(n)
        half_width = float(stdtrit(n - 1, 0.975) * error)
    return Difference(float(differences.mean()), half_width, n)


def signed(value: float) -> str:
    """Return a number with its sign, in three decimals.

    Examples
    --------
    >>> signed(-0.25)
    '−0.250'
    """
    return f"{value:+.3f}".replace("-", "−")
