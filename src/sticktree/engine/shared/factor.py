"""The factor A of the shared covariance Σ = A Aᵀ, in the least form that has it.

It is a vector, the diagonal, where Σ is spherical or diagonal, and a matrix where it is full: a
table of many columns has no use for a matrix that is zero almost everywhere.
"""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray


def whitened(rows: FloatArray, factor: FloatArray) -> FloatArray:
    """Return rows in the coordinates in which Σ is I: A⁻¹ y for each."""
    if factor.ndim == 1:
        return np.asarray(rows / factor)
    return np.asarray(rows @ np.linalg.inv(factor).T)


def coloured(white: FloatArray, factor: FloatArray) -> FloatArray:
    """Return rows in standardised units: A x for each."""
    return np.asarray(white * factor if factor.ndim == 1 else white @ factor.T)


def inverse_of(factor: FloatArray) -> FloatArray:
    """Return A⁻¹, (D, D), or its diagonal as one row, (1, D)."""
    if factor.ndim == 1:
        return np.asarray(1.0 / factor[None, :])
    return np.asarray(np.linalg.inv(factor), dtype=np.float64)


def log_volume(factor: FloatArray) -> float:
    """Return log |A|."""
    if factor.ndim == 1:
        return float(np.log(np.abs(factor)).sum())
    return float(np.linalg.slogdet(factor)[1])


def times(factor: FloatArray, step: FloatArray) -> FloatArray:
    """Return A B, for a factor B of the same form; of a single column it may be a vector."""
    return np.asarray(factor * step if step.ndim == 1 else factor @ step)


def least_form(factor: FloatArray, form: str, dimension: int) -> FloatArray:
    """Return A in its least form, whichever of a number, its diagonal or a matrix it comes as."""
    if form == "full":
        if factor.ndim < 2:  # of a table with a single column
            return np.diag(np.broadcast_to(factor, dimension)).copy()
        return np.array(factor, dtype=np.float64)
    diagonal = np.diag(factor) if factor.ndim == 2 else np.broadcast_to(factor, dimension)
    return np.array(diagonal, dtype=np.float64)
