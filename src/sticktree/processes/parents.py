"""Groups with parents: patients under conditions, days after days.

At every node, θ_j ~ DP(γ, κ θ_parent(j) + (1 − κ) β) are the sticks of a group that has a parent,
and θ_j ~ DP(γ, β) those of one that has none: κ says how much of a group comes by way of its
parent. With the sticks integrated out, a table of group j is a customer of its parent with
probability κ, and else one of the tables of all. With c customers of group j at child k, which are
its own data and tables of its children, m tables of them and r that are customers of the parent,

    p(tree, m, r) = Π_nodes g(M_1, …, M_K; α, d) · Π_j γ^{m_j·}/(γ)_{c_j·}
                    · Π_k s(c_jk, m_jk) C(m_jk, r_jk) κ^{r_jk} (1 − κ)^{m_jk − r_jk},

where M_k = Σ_j (m_jk − r_jk), and the last three factors lack where a group has no parent (r = 0).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from sticktree.checks import FloatArray, IntArray, check_generator, is_real
from sticktree.errors import ParameterError
from sticktree.processes.divergence import ConcentrationLike, NestedLaw
from sticktree.processes.groups import (
    check_groups,
    group_counts,
    log_stirling,
    resolve_group_concentration,
)
from sticktree.processes.laws import EMPTY, NextDatum, check_levels, check_occupied
from sticktree.processes.seating_parents import ParentedFranchise
from sticktree.tree import NULL, Tree


@dataclass(frozen=True, eq=False)
class ParentedTree:
    """A tree whose data belong to groups with parents, with the tables at which they came.

    Attributes
    ----------
    tree : Tree
        The tree of all data.
    group : int array, shape (N,)
        The group of each datum, 0, 1, ….
    parents : int array, shape (J,)
        The parent of each group, or −1.
    tables, routed : int arrays, shape (M, J)
        Tables of each group at the edge to each node, and how many of these are customers of the
        group's parent; those of the root are 0.
    """

    tree: Tree
    group: IntArray
    parents: IntArray
    tables: IntArray
    routed: IntArray

    @property
    def customers(self) -> IntArray:
        """Customers of each group at each node: its data, and tables of its children, (M, J)."""
        n_groups = self.parents.size
        customers = group_counts(self.tree, self.group, n_groups)
        for j in np.flatnonzero(self.parents != NULL):
            customers[:, self.parents[j]] += self.routed[:, j]
        return customers


def check_parents(parents: npt.ArrayLike) -> IntArray:
    """Return parents of groups as numbers; −1 is none. They must be a forest."""
    given = np.asarray(parents)
    if given.size == 0:
        given = given.astype(np.int32)
    expected = "a sequence with the number of the parent of each group, or -1"
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ParameterError("parents", parents, expected)
    if (given < NULL).any() or (given >= given.size).any():
        raise ParameterError("parents", parents, f"{expected}, below {given.size}")
    eldest_first(given.astype(np.int32))
    return given.astype(np.int32)


def eldest_first(parents: IntArray) -> list[int]:
    """Return the groups in an order in which parents come before their children."""
    order: list[int] = []
    placed = np.zeros(parents.size, dtype=bool)
    while len(order) < parents.size:
        ready = [
            j for j, p in enumerate(parents.tolist()) if not placed[j] and (p == NULL or placed[p])
        ]
        if not ready:
            raise ParameterError("parents", parents.tolist(), "without groups in a circle")
        placed[ready] = True
        order += ready
    return order


def check_kinship(kinship: object) -> float:
    """Return κ."""
    if not is_real(kinship) or not 0.0 <= float(kinship) <= 1.0:  # type: ignore[arg-type]
        raise ParameterError("kinship", kinship, "a number from 0 to 1")
    return float(kinship)  # type: ignore[arg-type]


class ParentedLaw(NestedLaw):
    """What laws of groups with parents have in common: their parameters."""

    def __init__(
        self,
        concentration: ConcentrationLike,
        depth: int | None = None,
        *,
        parents: npt.ArrayLike,
        group_concentration: float | npt.ArrayLike = 1.0,
        kinship: float = 0.5,
        discount: float = 0.0,
    ) -> None:
        super().__init__(concentration, depth, discount=discount)
        self.parents, self.kinship = check_parents(parents), check_kinship(kinship)
        gamma = resolve_group_concentration(group_concentration, self.depth)
        if not (np.isfinite(gamma) & (gamma > 0)).all():
            expected = "above 0 and finite where groups have parents"
            raise ParameterError("group_concentration", group_concentration, expected)
        self.group_concentration = gamma

    @property
    def n_groups(self) -> int:
        """Number of groups that are known, with data or without."""
        return int(self.parents.size)

    def _check_known(self, group: npt.ArrayLike, n: int | None = None) -> IntArray:
        numbers = check_groups(group, n)
        if numbers.size and numbers.max() >= self.n_groups:
            expected = f"numbers below {self.n_groups}, the number of parents"
            raise ParameterError("group", group, expected, shown=f"{numbers.max()}")
        return numbers

    def _of_groups(self, level: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return γ and κ of every group, from a level on, as a franchise asks for them."""
        shape = self.depth - level, self.n_groups
        gamma = np.broadcast_to(self.group_concentration[level:, None], shape)
        return gamma.copy(), np.full(shape, self.kinship)


