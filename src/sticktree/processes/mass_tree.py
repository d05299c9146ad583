"""A tree whose nodes are pieces of the unit stick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.errors import ParameterError
from sticktree.processes.dislocation import Dislocation, Masses
from sticktree.tree import NULL, Tree

ALL = np.empty(0, dtype=np.int32)  # stands for: all children are sticks


@dataclass(frozen=True, eq=False)
class MassTree:
    """A stick broken recursively: a tree with the mass of every node.

    The mass of a node is what stays in it for good (``own``), what its children took, and what
    has not been broken off yet (``unbroken``); the masses of the root add up to 1.

    Attributes
    ----------
    tree : Tree
        The pieces; the k-th child of ω is its k-th stick.
    mass, own, unbroken : read-only float arrays, shape (M,)
        As above. In the Dirichlet fragmentation process only nodes of the last level own mass.
    n_sticks : read-only int array, shape (M,)
        How many children of each node are its first sticks, in order; by default all of them. The
        others are pieces that data chose from what was left, in the order of their appearance.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes import RecursiveSticks
    >>> sticks = RecursiveSticks(1.0, depth=2).sample(np.random.default_rng(0), truncation=0.01)
    >>> round(float(sticks.own.sum() + sticks.unbroken.sum()), 12)
    1.0
    """

    tree: Tree
    mass: FloatArray
    own: FloatArray
    unbroken: FloatArray
    n_sticks: IntArray = field(default_factory=lambda: ALL)

    def __post_init__(self) -> None:
        """Check the sizes and freeze the arrays."""
        if self.n_sticks is ALL:
            object.__setattr__(self, "n_sticks", self.tree.n_children)
        for name in ("mass", "own", "unbroken", "n_sticks"):
            array = getattr(self, name)
            if array.shape != (self.tree.n_nodes,):
                raise ParameterError(
                    name,
                    array.shape,
                    f"one entry per node ({self.tree.n_nodes})",
                    verb="have",
                    shown=f"shape {array.shape}",
                )
            array.setflags(write=False)
        wrong = np.flatnonzero((self.n_sticks < 0) | (self.n_sticks > self.tree.n_children))
        if wrong.size:
            w = int(wrong[0])
            raise ValueError(
                f"n_sticks[{w}] = {self.n_sticks[w]} must lie between 0 and the number of children "
                f"of node {w}, {self.tree.n_children[w]}"
            )

    def masses(self, level: int) -> Masses:
        """Return the block masses of one level, decreasing, with the remainder above it."""
        above = self.tree.level < level
        remainder = self.own[above].sum() + self.unbroken[above].sum()
        return Masses(self.mass[self.tree.level == level], float(remainder))

    @property
    def remainder(self) -> float:
        """Mass that has not been broken off anywhere."""
        return float(self.unbroken.sum())


def break_recursively(
    laws: Sequence[Dislocation], rng: np.random.Generator, truncation: float
) -> MassTree:
    """Break the unit stick by ``laws[0]``, every piece by ``laws[1]``, and so on.

    Pieces lighter than ``truncation`` stay unbroken. So the work is bounded however many levels
    there are, and every piece of at least that mass is there, with its exact law.
    """
    parent = [np.array([NULL], dtype=np.int32)]
    mass = [np.ones(1)]
    unbroken = []
    first = 0  # id of the first node of the current level
    for law in laws:
        here = mass[-1]
        heavy = np.flatnonzero(here >= truncation)
        pieces = law.break_sticks(here[heavy], rng, truncation)
        left = here.copy()
        left[heavy] = pieces.unbroken
        unbroken.append(left)
        parent.append((first + heavy[pieces.stick]).astype(np.int32))
        mass.append(pieces.mass)
        first += here.size
    unbroken.append(np.zeros(mass[-1].size))
    level = np.repeat(np.arange(len(mass), dtype=np.int32), [m.size for m in mass])
    own = np.where(level == len(laws), np.concatenate(mass), 0.0)
    empty = np.empty(0, dtype=np.int32)
    tree = Tree.from_trusted(np.concatenate(parent), empty, level, np.zeros_like(level))
    return MassTree(tree, np.concatenate(mass), own, np.concatenate(unbroken))


def masses_from_fractions(
    tree: Tree, n_sticks: IntArray, fraction: FloatArray, own: FloatArray, unbroken: FloatArray
) -> MassTree:
    """Multiply down the tree: each node's share of its parent, and of itself its own and unbroken.

    ``own`` and ``unbroken`` are fractions of their node.
    """
    mass = fraction.copy()
    mass[0] = 1.0
    for nodes in tree.nodes_by_level[1:]:
        mass[nodes] *= mass[tree.parent[nodes]]
    return MassTree(tree, mass, own * mass, unbroken * mass, n_sticks)
