"""Groups that share a tree: the law of the franchise, each group with its own shares of branches.

All groups have one tree. At a node of level l the shared sticks are β ~ PY(d, α(l)), and every
group j has its own, θ_j ~ DP(γ(l), β): a hierarchical Dirichlet process at every node. With the
sticks integrated out that is a franchise of restaurants (Y. W. Teh, M. I. Jordan, M. J. Beal and
D. M. Blei, Journal of the American Statistical Association 101, 2006) at every node: data of a
group sit at tables of their own, and tables choose the child. With n data and m tables of group j
at child k, M_k = Σ_j m_jk, and s(n, m) the unsigned Stirling numbers of the first kind,

    p(tree, tables) = Π_nodes g(M_1, …, M_K; α, d) · Π_j γ^{m_j·}/(γ)_{n_j} · Π_k s(n_jk, m_jk),

where g is the restaurant's factor of an ungrouped tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp

from sticktree.checks import FloatArray, IntArray, check_generator, check_positive, is_real
from sticktree.errors import ParameterError
from sticktree.processes.divergence import ConcentrationLike, NestedLaw
from sticktree.processes.laws import EMPTY, NextDatum, check_levels, check_occupied
from sticktree.processes.seating_groups import Franchise
from sticktree.tree import Tree


@dataclass(frozen=True, eq=False)
class GroupedTree:
    """A tree whose data belong to groups, with the tables at which they came.

    Attributes
    ----------
    tree : Tree
        The tree of all data.
    group : int array, shape (N,)
        The group of each datum, 0, 1, ….
    tables : int array, shape (M, J)
        Tables of each group at the edge to each node; those of the root are 0.
    """

    tree: Tree
    group: IntArray
    tables: IntArray

    @property
    def counts(self) -> IntArray:
        """Data of each group at or below each node, shape (M, J)."""
        return group_counts(self.tree, self.group, self.tables.shape[1])


def group_counts(tree: Tree, group: npt.ArrayLike, n_groups: int) -> IntArray:
    """Return how many data of each group are at or below each node, shape (M, J)."""
    counts = np.zeros((tree.n_nodes, n_groups), dtype=np.int32)
    np.add.at(counts, (tree.leaf, np.asarray(group)), 1)
    for nodes in reversed(tree.nodes_by_level[1:]):
        np.add.at(counts, tree.parent[nodes], counts[nodes])
    return counts


def check_groups(group: npt.ArrayLike, n: int | None = None) -> IntArray:
    """Return the groups of data as numbers from 0."""
    given = np.asarray(group)
    if given.size == 0:
        given = given.astype(np.int32)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 0).any():
        raise ParameterError("group", group, "a sequence of integers of at least 0, one per datum")
    if n is not None and given.size != n:
        expected = f"one entry per datum ({n})"
        raise ParameterError("group", group, expected, verb="have", shown=f"{given.size} entries")
    return given.astype(np.int32)


def resolve_group_concentration(value: object, depth: int) -> FloatArray:
    """Return γ of every level; 0 and infinity are limits that exist."""
    values = [value] * depth if is_real(value) else value
    try:
        given = np.atleast_1d(np.array(values, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (depth,):
        expected = f"a number, or one for each of the {depth} levels"
        raise ParameterError("group_concentration", value, expected)
    for gamma in given:
        check_positive("group_concentration", float(gamma), zero=True, infinite=True)
    return given


class GroupedRestaurant(NestedLaw):
    """The nested restaurant of groups that share a tree: a franchise at every node.

    A datum of group j at a node with n_j data of its group goes to child k with probability
    (n_jk + γ(M_k − d)/(M + α))/(n_j + γ), and to a new one with γ(α + dK)/(M + α)/(n_j + γ).

    Parameters
    ----------
    concentration, depth, discount
        As for :class:`~sticktree.processes.NestedRestaurant`.
    group_concentration : float or array, default=1
        γ, for all levels or for each: how alike groups are. At infinity they do not matter, and
        this is the nested restaurant; at 0 all data of a group stay together.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes import GroupedRestaurant
    >>> law = GroupedRestaurant(1.0, depth=2, group_concentration=0.5)
    >>> seated = law.sample([0, 0, 0, 1, 1, 1], np.random.default_rng(0))
    >>> seated.counts[0], seated.tables[0]
    (array([3, 3], dtype=int32), array([0, 0], dtype=int32))
    """

    def __init__(
        self,
        concentration: ConcentrationLike,
        depth: int | None = None,
        *,
        group_concentration: float | npt.ArrayLike = 1.0,
        discount: float = 0.0,
    ) -> None:
        super().__init__(concentration, depth, discount=discount)
        self.group_concentration = resolve_group_concentration(group_concentration, self.depth)

    @classmethod
    def hierarchical(
        cls, concentration: float, group_concentration: float, *, discount: float = 0.0
    ) -> GroupedRestaurant:
        """Return the hierarchical Dirichlet process: one level, groups that share its branches.

        Examples
        --------
        >>> GroupedRestaurant.hierarchical(2.0, 1.0)
        GroupedRestaurant([2.0], group_concentration=[1.0], discount=0)
        """
        return cls(concentration, 1, group_concentration=group_concentration, discount=discount)

    @classmethod
    def nested(
        cls, concentration: float, within: float, *, discount: float = 0.0
    ) -> GroupedRestaurant:
        """Return the nested Dirichlet process: groups choose a branch whole, then data a leaf.

        Examples
        --------
        >>> GroupedRestaurant.nested(2.0, 1.0)
        GroupedRestaurant([2.0, 1.0], group_concentration=[0.0, inf], discount=0)
        """
        limits = [0.0, np.inf]
        return cls([concentration, within], group_concentration=limits, discount=discount)

    def __repr__(self) -> str:
        """Return the concentrations and the discount."""
        alpha, gamma = self.concentration.alpha.round(4).tolist(), self.group_concentration.tolist()
        return (
            f"{type(self).__name__}({alpha}, group_concentration={gamma}, "
            f"discount={self.discount:g})"
        )

    def sample(
        self, group: npt.ArrayLike, rng: np.random.Generator, start: GroupedTree | None = None
    ) -> GroupedTree:
        """Seat one datum for each entry of ``group``, in its order, or after those of ``start``.

        Nodes, data and tables of ``start`` keep their numbers; new ones follow.
        """
        check_generator(rng)
        coming = check_groups(group)
        before = np.empty(0, dtype=np.int32) if start is None else start.group
        everyone = np.concatenate([before, coming])
        n_groups = int(everyone.max()) + 1 if everyone.size else 0
        if start is not None:
            n_groups = max(n_groups, start.tables.shape[1])
        tree = EMPTY if start is None else start.tree
        franchise = Franchise(
            self.concentration.alpha, self.group_concentration, self.discount, rng
        )
        if start is not None:
            check_levels(tree, self.depth)
            franchise.resume(tree, start.counts, start.tables)
        leaf = [franchise.seat(int(j)) for j in coming]
        parent = np.array(franchise.parent, dtype=np.int32)
        larger = Tree(parent, np.concatenate([tree.leaf, np.array(leaf, dtype=np.int32)]))
        return GroupedTree(larger, everyone, franchise.tables(n_groups))

    def log_prob(self, tree: Tree, group: npt.ArrayLike, tables: IntArray | None = None) -> float:
        """Return the log probability of a tree whose data belong to groups.

        Without ``tables`` they are summed out: of the number M_k of tables at a child, g knows no
        more than Π_k (1 − d)_{M_k−1} and the sum, so polynomials in the number of tables multiply.

        Examples
        --------
        >>> import math
        >>> from sticktree import Tree
        >>> law = GroupedRestaurant.hierarchical(1.0, 1.0)
        >>> apart = Tree.from_paths([(1,), (2,)])
        >>> round(math.exp(law.log_prob(apart, [0, 0])), 12)  # 1/2 · 1/2
        0.25
        """
        check_levels(tree, self.depth)
        pruned = tree if tree.count.all() else tree.pruned()
        if tables is not None:
            check_occupied(tree)
        group = check_groups(group, tree.n_data)
        if not group.size:
            return 0.0
        n_groups = int(group.max()) + 1
        counts = group_counts(pruned, group, n_groups)
        total = 0.0
        for w in np.flatnonzero(pruned.level < self.depth):
            children = pruned.children(int(w))
            given = None if tables is None else tables[children][:, :n_groups]
            total += self._log_node(int(pruned.level[w]), counts[children], given)
        return float(total)

    def _log_node(self, level: int, n: IntArray, tables: IntArray | None) -> float:
        """Return the log factor of a node whose children have ``n[k, j]`` data of each group."""
        alpha, d = self.concentration.alpha[level], self.discount
        gamma = self.group_concentration[level]
        if gamma == 0.0 and ((n > 0).sum(axis=0) > 1).any():
            return -np.inf
        total = 0.0
        if 0.0 < gamma < np.inf:
            for whole in n.sum(axis=0):  # a difference of Γ functions would lose digits at large γ
                total -= float(np.log(gamma + np.arange(whole)).sum())
        sums = np.zeros(1)  # log coefficients, by the number of tables so far
        for k in range(len(n)):
            child = np.zeros(1)
            for j in np.flatnonzero(n[k]):
                ways = _log_ways(int(n[k, j]), gamma)
                if tables is not None:
                    only = np.full_like(ways, -np.inf)
                    if tables[k, j] < ways.size:
                        only[tables[k, j]] = ways[tables[k, j]]
                    ways = only
                child = _log_convolve(child, ways)
            many = np.arange(1, child.size)
            child[1:] += gammaln(many - d) - gammaln(1.0 - d)
            sums = _log_convolve(sums, child)
        many = np.arange(1, sums.size)
        total += float(logsumexp(sums[1:] - (gammaln(alpha + many) - gammaln(alpha + 1.0))))
        return total + float(np.log(alpha + d * np.arange(1, len(n))).sum())

    def next_datum(self, seated: GroupedTree, group: int | None = None) -> NextDatum:
        """Return the probabilities of every existing and every new branch for the next datum.

        Parameters
        ----------
        seated : GroupedTree
            A tree with its tables.
        group : int, optional
            The group of the datum; by default a new one.

        Examples
        --------
        >>> import numpy as np
        >>> law = GroupedRestaurant.hierarchical(1.0, 1.0)
        >>> seated = law.sample([0, 0, 1], np.random.default_rng(1))
        >>> known, new = law.next_datum(seated, 0), law.next_datum(seated)
        >>> bool(np.isclose(new.stop.sum() + new.new_branch.sum(), 1))
        True
        """
        tree, d = seated.tree, self.discount
        check_levels(tree, self.depth)
        check_occupied(tree)
        n = np.zeros(tree.n_nodes)
        if group is not None and 0 <= group < seated.tables.shape[1]:
            n = seated.counts[:, group].astype(np.float64)
        tables = seated.tables.sum(axis=1)
        reach, stop, new = np.ones(tree.n_nodes), np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
        stop[tree.level == self.depth] = 1.0
        for w in range(tree.n_nodes):
            level = int(tree.level[w])
            if level == self.depth:
                continue
            children = tree.children(w)
            alpha, gamma = self.concentration.alpha[level], self.group_concentration[level]
            # γ/(n + γ) of the data go by the tables of all
            shared = 1.0 if gamma == np.inf or n[w] == 0.0 else gamma / (n[w] + gamma)
            own = n[children] / n[w] if n[w] else np.zeros(len(children))
            seats = tables[children].sum() + alpha
            new[w] = shared * (alpha + d * len(children)) / seats if len(children) else 1.0
            taken = (tables[children] - d) / seats if len(children) else own
            reach[children] = reach[w] * ((1.0 - shared) * own + shared * taken)
        return NextDatum(reach, reach * stop, reach * new)


def _log_ways(n: int, gamma: float) -> FloatArray:
    """Return log γ^m s(n, m) for m = 0 … n tables of n data, in the limits what is left of it."""
    out = np.full(n + 1, -np.inf)
    if gamma == np.inf:
        out[n] = 0.0
    elif gamma == 0.0:
        out[1] = 0.0
    else:
        out = log_stirling(n) + np.arange(n + 1) * np.log(gamma)
    return out


def log_stirling(n: int) -> FloatArray:
    """Return log s(n, m) for m = 0 … n, unsigned Stirling numbers of the first kind.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes.groups import log_stirling
    >>> np.exp(log_stirling(4)).round()
    array([ 0.,  6., 11.,  6.,  1.])
    """
    row = np.zeros(1)
    for k in range(n):
        grown = np.full(k + 2, -np.inf)
        grown[1:] = row
        if k:
            grown[:-1] = np.logaddexp(grown[:-1], row + np.log(k))
        row = grown
    return row


def _log_convolve(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the log coefficients of the product of two polynomials."""
    out = np.full(first.size + second.size - 1, -np.inf)
    for k in np.flatnonzero(first > -np.inf):
        part = slice(k, k + second.size)
        out[part] = np.logaddexp(out[part], first[k] + second)
    return out
