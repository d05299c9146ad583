"""Recursive sticks: the Dirichlet fragmentation process proper."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sticktree.checks import (
    FloatArray,
    IntArray,
    check_fraction,
    check_generator,
    check_integer,
)
from sticktree.errors import ParameterError
from sticktree.processes.dislocation import PoissonDirichlet
from sticktree.processes.divergence import NestedLaw
from sticktree.processes.laws import check_levels, check_occupied
from sticktree.processes.mass_tree import MassTree, break_recursively, masses_from_fractions
from sticktree.tree import Tree
from sticktree.tree.arrays import accumulate_upward, nodes_by_level


class RecursiveSticks(NestedLaw):
    """The Dirichlet fragmentation process by recursive stick breaking.

    At level l, ν[ωk] ~ Beta(1 − d, α(l) + k d) and π[ωk] = π[ω]·ν[ωk]·Π_{j<k}(1 − ν[ωj]). Data that
    choose leaves with these masses follow the nested restaurant once the sticks are integrated out.

    Parameters
    ----------
    concentration, depth, discount
        As for :class:`~sticktree.processes.NestedRestaurant`.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes import RecursiveSticks
    >>> rng = np.random.default_rng(0)
    >>> law = RecursiveSticks(1.0, depth=3)
    >>> sticks = law.sample(rng, truncation=0.01)
    >>> law.sample_paths(1000, rng, sticks).tree.n_data
    1000
    """

    def sample(self, rng: np.random.Generator, truncation: float = 1e-4) -> MassTree:
        """Break the unit stick down to the last level.

        Sticks lighter than ``truncation`` stay unbroken; all pieces of at least that mass are
        there, and what is left of each stick is kept in ``unbroken``.
        """
        check_generator(rng)
        check_fraction("truncation", truncation)
        laws = [PoissonDirichlet(alpha, self.discount) for alpha in self.concentration.alpha]
        return break_recursively(laws, rng, truncation)

    def sample_paths(
        self, n: int, rng: np.random.Generator, sticks: MassTree | None = None
    ) -> MassTree:
        """Send ``n`` independent data down the sticks; truncation does not matter.

        Most data fall on pieces that are broken already. What is left of a stick after K breaks is
        again a Poisson–Dirichlet stick, with concentration α + K d; the data that fall on it are
        seated in its restaurant, and the pieces they chose are then drawn given their numbers. So
        the result has those pieces in addition, and is exact.

        Returns
        -------
        MassTree
            ``sticks`` with further pieces where data asked for them; its ``tree`` has the data,
            after those that were there. ``tree.pruned()`` is the tree of the data alone.
        """
        n = check_integer("n", n, minimum=0)
        check_generator(rng)
        sticks = self.sample(rng) if sticks is None else sticks
        owners = np.flatnonzero((sticks.own > 0) & (sticks.tree.level != self.depth))
        if sticks.tree.depth > self.depth or owners.size:
            raise ValueError(f"sticks must end at level {self.depth}, as those of this law do")
        pieces = np.concatenate([sticks.own, sticks.unbroken])
        counts = rng.multinomial(n, pieces / pieces.sum())
        landed, waiting = np.split(counts, 2)
        leaf = np.repeat(np.arange(landed.size, dtype=np.int32), landed)
        if waiting.any():
            sticks, seats = self._break_for(waiting, sticks, rng)
            leaf = np.concatenate([leaf, seats])
        rng.shuffle(leaf)
        tree = sticks.tree
        everyone = np.concatenate([tree.leaf, leaf])
        here = np.bincount(leaf, minlength=tree.n_nodes).astype(np.int32)
        count = tree.count + accumulate_upward(here, tree.parent, tree.nodes_by_level)
        with_data = Tree.from_trusted(tree.parent, everyone, tree.level, count)
        return MassTree(with_data, sticks.mass, sticks.own, sticks.unbroken, sticks.n_sticks)

    def _break_for(
        self, waiting: np.ndarray, sticks: MassTree, rng: np.random.Generator
    ) -> tuple[MassTree, IntArray]:
        """Break off the pieces that ``waiting[w]`` data choose from what is left of stick w."""
        from sticktree.processes.seating import Nodes, Parties, seat

        tree = sticks.tree
        root = np.flatnonzero(waiting).astype(np.int32)
        seats = np.empty(waiting.sum(), dtype=np.int32)
        nobody = np.zeros(tree.n_nodes, dtype=np.int32)
        nodes, n_nodes = seat(
            Nodes(tree.parent.copy(), tree.level.copy(), nobody),
            tree.n_nodes,
            seats,
            Parties.fresh(root, waiting[root], self.discount * tree.n_children[root]),
            self.concentration.alpha,
            self.discount,
            rng.random((seats.size, 2)),
        )
        parent, level, count = (array[:n_nodes] for array in nodes)
        new = np.arange(tree.n_nodes, n_nodes)
        n_old_children = np.append(tree.n_children, np.zeros(new.size, dtype=np.int32))
        fraction, left = self._table_fractions(parent, level, count, n_old_children, new, rng)
        grown = np.zeros(n_nodes - tree.n_nodes)
        mass, unbroken = np.append(sticks.mass, grown), np.append(sticks.unbroken, grown)
        # At an old stick the new pieces share what was left; below, they share their parent.
        for siblings in nodes_by_level(level)[1:]:
            fresh = siblings[siblings >= tree.n_nodes]
            above = parent[fresh]
            whole = np.where(above < tree.n_nodes, unbroken[above], mass[above])
            mass[fresh] = whole * fraction[fresh]
        unbroken[root] *= left[root]
        inner = new[level[new] < self.depth]
        unbroken[inner] = mass[inner] * left[inner]
        own = np.append(sticks.own, np.where(level[new] == self.depth, mass[new], 0.0))
        nothing = np.zeros(new.size, dtype=np.int32)
        larger = Tree.from_trusted(parent, tree.leaf, level, np.append(tree.count, nothing))
        n_sticks = np.append(sticks.n_sticks, nothing)
        return MassTree(larger, mass, own, unbroken, n_sticks), seats

    def redraw(
        self,
        tree: Tree | MassTree,
        rng: np.random.Generator,
        order: Literal["tables", "sticks"] = "tables",
    ) -> MassTree:
        """Draw the sticks of a tree from their law given the numbers of data in its nodes.

        Parameters
        ----------
        tree : Tree or MassTree
            A tree with data in leaves of the last level. A MassTree, as :meth:`sample_paths`
            returns it, knows which of its pieces are sticks, and ``order`` is not used.
        rng : numpy.random.Generator
            Source of randomness.
        order : {"tables", "sticks"}, default="tables"
            What the order of siblings means in a Tree. ``"tables"``: nothing; they are the occupied
            tables of the restaurant, and their shares are Dirichlet(n₁ − d, …, n_K − d, α + K d),
            the last one unbroken. ``"sticks"``: child k is the k-th stick, and
            ν_k ~ Beta(1 − d + n_k, α + k d + n_{k+1} + …).
        """
        check_generator(rng)
        if order not in ("tables", "sticks"):
            raise ParameterError("order", order, '"tables" or "sticks"')
        if isinstance(tree, MassTree):
            n_sticks, tree = tree.n_sticks, tree.tree
        elif order == "sticks":
            n_sticks = tree.n_children
        else:
            n_sticks = np.zeros(tree.n_nodes, dtype=np.int32)
            check_occupied(tree)
        check_levels(tree, self.depth)
        rank = tree.rank
        is_table = rank > n_sticks[tree.parent]
        is_table[0] = False
        fraction, left = self._stick_fractions(tree, np.where(is_table, 0, rank), rng)
        tables = np.flatnonzero(is_table)
        share, rest = self._table_fractions(
            tree.parent, tree.level, tree.count, n_sticks, tables, rng
        )
        fraction[tables] = left[tree.parent[tables]] * share[tables]
        last = tree.level == self.depth
        unbroken = np.where(last, 0.0, left * np.where(tree.n_children > n_sticks, rest, 1.0))
        return masses_from_fractions(tree, n_sticks, fraction, last.astype(np.float64), unbroken)

    def _table_fractions(
        self,
        parent: IntArray,
        level: IntArray,
        count: IntArray,
        n_old_children: IntArray,
        nodes: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[FloatArray, FloatArray]:
        """Draw Dirichlet shares for ``nodes`` among siblings, and what each parent has left.

        Normalised gammas. Parents with K old children have concentration α + K d.
        """
        share = np.zeros(parent.size)
        share[nodes] = rng.standard_gamma(count[nodes] - self.discount)
        n_new = np.bincount(parent[nodes], minlength=parent.size)
        inner = level < self.depth
        left = np.ones(parent.size)
        alpha = self.concentration.alpha[level[inner]]
        rest = alpha + self.discount * (n_old_children + n_new)[inner]
        # A stick without children is left whole by any number; α itself need not be positive.
        left[inner] = rng.standard_gamma(np.where(rest > 0, rest, 1.0))
        total = left + np.bincount(parent[nodes], share[nodes], minlength=parent.size)
        share[nodes] /= total[parent[nodes]]
        return share, left / total

    def _stick_fractions(
        self, tree: Tree, rank: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw ν for every stick given the data on it and beyond it; multiply along.

        ``rank`` numbers the sticks of each node from 1; nodes of rank 0 are left out.
        """
        share = np.ones(tree.n_nodes)
        left = np.ones(tree.n_nodes)
        beyond = tree.count.astype(np.float64)  # data of each node that passed its sticks so far
        for nodes in nodes_by_level(rank):
            if rank[nodes[0]] == 0:
                continue
            above = tree.parent[nodes]
            beyond[above] -= tree.count[nodes]
            alpha = self.concentration.alpha[tree.level[above]] + rank[nodes] * self.discount
            nu = rng.beta(1 - self.discount + tree.count[nodes], alpha + beyond[above])
            share[nodes] = left[above] * nu
            left[above] *= 1 - nu
        return share, left
