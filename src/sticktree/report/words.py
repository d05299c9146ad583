"""What a fit found, in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np

from sticktree.report.features import Features
from sticktree.report.rows import Rows

__all__ = ["summary"]

COVARIANCES = {"full": "full", "diag": "diagonal", "spherical": "spherical"}
NOISES = {"shared": "shared by all leaves", "own": "own to each leaf"}


def summary(estimator: Any, rows: Rows, features: Features) -> str:
    """Return a paragraph that says what was fitted and what came out."""
    n_rows, n_clusters = len(rows.values), len(np.unique(rows.label))
    gaps = int(np.isnan(rows.values).sum())
    level = getattr(estimator, "level_", None)
    where = "" if level is None else f" at level {level}"
    first = _many(n_rows, "row") + " with " + _many(len(features.names), "column")
    if gaps:
        first += f" ({_many(gaps, 'entry', 'entries')} missing)"
    n_words = "one cluster" if n_clusters == 1 else f"{n_clusters:,} clusters"
    text = f"{first} {'falls' if n_rows == 1 else 'fall'} into {n_words}{where} of the tree."
    if rows.confidence is not None:
        sure = float(rows.confidence.mean())
        text += f" On average a row is with the others of its cluster with probability {sure:.2f}."
    stream = getattr(estimator, "stream_", None)
    batches = "" if stream is None else f"Rows came in {stream.words()}"
    return " ".join(part for part in (text, _model(estimator), batches) if part)


def _model(estimator: Any) -> str:
    covariance = getattr(estimator, "covariance_type_", None)
    if covariance is None:
        return ""
    noise = NOISES.get(estimator.leaf_noise_, estimator.leaf_noise_)
    text = (
        f"The model has depth {estimator.depth_} and {COVARIANCES.get(covariance, covariance)} "
        f"covariances of noise, {noise}"
    )
    selection = getattr(estimator, "selection_", None)
    if selection is None:
        return text + ", as it was told."
    return text + f": the best of {len(selection.table)} by leave-one-out density."


def _many(count: int, one: str, more: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else more or one + 's'}"
