"""Measures of how good a tree is, or how different two trees or two clusterings are.

- :func:`dendrogram_purity`: how well a tree keeps known classes together;
- :func:`variation_of_information`, :func:`binder_loss`: how different two clusterings are;
- :func:`flat_scores`: how near a clustering comes to known classes;
- :func:`paired_difference`: how far one method is ahead of another, over the same splits;
- :func:`robinson_foulds`, :func:`meeting_distance`: how different two trees are.
"""

from sticktree.metrics.paired import Difference, paired_difference, signed
from sticktree.metrics.partitions import (
    FlatScores,
    binder_loss,
    flat_scores,
    variation_of_information,
)
from sticktree.metrics.trees import dendrogram_purity, meeting_distance, robinson_foulds

__all__ = [
    "Difference",
    "FlatScores",
    "binder_loss",
    "dendrogram_purity",
    "flat_scores",
    "meeting_distance",
    "paired_difference",
    "robinson_foulds",
    "signed",
    "variation_of_information",
]
