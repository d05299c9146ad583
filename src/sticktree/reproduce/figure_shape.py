"""How parsimonious trees are: branchings and their widths, of one tree and over draws."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import NamedTuple

import numpy as np

from sticktree.engine.draw import Draw
from sticktree.tree import Tree

__all__ = ["Parsimony", "Shape", "Spread", "typical_draw"]


class Spread(NamedTuple):
    """Mean and standard deviation over draws."""

    mean: float
    sd: float

    def __str__(self) -> str:
        """Return both with one decimal."""
        return f"{self.mean:.1f} ± {self.sd:.1f}"


@dataclass(frozen=True)
class Shape:
    """How a tree branches.

    Nodes that no datum passes and only children do not count, so trees of few and of many levels
    can be compared. Data that sit in an inner node are one more child of it; those that share a
    leaf are not told apart.

    Attributes
    ----------
    n_internal : int
        Number of nodes that branch.
    mean_children : float
        Mean number of their children; 0 if none branches.
    widest : int
        The greatest number of children.
    n_leaves : int
        Number of nodes without children.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.reproduce.figure_shape import Shape
    >>> Shape.of(Tree.from_paths([(1, 1, 1), (1, 1, 2), (1, 1, 3), (2, 1, 1)]))
    Shape(n_internal=2, mean_children=2.5, widest=3, n_leaves=4)
    """

    n_internal: int
    mean_children: float
    widest: int
    n_leaves: int

    @classmethod
    def of(cls, tree: Tree) -> Shape:
        """Count the branchings of a tree."""
        tree = tree.pruned()
        inner = tree.n_children > 0
        children = tree.n_children[inner] + (tree.own_count[inner] > 0)
        width = children[children > 1]
        return cls(
            n_internal=width.size,
            mean_children=float(width.mean()) if width.size else 0.0,
            widest=int(width.max(initial=0)),
            n_leaves=int(np.count_nonzero(~inner)),
        )


@dataclass(frozen=True)
class Parsimony:
    """How the trees of all draws branch, each number as in :class:`Shape`, and the one shown.

    Attributes
    ----------
    n_draws : int
        Number of draws.
    n_internal, mean_children, widest, n_leaves : Spread
        Mean and standard deviation over draws.
    shown : Shape
        Of the typical draw.
    """

    n_draws: int
    n_internal: Spread
    mean_children: Spread
    widest: Spread
    n_leaves: Spread
    shown: Shape

    @classmethod
    def of(cls, draws: Sequence[Draw]) -> Parsimony:
        """Count the branchings of every draw."""
        table = np.array([astuple(Shape.of(draw.tree)) for draw in draws], dtype=float)
        spreads = [Spread(float(column.mean()), float(column.std())) for column in table.T]
        names = [field.name for field in fields(Shape)]
        return cls(
            n_draws=len(draws),
            shown=Shape.of(typical_draw(draws).tree),
            **dict(zip(names, spreads, strict=True)),
        )


def typical_draw(draws: Sequence[Draw]) -> Draw:
    """Return a draw to stand for all: of those with the median number of branchings the likeliest.

    Of an even number of draws it is the lower median. The likeliest has the largest log joint.
    """
    n_internal = [Shape.of(draw.tree).n_internal for draw in draws]
    median = statistics.median_low(n_internal)
    among = [draw for draw, n in zip(draws, n_internal, strict=True) if n == median]
    return max(among, key=lambda draw: draw.log_joint)
