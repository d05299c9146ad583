"""What pictures of one tree share: the tree, and what is known of its data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from sticktree.plotting.display import check_tree, labels_of, tree_of
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["TreeDisplay"]


class TreeDisplay:
    """A picture of a tree.

    Parameters
    ----------
    tree : Tree
        What to draw.
    classes, labels : sequence, optional
        A class and a flat cluster for each datum.
    names : bool or sequence of str, default=True
        Names of the data.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of these.
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        tree: Tree,
        *,
        classes: Any = None,
        labels: Any = None,
        names: bool | Sequence[str] = True,
    ) -> None:
        self.tree = check_tree(tree)
        self.classes = classes
        self.labels = labels
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        classes: Any = None,
        labels: Any = None,
        names: bool | Sequence[str] = True,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the tree of a fitted mixture, coloured by its clusters, or by its main branches.

        Further arguments are those of :meth:`plot`.
        """
        tree = tree_of(estimator)
        labels = labels_of(estimator) if labels is None else labels
        return cls(tree, classes=classes, labels=labels, names=names).plot(ax=ax, **kwargs)

    def plot(self, *args: Any, **kwargs: Any) -> Self:
        """Draw; each picture has arguments of its own."""
        raise NotImplementedError
