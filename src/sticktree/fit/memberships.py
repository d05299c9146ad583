"""The probability of new rows to be in clusters, by the branches of draws that they join."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.posterior.predictive import PosteriorPredictive
from sticktree.posterior.walk import Part
from sticktree.tree import NULL

MEMBERSHIP_DRAWS = 400
"""Draws, spread evenly, that memberships are means of: a probability is then known to about .02."""

Stepped = list[tuple[PosteriorPredictive, Part]]
"""The draws of one or more models that the walk steps in, and where new rows are in them."""


def shared_out(
    x: FloatArray, labels: IntArray, stepped: Stepped, groups: IntArray | None = None
) -> FloatArray:
    """Return memberships of new rows in clusters, by the branches of draws that they join."""
    total = sum(part.weight for _, part in stepped)
    memberships = np.zeros((len(x), int(labels.max(initial=0)) + 1))
    for predictive, part in stepped:
        found = level_memberships(predictive, x, dict.fromkeys(part.shares, labels), groups)
        for share, at_level in zip(part.shares.values(), found, strict=True):
            memberships += part.weight / total * share * at_level
    return memberships


def level_memberships(
    predictive: PosteriorPredictive,
    x: FloatArray,
    clusters: Mapping[int, IntArray],
    groups: IntArray | None,
) -> list[FloatArray]:
    """Return memberships as means over some draws; rows of each group by its own shares."""
    used = predictive.labelled.thinned(MEMBERSHIP_DRAWS)
    if groups is None:
        return used.memberships(x, clusters)
    out = [np.empty((len(x), int(labels.max()) + 1)) for labels in clusters.values()]
    for group in np.unique(groups).tolist():
        rows = groups == group
        known = None if group == NULL else group
        found = used.of_group(known).memberships(x[rows], clusters)
        for whole, part in zip(out, found, strict=True):
            whole[rows] = part
    return out
