"""Numbers that say how good a tree is, or how different two trees or two clusterings are.

- :func:`dendrogram_purity`: how well a tree keeps known classes together;
- :func:`variation_of_information`, :func:`binder_loss`: how different two clusterings are;
- :func:`robinson_foulds`, :func:`meeting_distance`: how different two trees are.
"""

from sticktree.metrics.partitions import binder_loss, variation_of_information
from sticktree.metrics.purity import dendrogram_purity
from sticktree.metrics.trees import meeting_distance, robinson_foulds

__all__ = [
    "binder_loss",
    "dendrogram_purity",
    "meeting_distance",
    "robinson_foulds",
    "variation_of_information",
]
