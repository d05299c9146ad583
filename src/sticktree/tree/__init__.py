"""The one tree of the library, and the forms in which other programs read it."""

from sticktree.tree.arrays import NULL
from sticktree.tree.tree import Tree

__all__ = ["NULL", "Tree"]
