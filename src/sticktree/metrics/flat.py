"""How near a flat clustering comes to known classes, in the usual three numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sticktree.metrics.classes import class_codes
from sticktree.metrics.partitions import variation_of_information
from sticktree.tree import NULL

__all__ = ["FlatScores", "flat_scores"]


class FlatScores(NamedTuple):
    """How near two clusterings are.

    Attributes
    ----------
    ari : float
        Adjusted Rand index: 1 if they are the same, about 0 if they have nothing in common.
    nmi : float
        Normalised mutual information, by the mean of the entropies: from 0 to 1, the same.
    vi : float
        Variation of information in nats: 0 if they are the same.
    """

    ari: float
    nmi: float
    vi: float


def flat_scores(labels_true: Iterable[Any], labels_pred: Iterable[Any]) -> FlatScores:
    """Return adjusted Rand index, normalised mutual information and variation of information.

    Parameters
    ----------
    labels_true, labels_pred : sequences of labels of the same data
        Labels are of any kind, and what they are called does not matter. Data whose label is
        missing (None or NaN) in one of them are left out.

    Examples
    --------
    >>> from sticktree.metrics import flat_scores
    >>> flat_scores(["a", "a", "b", "b"], [1, 1, 0, 0])
    FlatScores(ari=1.0, nmi=1.0, vi=0.0)
    """
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    true = class_codes("labels_true", labels_true)
    found = class_codes("labels_pred", labels_pred, true.size)
    known = (true != NULL) & (found != NULL)
    if not known.any():
        raise ValueError(
            "labels_true and labels_pred must have at least one datum that both label, got none"
        )
    true, found = true[known], found[known]
    return FlatScores(
        float(adjusted_rand_score(true, found)),
        float(normalized_mutual_info_score(true, found)),
        variation_of_information(true, found),
    )
