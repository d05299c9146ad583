"""Recursive sticks of groups with parents: shared sticks, and those of every group around them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_generator
from sticktree.processes.grouped_sticks import GroupedMasses, draw_dirichlet
from sticktree.processes.mass_tree import MassTree
from sticktree.processes.parents import ParentedLaw, ParentedTree, eldest_first
from sticktree.processes.seating_parents import ParentedFranchise
from sticktree.processes.sticks import RecursiveSticks
from sticktree.tree import NULL, Tree


@dataclass(frozen=True, eq=False)
class ParentedMasses(GroupedMasses):
    """A stick broken recursively for all, and by every group with parents in its own way.

    Attributes
    ----------
    left : float array, shape (J, M)
        What has not been broken off as a share of each node: its mass in a group may be too small
        to write where children of the group have much.
    """

    left: FloatArray


class ParentedSticks(ParentedLaw):
    """The Dirichlet fragmentation process of groups with parents, by recursive stick breaking.

    At a node of level l, β ~ PY(d, α(l)) are shared, and θ_j ~ DP(γ(l), κ θ_parent + (1 − κ) β)
    are the sticks of group j. Data that go down the sticks of their groups follow
    :class:`~sticktree.processes.ParentedRestaurant` once all sticks are integrated out.

    Parameters
    ----------
    concentration, depth, parents, group_concentration, kinship, discount
        As for :class:`~sticktree.processes.ParentedRestaurant`.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes import ParentedSticks
    >>> days = ParentedSticks(1.0, depth=2, parents=[-1, 0, 1], group_concentration=20.0)
    >>> masses = days.sample(np.random.default_rng(0))
    >>> (masses.own.sum(axis=1) + masses.unbroken.sum(axis=1)).round(12)
    array([1., 1., 1.])
    """

    def sample(self, rng: np.random.Generator, truncation: float = 1e-4) -> ParentedMasses:
        """Break the sticks of all, and those of every group on the same pieces."""
        check_generator(rng)
        shared = RecursiveSticks(self.concentration, discount=self.discount).sample(rng, truncation)
        tree = shared.tree
        mass, left = self._whole(tree)
        for w in np.flatnonzero(tree.level < self.depth):
            children = tree.children(int(w))
            parts = np.append(shared.mass[children], shared.unbroken[w]) / shared.mass[w]
            theta = self._break(int(tree.level[w]), parts / parts.sum(), None, rng)
            mass[:, children] = theta[:, :-1] * mass[:, [w]]
            left[:, w] = theta[:, -1]
        own = np.where(tree.level == self.depth, mass, 0.0)
        return ParentedMasses(shared, mass, own, left * mass, left)

    def _whole(self, tree: Tree) -> tuple[FloatArray, FloatArray]:
        shape = self.n_groups, tree.n_nodes
        return np.ones(shape), np.zeros(shape)

    def _break(
        self, level: int, shared: FloatArray, n: FloatArray | None, rng: np.random.Generator
    ) -> FloatArray:
        """Draw the sticks of all groups at a node around shared ones, given ``n[j, k]`` customers.

        Parents come before their children.
        """
        gamma = float(self.group_concentration[level])
        theta = np.empty((self.n_groups, shared.size))
        for j in eldest_first(self.parents):
            above = int(self.parents[j])
            base = shared
            if above != NULL:
                base = self.kinship * theta[above] + (1.0 - self.kinship) * shared
            theta[j] = draw_dirichlet(gamma, base, 1, rng, None if n is None else n[[j]])[0]
        return theta

    def sample_paths(
        self, group: npt.ArrayLike, rng: np.random.Generator, masses: ParentedMasses | None = None
    ) -> ParentedTree:
        """Send one datum for each entry of ``group`` down the sticks of its group.

        Truncation does not matter: the part of the sticks that is left unbroken at a node is again
        a franchise. What is left of the base of group j, h = κ θ_parent + (1 − κ) β there, makes
        its concentration γ h, and κ θ_parent/h of its tables are customers of the parent.

        Returns
        -------
        ParentedTree
            The tree of the data. Sticks have no tables; those of its table are 0.
        """
        check_generator(rng)
        group = self._check_known(group)
        masses = self.sample(rng) if masses is None else masses
        tree = masses.shared.tree
        pieces = np.concatenate([masses.own, masses.unbroken], axis=1)
        upto = np.cumsum(pieces, axis=1)
        place = np.empty(group.size, dtype=np.int64)
        for i, j in enumerate(group):
            place[i] = np.searchsorted(upto[j], rng.random() * upto[j, -1], side="right")
        parent = tree.parent.tolist()
        leaf = np.where(place < tree.n_nodes, place, 0).astype(np.int32)
        for w in np.unique(place[place >= tree.n_nodes]) - tree.n_nodes:
            rows = np.flatnonzero(place == w + tree.n_nodes)
            franchise = self._below(masses, int(w), rng)
            seats = [franchise.seat(int(j)) for j in group[rows]]
            first = len(parent) - 1  # the root of the franchise is w
            parent += [int(w) if above == 0 else above + first for above in franchise.parent[1:]]
            leaf[rows] = np.array(seats) + first
        everyone = Tree(np.array(parent, dtype=np.int32), leaf).pruned()
        none = np.zeros((everyone.n_nodes, self.n_groups), dtype=np.int32)
        return ParentedTree(everyone, group, self.parents, none, none)

    def _below(self, masses: ParentedMasses, w: int, rng: np.random.Generator) -> ParentedFranchise:
        """Return the franchise of what is left unbroken at a node."""
        tree = masses.shared.tree
        level = int(tree.level[w])
        alpha = self.concentration.alpha[level:].copy()
        alpha[0] += self.discount * tree.n_children[w]
        gamma, kappa = self._of_groups(level)
        shared = masses.shared.unbroken[w] / masses.shared.mass[w]
        for j, above in enumerate(self.parents):
            base = shared
            if above != NULL:
                by_parent = self.kinship * masses.left[above, w]
                base = by_parent + (1.0 - self.kinship) * shared
                kappa[0, j] = by_parent / base if base else 0.0
            gamma[0, j] *= base
        return ParentedFranchise(alpha, gamma, kappa, self.parents, self.discount, rng)

    def redraw(self, seated: ParentedTree, rng: np.random.Generator) -> ParentedMasses:
        """Draw the sticks of all and of every group given a tree with its tables.

        Shared sticks are Dirichlet(M_1 − d, …, M_K − d, α + K d), and those of a group
        Dirichlet(c_j1 + γH_1, …, c_jK + γH_K, γH_new), parents before their children.
        """
        check_generator(rng)
        tree, customers = seated.tree, seated.customers
        tables = (seated.tables - seated.routed).sum(axis=1)
        shared, unbroken = np.ones(tree.n_nodes), np.zeros(tree.n_nodes)
        mass, left = self._whole(tree)
        for w in np.flatnonzero(tree.level < self.depth):
            children, level = tree.children(int(w)), int(tree.level[w])
            rest = self.concentration.alpha[level] + self.discount * len(children)
            shape = np.append(tables[children] - self.discount, rest)
            beta = draw_dirichlet(1.0, np.zeros(shape.size), 1, rng, shape[None])[0]
            shared[children], unbroken[w] = shared[w] * beta[:-1], shared[w] * beta[-1]
            n = np.concatenate([customers[children].T, np.zeros((self.n_groups, 1))], axis=1)
            theta = self._break(level, beta, n, rng)
            mass[:, children] = theta[:, :-1] * mass[:, [w]]
            left[:, w] = theta[:, -1]
        last = tree.level == self.depth
        none = np.zeros(tree.n_nodes, dtype=np.int32)
        whole = MassTree(tree, shared, np.where(last, shared, 0.0), unbroken, none)
        return ParentedMasses(whole, mass, np.where(last, mass, 0.0), left * mass, left)
