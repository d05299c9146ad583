"""Grouped recursive sticks: shared sticks at every node, and those of every group around them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_generator, check_integer
from sticktree.processes.divergence import ConcentrationLike, NestedLaw
from sticktree.processes.groups import (
    GroupedTree,
    check_groups,
    group_counts,
    resolve_group_concentration,
)
from sticktree.processes.mass_tree import MassTree
from sticktree.processes.seating_groups import Franchise
from sticktree.processes.sticks import RecursiveSticks
from sticktree.tree import Tree


@dataclass(frozen=True, eq=False)
class GroupedMasses:
    """A stick broken recursively for all, and by every group in its own way.

    Attributes
    ----------
    shared : MassTree
        The shared sticks.
    mass, own, unbroken : float arrays, shape (J, M)
        The same for each group, over the same tree: of every node its mass, what stays in it for
        good, and what has not been broken off.
    """

    shared: MassTree
    mass: FloatArray
    own: FloatArray
    unbroken: FloatArray


class GroupedSticks(NestedLaw):
    """The grouped Dirichlet fragmentation process by recursive stick breaking.

    At a node of level l, β ~ PY(d, α(l)) are shared, and θ_j ~ DP(γ(l), β) are the sticks of group
    j. Data that go down the sticks of their groups follow
    :class:`~sticktree.processes.GroupedRestaurant` once all sticks are integrated out.

    Parameters
    ----------
    concentration, depth, group_concentration, discount
        As for :class:`~sticktree.processes.GroupedRestaurant`.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes import GroupedSticks
    >>> rng = np.random.default_rng(0)
    >>> masses = GroupedSticks(1.0, depth=2, group_concentration=5.0).sample(3, rng)
    >>> (masses.own.sum(axis=1) + masses.unbroken.sum(axis=1)).round(12)
    array([1., 1., 1.])
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

    def sample(
        self, n_groups: int, rng: np.random.Generator, truncation: float = 1e-4
    ) -> GroupedMasses:
        """Break the sticks of all, and those of ``n_groups`` groups on the same pieces.

        Of a Dirichlet process with base β, the masses of finitely many pieces are Dirichlet, with
        parameters γ times the shared masses, and so is what is left unbroken.
        """
        n_groups = check_integer("n_groups", n_groups, minimum=0)
        check_generator(rng)
        law = RecursiveSticks(self.concentration, discount=self.discount)
        shared = law.sample(rng, truncation)
        return self._share_out(shared, n_groups, rng)

    def _share_out(
        self, shared: MassTree, n_groups: int, rng: np.random.Generator
    ) -> GroupedMasses:
        tree = shared.tree
        mass = np.zeros((n_groups, tree.n_nodes))
        unbroken = np.zeros_like(mass)
        mass[:, 0] = 1.0
        for w in np.flatnonzero(tree.level < self.depth):
            children = tree.children(int(w))
            parts = np.append(shared.mass[children], shared.unbroken[w]) / shared.mass[w]
            gamma = float(self.group_concentration[tree.level[w]])
            theta = draw_dirichlet(gamma, parts / parts.sum(), n_groups, rng) * mass[:, [w]]
            mass[:, children], unbroken[:, w] = theta[:, :-1], theta[:, -1]
        own = np.where(tree.level == self.depth, mass, 0.0)
        return GroupedMasses(shared, mass, own, unbroken)

    def sample_paths(
        self,
        group: npt.ArrayLike,
        rng: np.random.Generator,
        masses: GroupedMasses | None = None,
    ) -> GroupedTree:
        """Send one datum for each entry of ``group`` down the sticks of its group.

        Truncation does not matter: the part of the sticks that is left unbroken at a node is again
        a franchise, with concentration α + K d, and γ times the shared mass that is left.

        Returns
        -------
        GroupedTree
            The tree of the data. Sticks have no tables; those of its table are 0.
        """
        check_generator(rng)
        group = check_groups(group)
        n_groups = int(group.max()) + 1 if group.size else 0
        masses = self.sample(n_groups, rng) if masses is None else masses
        tree = masses.shared.tree
        pieces = np.concatenate([masses.own, masses.unbroken], axis=1)
        upto = np.cumsum(pieces, axis=1)
        place = np.empty(group.size, dtype=np.int64)
        for j in range(n_groups):
            rows = np.flatnonzero(group == j)
            points = rng.random(rows.size) * upto[j, -1]
            place[rows] = np.searchsorted(upto[j], points, side="right")
        parent = tree.parent.tolist()
        leaf = np.where(place < tree.n_nodes, place, 0).astype(np.int32)
        for w in np.unique(place[place >= tree.n_nodes]) - tree.n_nodes:
            rows = np.flatnonzero(place == w + tree.n_nodes)
            level = int(tree.level[w])
            alpha, gamma = self.concentration.alpha[level:].copy(), self.group_concentration[level:]
            alpha[0] += self.discount * tree.n_children[w]
            left = masses.shared.unbroken[w] / masses.shared.mass[w]
            gamma = np.append(gamma[0] * left if gamma[0] else 0.0, gamma[1:])
            franchise = Franchise(alpha, gamma, self.discount, rng)
            seats = [franchise.seat(int(j)) for j in group[rows]]
            first = len(parent) - 1  # the root of the franchise is w
            parent += [int(w) if above == 0 else above + first for above in franchise.parent[1:]]
            leaf[rows] = np.array(seats) + first
        everyone = Tree(np.array(parent, dtype=np.int32), leaf).pruned()
        return GroupedTree(everyone, group, np.zeros((everyone.n_nodes, n_groups), dtype=np.int32))

    def redraw(self, seated: GroupedTree, rng: np.random.Generator) -> GroupedMasses:
        """Draw the sticks of all and of every group given a tree with its tables.

        Shared sticks are Dirichlet(M_1 − d, …, M_K − d, α + K d), and those of a group
        Dirichlet(n_j1 + γβ_1, …, n_jK + γβ_K, γβ_new).
        """
        check_generator(rng)
        tree, n_groups = seated.tree, seated.tables.shape[1]
        tables, counts = seated.tables.sum(axis=1), group_counts(tree, seated.group, n_groups)
        shared = np.ones(tree.n_nodes)
        left = np.zeros(tree.n_nodes)
        mass, unbroken = np.ones((n_groups, tree.n_nodes)), np.zeros((n_groups, tree.n_nodes))
        for w in np.flatnonzero(tree.level < self.depth):
            children, level = tree.children(int(w)), int(tree.level[w])
            gamma = float(self.group_concentration[level])
            rest = self.concentration.alpha[level] + self.discount * len(children)
            beta = _gammas(np.append(tables[children] - self.discount, rest)[None], rng)[0]
            shared[children], left[w] = shared[w] * beta[:-1], shared[w] * beta[-1]
            n = np.concatenate([counts[children].T, np.zeros((n_groups, 1))], axis=1)
            theta = draw_dirichlet(gamma, beta, n_groups, rng, n) * mass[:, [w]]
            mass[:, children], unbroken[:, w] = theta[:, :-1], theta[:, -1]
        last = tree.level == self.depth
        own = np.where(last, shared, 0.0)
        none = np.zeros(tree.n_nodes, dtype=np.int32)
        return GroupedMasses(
            MassTree(tree, shared, own, left, none), mass, np.where(last, mass, 0.0), unbroken
        )


def draw_dirichlet(
    gamma: float,
    base: FloatArray,
    n_groups: int,
    rng: np.random.Generator,
    n: FloatArray | None = None,
) -> FloatArray:
    """Draw the sticks of groups around shared ones, given ``n[j, k]`` data; γ may be 0 or ∞."""
    if n is None:
        n = np.zeros((n_groups, base.size))
    if gamma == np.inf:
        return np.tile(base, (n_groups, 1))
    if gamma == 0.0:
        theta = rng.multinomial(1, base, size=n_groups).astype(np.float64)
        return np.where(n.sum(axis=1, keepdims=True) > 0, n > 0, theta)
    return _gammas(n + gamma * base, rng)


def _gammas(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw Dirichlet rows; numbers of tiny shape are drawn as logs, or they would all be 0."""
    tiny = np.finfo(np.float64).tiny
    shape = np.maximum(shape, tiny)
    log = np.log(rng.standard_gamma(shape + 1.0)) + np.log1p(-rng.random(shape.shape)) / shape
    share = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))
