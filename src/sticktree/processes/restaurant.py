"""The nested Chinese restaurant: the law of the tree with its sticks integrated out."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from sticktree.checks import FloatArray, check_generator, check_integer
from sticktree.processes.divergence import NestedLaw
from sticktree.processes.laws import EMPTY, NextDatum, check_levels
from sticktree.tree import Tree


class NestedRestaurant(NestedLaw):
    """The nested Chinese restaurant process over trees of a fixed depth.

    At a node of level l with n data, the next datum goes to child k with probability
    (n_k − d)/(n + α(l)) and opens a new one with probability (α(l) + d·K)/(n + α(l)).

    Parameters
    ----------
    concentration : float, array, callable or Divergence
        α(l) > −d for every level; see :func:`~sticktree.processes.resolve_concentration`.
    depth : int, optional
        How often data choose a branch; not needed where ``concentration`` is an array. If the last
        concentration is infinite, that choice is a private step and the tree has one level less.
    discount : float, default=0
        The Pitman–Yor discount d in [0, 1); 0 is the paper's process.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes import LogDivergence, NestedRestaurant
    >>> restaurant = NestedRestaurant(LogDivergence(), depth=4)
    >>> tree = restaurant.sample(20, np.random.default_rng(1))
    >>> larger = restaurant.sample(10, np.random.default_rng(2), tree=tree)
    >>> larger.n_data, bool((larger.leaf[:20] == tree.leaf).all())
    (30, True)
    """

    def sample(self, n: int, rng: np.random.Generator, tree: Tree | None = None) -> Tree:
        """Seat ``n`` data one after another, in an empty restaurant or after those of ``tree``.

        Nodes and data of ``tree`` keep their numbers; new ones follow.
        """
        from sticktree.processes.seating import Nodes, Parties, seat

        n = check_integer("n", n, minimum=0)
        check_generator(rng)
        tree = EMPTY if tree is None else tree
        check_levels(tree, self.depth)
        leaf = np.concatenate([tree.leaf, np.empty(n, dtype=np.int32)])
        nodes, n_nodes = seat(
            Nodes.of(tree),
            tree.n_nodes,
            leaf,
            Parties.single(tree.n_data, leaf.size),
            self.concentration.alpha,
            self.discount,
            rng.random((n, 2)),
        )
        parent, level, count = (array[:n_nodes].copy() for array in nodes)
        return Tree.from_trusted(parent, leaf, level, count)

    def log_prob(self, tree: Tree) -> float:
        """Return the log probability of a tree: the sum of log g[ω] over the nodes above leaves.

        It does not depend on the order of the data, nor on the numbers of the nodes.

        Examples
        --------
        >>> import math
        >>> from sticktree import Tree
        >>> together = Tree.from_paths([(1,), (1,), (1,)])
        >>> log_prob = NestedRestaurant(1.0, depth=1).log_prob(together)
        >>> round(math.exp(log_prob), 12)  # 1/2 · 2/3
        0.333333333333
        """
        check_levels(tree, self.depth)
        alpha, d = self.concentration.alpha, self.discount
        n_children = _occupied_children(tree)
        inner = np.flatnonzero((tree.level < self.depth) & (tree.count > 0))
        child = np.flatnonzero((tree.level > 0) & (tree.count > 0))
        # Π_{k<K} (α + k d) from a table of running sums, a row per level.
        k = np.arange(1, max(int(n_children.max()), 1))
        opened = np.zeros((self.depth, k.size + 1))
        np.cumsum(np.log(alpha[:, None] + k * d), axis=1, out=opened[:, 1:])
        here = alpha[tree.level[inner]]
        total = opened[tree.level[inner], n_children[inner] - 1].sum()
        total -= (gammaln(here + tree.count[inner]) - gammaln(here + 1)).sum()
        total += (gammaln(tree.count[child] - d) - gammaln(1 - d)).sum()
        return float(total)

    def next_datum(self, tree: Tree) -> NextDatum:
        """Return the probabilities of every existing and every new branch for the next datum.

        Examples
        --------
        >>> from sticktree import Tree
        >>> restaurant = NestedRestaurant(1.0, depth=1)
        >>> next_datum = restaurant.next_datum(Tree.from_paths([(1,), (1,), (2,)]))
        >>> next_datum.reach, next_datum.new_branch
        (array([1.  , 0.5 , 0.25]), array([0.25, 0.  , 0.  ]))
        """
        check_levels(tree, self.depth)
        alpha = np.append(self.concentration.alpha, 0.0)[np.minimum(tree.level, self.depth)]
        inner = tree.level < self.depth
        # Where nobody has been, there is no choice; n + α may be 0 there.
        alone = tree.count == 0
        denominator = np.where(inner & ~alone, tree.count + alpha, 1.0)
        take = np.maximum(tree.count - self.discount, 0.0)
        reach = np.ones(tree.n_nodes)
        for nodes in tree.nodes_by_level[1:]:
            above = tree.parent[nodes]
            reach[nodes] = reach[above] * take[nodes] / denominator[above]
        new = np.where(alone, 1.0, alpha + self.discount * _occupied_children(tree))
        new = np.where(inner, new, 0.0)
        return NextDatum(
            reach, stop=np.where(inner, 0.0, reach), new_branch=reach * new / denominator
        )

    def path_log_prob(self, tree: Tree, node: int) -> float:
        """Return log p(Δ → ω), the log probability that the next datum passes a node."""
        tree.path(node)  # checks the id
        with np.errstate(divide="ignore"):
            return float(np.log(self.next_datum(tree).reach[node]))

    def expected_nodes(self, n: int) -> FloatArray:
        """Return the expected number of nodes of each level, 0 to depth, in a tree of n data.

        In one restaurant with n data the expected number of tables of size m is
        C(n, m)·(1 − d)_{m−1}·(α + d)_{n−m}/(α + 1)_{n−1}; levels follow one from another.

        Examples
        --------
        >>> NestedRestaurant(1.0, depth=1).expected_nodes(3)  # 1 + 1/2 + 1/3
        array([1.        , 1.83333333])
        """
        n = check_integer("n", n, minimum=1)
        size = np.arange(1, n + 1, dtype=np.float64)
        column, row = size[None, :], size[:, None]
        nodes = np.empty((n, 0))  # expected nodes below a node with 1 … n data, a column per level
        for alpha in self.concentration.alpha[::-1]:
            d = self.discount
            with np.errstate(invalid="ignore"):  # m > n, masked below
                log_tables = (
                    gammaln(row + 1)
                    - gammaln(column + 1)
                    - gammaln(np.maximum(row - column, 0) + 1)
                    + (gammaln(column - d) - gammaln(1 - d))
                    + (gammaln(alpha + d + np.maximum(row - column, 0)) - gammaln(alpha + d))
                    - (gammaln(alpha + row) - gammaln(alpha + 1))
                )
            tables = np.where(column <= row, np.exp(log_tables), 0.0)
            nodes = tables @ np.concatenate([np.ones((n, 1)), nodes], axis=1)
        return np.concatenate([[1.0], nodes[-1]])


def _occupied_children(tree: Tree) -> np.ndarray:
    """Count the children of each node that have data."""
    occupied = np.flatnonzero(tree.count[1:] > 0) + 1
    return np.bincount(tree.parent[occupied], minlength=tree.n_nodes)
