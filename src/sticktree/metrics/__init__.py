"""Numbers that say how good a tree is, or how different two trees or two clusterings are.

- :func:`dendrogram_purity`: how well a tree keeps known classes together.
"""

from sticktree.metrics.purity import dendrogram_purity

__all__ = ["dendrogram_purity"]
