"""Several models as one density: a mixture of their predictive densities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.data.preparation import Preparation
from sticktree.inference.blas import one_thread
from sticktree.inference.selection import Selection
from sticktree.posterior.prediction import log_predictive

__all__ = ["Stack"]


@dataclass(frozen=True, eq=False)
class Stack:
    """The models of a selection, weighted to maximise the leave-one-out density of the mixture.

    Attributes
    ----------
    weights : dict of float
        The weight of every model that has one.
    """

    weights: dict[str, float]
    selection: Selection
    preparation: Preparation
    data: FloatArray

    def __repr__(self) -> str:
        """Return the models and their weights."""
        parts = (f"{weight:.2f} × {name}" for name, weight in self.weights.items())
        return f"Stack({' + '.join(parts)})"

    def score_samples(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the log density of every row, in the user's units."""
        x = self.preparation.standardised(self.preparation.columns.encode(X))
        total = np.full(len(x), -np.inf)
        with one_thread():
            for name, weight in self.weights.items():
                draws, model = self.selection.draws[name], self.selection.models[name]
                log_density = log_predictive(x, draws, self.data, model)
                total = np.logaddexp(total, np.log(weight) + log_density)
        return np.asarray(total + self.preparation.log_units(x))

    def score(self, X: npt.ArrayLike, y: object = None) -> float:  # noqa: N803
        """Return the mean log density of the rows."""
        return float(self.score_samples(X).mean())
