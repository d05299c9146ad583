"""What fits to rows outside memory have in common, wherever these are: checks, and preparation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from sticktree.data import read_table
from sticktree.data.preparation import Preparation

if TYPE_CHECKING:
    from sticktree.engine.bulk.measure import Scale

__all__ = ["check_asked", "prepared_outside"]


def check_asked(
    estimator: Any, sample_weight: Any, algorithm: str, rows: str, instead: str
) -> None:
    """Say what cannot be done with rows outside memory.

    ``rows`` is what they are called, and ``instead`` what the other sampler takes.
    """
    if algorithm == "gibbs":
        raise ValueError(
            f'algorithm must be "parallel" or "auto" for {rows}, got "gibbs"; it takes {instead}'
        )
    if sample_weight is not None:
        raise ValueError(
            f"sample_weight must be None for {rows}, got {type(sample_weight).__name__}"
        )
    columns = estimator.columns
    kinds = set(columns.values() if isinstance(columns, dict) else columns or ())
    if kinds - {"gaussian"}:
        raise ValueError(
            f"columns must all be gaussian for {rows}, got "
            f"{', '.join(sorted(map(repr, kinds - {'gaussian'})))}"
        )


def prepared_outside(
    estimator: Any,
    n_columns: int,
    names: Sequence[Any] | None,
    known: Preparation | None,
    measure: Callable[[], Scale],
) -> Preparation:
    """Return how rows of gaussian columns are prepared, and take note of the columns.

    ``known`` is how the last fit did, if this one goes on; only else are the rows measured.
    """
    alike: Any = np.zeros((1, n_columns))
    if names is not None:
        from sticktree.data.sources.files import load_pandas

        alike = load_pandas().DataFrame(alike, columns=list(names))
    validate_data(estimator, alike, reset=known is None, skip_check_array=True)
    if known is not None:
        return known
    scale = measure()
    centre, spread = scale.centre, scale.spread
    if not estimator.standardize:
        centre, spread = np.zeros_like(centre), np.ones_like(spread)
    return Preparation(read_table(alike, ["gaussian"] * n_columns).columns, centre, spread)