class ParentedRestaurant(ParentedLaw):
    """The nested restaurant of groups with parents, which share a tree.

    At a node the next datum of group j goes to child k with probability
    P_j(k) = (c_jk + γ H_j(k))/(c_j + γ), where H_j = κ P_parent + (1 − κ) P_0 and
    P_0(k) = (M_k − d)/(M + α): affine in the law P_0 of all.

    Parameters
    ----------
    concentration, depth, group_concentration, discount
        As for :class:`~sticktree.processes.GroupedRestaurant`; γ is positive and finite.
    parents : sequence of int
        The parent of each group, or −1. Groups need not have data of their own, as conditions.
    kinship : float, default=0.5
        κ: how much of a group comes by way of its parent. At 0 parents do not matter, and this is
        the grouped restaurant.

    Examples
    --------
    Two conditions, 0 and 1, with two patients each:

    >>> import numpy as np
    >>> from sticktree.processes import ParentedRestaurant
    >>> law = ParentedRestaurant(1.0, depth=2, parents=[-1, -1, 0, 0, 1, 1])
    >>> seated = law.sample([2, 2, 3, 3, 4, 5], np.random.default_rng(0))
    >>> new = law.next_datum(seated, parent=1)  # of another patient under condition 1
    >>> bool(np.isclose(new.stop.sum() + new.new_branch.sum(), 1))
    True
    """

    @classmethod
    def chain(
        cls,
        concentration: ConcentrationLike,
        n_times: int,
        depth: int | None = None,
        *,
        group_concentration: float | npt.ArrayLike = 1.0,
        kinship: float = 0.5,
        discount: float = 0.0,
    ) -> ParentedRestaurant:
        """Return the law of groups that follow one another, each with the one before as parent.

        Examples
        --------
        >>> ParentedRestaurant.chain(1.0, 4, 2).parents
        array([-1,  0,  1,  2], dtype=int32)
        """
        return cls(
            concentration,
            depth,
            parents=np.arange(n_times) - 1,
            group_concentration=group_concentration,
            kinship=kinship,
            discount=discount,
        )

    def sample(
        self, group: npt.ArrayLike, rng: np.random.Generator, start: ParentedTree | None = None
    ) -> ParentedTree:
        """Seat one datum for each entry of ``group``, in its order, or after those of ``start``.

        Nodes, data and tables of ``start`` keep their numbers; new ones follow.
        """
        check_generator(rng)
        coming = self._check_known(group)
        tree = EMPTY if start is None else start.tree
        gamma, kappa = self._of_groups()
        franchise = ParentedFranchise(
            self.concentration.alpha, gamma, kappa, self.parents, self.discount, rng
        )
        before = np.empty(0, dtype=np.int32)
        if start is not None:
            check_levels(tree, self.depth)
            before = start.group
            franchise.resume(tree, start.customers, start.tables, start.routed)
        leaf = [franchise.seat(int(j)) for j in coming]
        larger = Tree(
            np.array(franchise.parent, dtype=np.int32),
            np.concatenate([tree.leaf, np.array(leaf, dtype=np.int32)]),
        )
        shape = larger.n_nodes, self.n_groups
        return ParentedTree(
            larger,
            np.concatenate([before, coming]),
            self.parents,
            np.array(franchise.opened, dtype=np.int32).reshape(shape),
            np.array(franchise.routed, dtype=np.int32).reshape(shape),
        )

    def log_prob(
        self,
        tree: Tree,
        group: npt.ArrayLike,
        tables: IntArray | None = None,
        routed: IntArray | None = None,
    ) -> float:
        """Return the log probability of a tree whose data belong to groups with parents.

        Without ``tables`` and ``routed`` these are summed out, which takes a time that is
        exponential in the number of groups that are parents: meant for a few data.

        Examples
        --------
        >>> import math
        >>> from sticktree import Tree
        >>> law = ParentedRestaurant(1.0, 1, parents=[-1, 0], kinship=1.0)
        >>> apart = Tree.from_paths([(1,), (2,)])
        >>> round(math.exp(law.log_prob(apart, [0, 1])), 12)  # 1/2 · 1/2
        0.25
        """
        check_levels(tree, self.depth)
        pruned = tree if tree.count.all() else tree.pruned()
        group = self._check_known(group, tree.n_data)
        if (tables is None) != (routed is None):
            raise ParameterError("routed", routed, "given together with tables, or not at all")
        if tables is not None:
            check_occupied(tree)
        if not group.size:
            return 0.0
        counts = group_counts(pruned, group, self.n_groups)
        total = 0.0
        for w in np.flatnonzero(pruned.level < self.depth):
            children = pruned.children(int(w))
            given = None
            if tables is not None and routed is not None:
                given = tables[children], routed[children]
            total += self._log_node(int(pruned.level[w]), counts[children], given)
        return float(total)

    def _log_node(self, level: int, n: IntArray, given: tuple[IntArray, IntArray] | None) -> float:
        """Return the log factor of a node whose children have ``n[k, j]`` data of each group."""
        alpha, d = float(self.concentration.alpha[level]), self.discount
        gamma = float(self.group_concentration[level])
        # log weights by the customers of each group and the tables of all, over all children
        sums: dict[tuple[int, ...], float] = {(0,) * (self.n_groups + 1): 0.0}
        for k in range(len(n)):
            only = None if given is None else (given[0][k], given[1][k])
            child = self._ways(gamma, n[k], only)
            grown: dict[tuple[int, ...], list[float]] = defaultdict(list)
            for key, value in sums.items():
                for more, weight in child.items():
                    served = float(gammaln(more[-1] - d) - gammaln(1.0 - d))
                    both = tuple(a + b for a, b in zip(key, more, strict=True))
                    grown[both].append(value + weight + served)
            sums = {key: _log_sum(values) for key, values in grown.items()}
        if not sums:
            return -np.inf
        values = []
        for key, value in sums.items():
            many = key[-1]
            value -= float(gammaln(alpha + many) - gammaln(alpha + 1.0))
            values.append(value - sum(float(np.log(gamma + np.arange(c)).sum()) for c in key[:-1]))
        return _log_sum(values) + float(np.log(alpha + d * np.arange(1, len(n))).sum())

    def _ways(
        self, gamma: float, n: IntArray, only: tuple[IntArray, IntArray] | None
    ) -> dict[tuple[int, ...], float]:
        """Return log weights by the customers of each group and the tables of all, at one child."""
        states: dict[tuple[int, ...], list[float]] = {(*map(int, n), 0): [0.0]}
        for j in reversed(eldest_first(self.parents)):
            above, after = int(self.parents[j]), defaultdict(list)
            for key, values in states.items():
                value, ways = _log_sum(values), log_stirling(key[j])
                for m in range(int(key[j] > 0), key[j] + 1):
                    for r in range(m + 1 if above != NULL else 1):
                        if only is not None and (m, r) != (only[0][j], only[1][j]):
                            continue
                        weight = value + float(ways[m]) + m * np.log(gamma)
                        if above != NULL:
                            weight += _log_binomial(m, r, self.kinship)
                        if weight == -np.inf:
                            continue
                        more = list(key)
                        if above != NULL:
                            more[above] += r
                        more[-1] += m - r
                        after[tuple(more)].append(weight)
            states = after
        return {key: _log_sum(values) for key, values in states.items() if key[-1] > 0}

    def next_datum(
        self, seated: ParentedTree, group: int | None = None, parent: int | None = None
    ) -> NextDatum:
        """Return the probabilities of every existing and every new branch for the next datum.

        Parameters
        ----------
        seated : ParentedTree
            A tree with its tables.
        group : int, optional
            The group of the datum; by default a new one.
        parent : int, optional
            The parent of a new group; by default it has none.
        """
        tree, d = seated.tree, self.discount
        check_levels(tree, self.depth)
        check_occupied(tree)
        for name, number in (("group", group), ("parent", parent)):
            if number is not None and not 0 <= number < self.n_groups:
                raise ParameterError(name, number, f"a number from 0 to {self.n_groups - 1}")
        if group is not None and parent is not None:
            raise ParameterError("parent", parent, "None for a group that is known")
        customers = seated.customers.astype(np.float64)
        tables = (seated.tables - seated.routed).sum(axis=1)
        reach, stop, new = np.ones(tree.n_nodes), np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
        stop[tree.level == self.depth] = 1.0
        for w in np.flatnonzero(tree.level < self.depth):
            children, level = tree.children(int(w)), int(tree.level[w])
            alpha, gamma = self.concentration.alpha[level], self.group_concentration[level]
            rest = alpha + d * len(children)
            shared = np.append(tables[children] - d, rest if len(children) else 1.0)
            shared = shared / shared.sum()
            law = shared
            line = [] if group is None else [group]
            line = line if parent is None else [parent]
            while line and self.parents[line[-1]] != NULL:
                line.append(int(self.parents[line[-1]]))
            for j in reversed(line):
                base = law if self.parents[j] == NULL else self._mixed(law, shared)
                here = np.append(customers[children, j], 0.0)
                law = (here + gamma * base) / (here.sum() + gamma)
            if parent is not None:
                law = self._mixed(law, shared)
            reach[children], new[w] = reach[w] * law[:-1], law[-1]
        return NextDatum(reach, reach * stop, reach * new)

    def _mixed(self, above: FloatArray, shared: FloatArray) -> FloatArray:
        """Return κ of the law of a parent and 1 − κ of that of all."""
        return self.kinship * above + (1.0 - self.kinship) * shared


def _log_sum(values: list[float]) -> float:
    """Return log Σ exp of a few numbers, most often of one."""
    return float(np.logaddexp.reduce(values))


def _log_binomial(m: int, r: int, kappa: float) -> float:
    """Return the log probability that r of m tables are customers of the parent."""
    if (kappa == 0.0 and r > 0) or (kappa == 1.0 and r < m):
        return -np.inf
    value = float(gammaln(m + 1) - gammaln(r + 1) - gammaln(m - r + 1))
    value += r * float(np.log(kappa)) if r else 0.0
    return value + ((m - r) * float(np.log1p(-kappa)) if r < m else 0.0)
