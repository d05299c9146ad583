"""The rows of a fit as people know them: their own units, names, classes and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray

__all__ = ["Classes", "Rows"]


@dataclass(frozen=True, eq=False)
class Classes:
    """Known classes of rows: ``names[code[i]]``, or none where the code is −1."""

    code: npt.NDArray[np.int64]
    names: list[str]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Classes:
        """Give classes numbers, sorted by size or as text; None and NaN are no class."""
        known = [None if _is_missing(value) else value for value in values]
        distinct = {value for value in known if value is not None}
        numeric = all(isinstance(value, int | float | np.number) for value in distinct)
        ordered = sorted(distinct) if numeric else sorted(distinct, key=str)
        names = list(dict.fromkeys(str(value) for value in ordered))
        place = {name: k for k, name in enumerate(names)}
        code = [-1 if value is None else place[str(value)] for value in known]
        return cls(np.array(code, dtype=np.int64), names)


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known of each datum of the tree.

    Attributes
    ----------
    values : float array, shape (N, D)
        In the user's units; categories as their numbers, NaN where missing.
    number : int array, shape (N,)
        Which row of the table each one is, from 0.
    label : int array, shape (N,)
        Flat cluster.
    confidence : float array, shape (N,), or None
        Posterior probability of being with the others of its cluster.
    names : list of str, or None
    classes : Classes or None
    """

    values: FloatArray
    number: npt.NDArray[np.int64]
    label: npt.NDArray[np.int64]
    confidence: FloatArray | None
    names: list[str] | None
    classes: Classes | None

    @classmethod
    def of(cls, estimator: Any, names: Any = None, classes: Any = None) -> Rows:
        """Gather the rows of a fitted estimator."""
        n_data = int(estimator.tree_.n_data)
        n_rows = len(estimator.labels_)
        # Weights may repeat rows, or leave some out of the tree.
        number = np.unique(getattr(estimator, "_rows", np.arange(n_rows)))
        if number.size != n_data:
            raise ValueError(
                f"estimator.tree_ must have a datum for each of the {number.size} rows of the fit, "
                f"got {n_data}"
            )

        def of_rows(name: str, given: Any) -> list[Any] | None:
            if given is None:
                return None
            entries = list(given)
            if len(entries) != n_rows:
                raise ValueError(
                    f"{name} must have an entry for each of the {n_rows} rows, got {len(entries)}"
                )
            return [entries[i] for i in number]

        named = of_rows("names", names)
        if named is None and estimator.tree_.names is not None:
            named = list(estimator.tree_.names)
        classed = of_rows("classes", classes)
        confidence = getattr(estimator, "confidence_", None)
        return cls(
            values=_values(estimator, number),
            number=number.astype(np.int64),
            label=np.asarray(estimator.labels_, dtype=np.int64)[number],
            confidence=None if confidence is None else np.asarray(confidence, dtype=float)[number],
            names=None if named is None else [str(name) for name in named],
            classes=None if classed is None else Classes.of(classed),
        )


def _values(estimator: Any, number: npt.NDArray[np.int64]) -> FloatArray:
    """Return some rows of the fit as they came; categories stay codes."""
    values = np.array(estimator.data_, dtype=np.float64)[number]
    for d, kind in enumerate(estimator.columns_.declared):
        if kind == "lognormal":  # the engine has its logarithm
            with np.errstate(over="ignore"):
                values[:, d] = np.exp(values[:, d])
    return values


def _is_missing(value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")  # pandas' words for none
