"""Do groups matter? How much better rows are predicted by the shares of their own group.

At every draw, each row has a density given all others twice: with the shares of its group, and with
those of all rows together, as if there were no groups. Weights of draws that turn the first into
what a fit without the row would predict (`loo`) serve both, so there is no second fit, and what is
compared is the same tree. If groups mean nothing, the gain is about 0, and rather below: shares of
a few rows are less certain than those of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sticktree.blas import one_thread
from sticktree.checks import FloatArray, IntArray
from sticktree.posterior.loo import BAD_K_HAT, importance, standard_error
from sticktree.posterior.predictive import PosteriorPredictive

SURE = 2.0  # standard errors from 0
LEAST = 3.0  # nats in all, below which a gain is none: a ratio of 20


@dataclass(frozen=True, eq=False)
class GroupGain:
    """By how much the group of a row helps to predict it: leave-one-out, in nats.

    Attributes
    ----------
    groups : tuple
        Names of the groups.
    of_data : int array, shape (N,)
        The group of each datum; numbers beyond the names are of rows without a group.
    pointwise : float array, shape (N,)
        log p(y_i | all other rows and the group of i) − log p(y_i | all other rows).
    k_hat : float array, shape (N,)
        Above 0.7 the densities of the row are not to be trusted; see
        :class:`~sticktree.posterior.loo.LeaveOneOut`.
    """

    groups: tuple[Any, ...]
    of_data: IntArray
    pointwise: FloatArray
    k_hat: FloatArray

    @property
    def total(self) -> float:
        """The gain of all rows together."""
        return float(self.pointwise.sum())

    @property
    def se(self) -> float:
        """Its standard error, by how much rows differ."""
        return standard_error(self.pointwise)

    @property
    def n_bad_k(self) -> int | None:
        """Number of rows whose densities are not to be trusted; None if that cannot be told."""
        if np.isnan(self.k_hat).any():
            return None
        return int((self.k_hat > BAD_K_HAT).sum())

    @property
    def matter(self) -> bool | None:
        """Whether groups matter; None if rows do not tell.

        They do if the gain is above 3 nats and two standard errors. At most 3 nats are none.
        """
        if self.total > max(LEAST, SURE * self.se):
            return True
        return False if self.total <= LEAST else None

    @property
    def table(self) -> list[dict[str, Any]]:
        """A line for each group: its rows and their gain, the largest gain per row first."""
        lines = []
        for j, group in enumerate(self.groups):
            own = self.pointwise[self.of_data == j]
            gain, se = float(own.sum()), standard_error(own)
            lines.append({"group": group, "rows": own.size, "gain": gain, "se": se})
        return sorted(lines, key=lambda line: -line["gain"] / max(line["rows"], 1))

    def result(self) -> dict[str, Any]:
        """Return the facts as plain objects, for JSON."""
        return {
            "matter": self.matter,
            "gain": self.total,
            "se": self.se if math.isfinite(self.se) else None,
            "rows": self.pointwise.size,
            "rows_unreliable": self.n_bad_k,
        }

    def __repr__(self) -> str:
        """Return the answer and its figure."""
        said = {True: "groups matter", False: "groups do not matter", None: "rows do not tell"}
        return f"GroupGain({said[self.matter]}: {self.total:.1f} ± {self.se:.1f} nats)"

    def __str__(self) -> str:
        """Return the answer in a sentence, and what it rests on."""
        said = {
            True: "yes: rows are predicted better by the shares of their own group",
            False: "no: the shares of their own group predict rows no better than those of all",
            None: "rows do not tell",
        }[self.matter]
        n_rows = self.pointwise.size
        lines = [
            f"do groups matter? {said}",
            f"  leave-one-out gain of {n_rows:,} rows  {self.total:.1f} ± {self.se:.1f} nats, "
            f"{self.total / n_rows:.3f} per row",
        ]
        if self.matter and len(self.groups) > 2:
            first = [line for line in self.table[:3] if line["gain"] > SURE * line["se"]]
            named = ", ".join(f"{x['group']} ({x['gain'] / x['rows']:.2f} per row)" for x in first)
            if named:
                lines.append(f"  most unlike the others: {named}")
        if self.n_bad_k:
            rows = "one row" if self.n_bad_k == 1 else f"{self.n_bad_k:,} rows"
            lines.append(f"  for {rows} the figures are unreliable (k-hat above {BAD_K_HAT})")
        return "\n".join(lines)


def group_gain(
    predictive: PosteriorPredictive, names: Sequence[Any], of_data: IntArray
) -> GroupGain:
    """Compare densities by the shares of groups with those by the shares of all.

    ``predictive`` is of a model with groups. Its draws know the tree, so that the same ones are
    read as draws of the model without groups: a row goes to a child of a node by how many of all
    rows are there.
    """
    by_group = _without(predictive)
    by_all = _without(replace(predictive, model=replace(predictive.model, groups=None)))
    sound = (np.isfinite(by_group) & np.isfinite(by_all)).all(axis=1)
    by_group, by_all = by_group[sound], by_all[sound]
    weights, k_hat = importance(np.ascontiguousarray(by_group.T))
    gain = logsumexp(weights + by_group.T, axis=1) - logsumexp(weights + by_all.T, axis=1)
    return GroupGain(tuple(names), of_data, gain, k_hat)


def _without(predictive: PosteriorPredictive) -> FloatArray:
    """Return log p(y_i | all other rows) at every draw, shape (draws, N)."""
    with one_thread(), np.errstate(all="ignore"):
        return np.array([each.leave_one_out() for each in predictive.each()])
