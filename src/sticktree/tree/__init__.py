"""The one tree of the library, and the forms in which other programs read it."""

from sticktree.tree.tree import NULL, Tree

__all__ = ["NULL", "Tree"]
