"""The rows of a fit as people know them: their own units, names, classes and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray

__all__ = ["MOST_ROWS", "Classes", "Rows"]

MOST_ROWS = 20_000
"""Rows that the page has, one by one: about as many as a screen can show ten times over."""

FEW = 20  # rows of a cluster that are there at least, if the cluster has them and there is room


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
        fit = getattr(estimator, "fit_", None)  # only mixtures have rows of weight zero
        number = np.arange(n_rows) if fit is None else fit.training.fitted_rows
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

    def some(self, which: npt.NDArray[np.int64]) -> Rows:
        """Return some of the rows."""
        return Rows(
            values=self.values[which],
            number=self.number[which],
            label=self.label[which],
            confidence=None if self.confidence is None else self.confidence[which],
            names=None if self.names is None else [self.names[i] for i in which.tolist()],
            classes=None
            if self.classes is None
            else replace(self.classes, code=self.classes.code[which]),
        )

    def members(self) -> dict[int, npt.NDArray[np.int64]]:
        """Return the rows of each cluster."""
        order = np.argsort(self.label, kind="stable")
        found, first = np.unique(self.label[order], return_index=True)
        return dict(zip(found.tolist(), np.split(order, first[1:]), strict=True))

    def sample(self, most: int = MOST_ROWS) -> npt.NDArray[np.int64]:
        """Return all rows, or so many of them: some of every cluster, the rest at random.

        It is always the same sample.
        """
        n_rows = self.label.size
        if n_rows <= most:
            return np.arange(n_rows)
        rng = np.random.default_rng(0)
        clusters = self.members()
        each = min(FEW, most // (2 * len(clusters)))
        chosen = np.zeros(n_rows, dtype=bool)
        for rows in clusters.values():
            chosen[rng.permutation(rows)[:each]] = True
        others = np.flatnonzero(~chosen)
        chosen[rng.choice(others, most - int(chosen.sum()), replace=False)] = True
        return np.flatnonzero(chosen)


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
