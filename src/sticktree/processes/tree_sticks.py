"""Tree-structured stick breaking, where data may stop at inner nodes.

R. P. Adams, Z. Ghahramani and M. I. Jordan, "Tree-structured stick breaking for hierarchical data",
NIPS 23, 2010. The paper derives recursive sticks from it: stopping is what it takes away.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, gammaln

from sticktree.checks import (
    FloatArray,
    IntArray,
    check_fraction,
    check_generator,
    check_integer,
    check_positive,
    is_real,
)
from sticktree.errors import ParameterError
from sticktree.processes.dislocation import PoissonDirichlet
from sticktree.processes.laws import EMPTY, NextDatum, check_expanded, check_occupied
from sticktree.processes.mass_tree import MassTree
from sticktree.tree import NULL, Tree


class TreeStickBreaking:
    """Sticks interleaved: a node keeps ν ~ Beta(1, α(l)) of its mass and breaks the rest for ever.

    The rest goes to children by sticks ψ ~ Beta(1, γ), and α(l) = α₀·λˡ. There is no last level:
    the tree is as deep as the data ask for.

    Parameters
    ----------
    alpha : float
        α₀ > 0: how reluctant data are to stop at the root.
    decay : float, default=0.5
        0 < λ ≤ 1: how fast the reluctance wanes with the level.
    gamma : float, default=1
        γ > 0: the concentration of children.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes import TreeStickBreaking
    >>> tree = TreeStickBreaking(alpha=2.0).sample(50, np.random.default_rng(0))
    >>> tree.n_data, bool((tree.n_children[tree.leaf] > 0).any())
    (50, True)
    """

    def __init__(self, alpha: float, decay: float = 0.5, gamma: float = 1.0) -> None:
        self.alpha = check_positive("alpha", alpha)
        if not is_real(decay) or not 0 < decay <= 1:
            raise ParameterError("decay", decay, "a number strictly between 0 and 1, or 1")
        self.decay = float(decay)
        self.gamma = check_positive("gamma", gamma)

    def _alpha(self, level: np.ndarray) -> FloatArray:
        # Far down, α underflows; the smallest normal number stops data just as surely.
        return np.maximum(self.alpha * self.decay**level, np.finfo(np.float64).tiny)

    def sample_masses(self, rng: np.random.Generator, truncation: float = 1e-4) -> MassTree:
        """Break the unit stick; pieces lighter than ``truncation`` stay unbroken."""
        check_generator(rng)
        check_fraction("truncation", truncation)
        branching = PoissonDirichlet(self.gamma)
        parent = [np.array([NULL], dtype=np.int32)]
        mass, own, unbroken = [np.ones(1)], [], []
        first = 0
        while mass[-1].size:
            here = mass[-1]
            heavy = np.flatnonzero(here >= truncation)
            kept, left = np.zeros(here.size), here.copy()
            level = np.full(heavy.size, len(mass) - 1)
            kept[heavy] = here[heavy] * rng.beta(1.0, self._alpha(level))
            pieces = branching.break_sticks((here - kept)[heavy], rng, truncation)
            left[heavy] = pieces.unbroken
            own.append(kept)
            unbroken.append(left)
            parent.append((first + heavy[pieces.stick]).astype(np.int32))
            mass.append(pieces.mass)
            first += here.size
        levels = np.repeat(np.arange(len(mass), dtype=np.int32), [m.size for m in mass])
        tree = Tree(np.concatenate(parent), level=levels)
        return MassTree(tree, np.concatenate(mass), np.concatenate(own), np.concatenate(unbroken))

    def sample(self, n: int, rng: np.random.Generator, tree: Tree | None = None) -> Tree:
        """Draw ``n`` data, into an empty tree or after those of ``tree``.

        Level after level: stopping probabilities and children's shares are drawn given the data
        that are there already, and all new data choose at once. Nodes and data of ``tree`` keep
        their numbers.
        """
        n = check_integer("n", n, minimum=0)
        check_generator(rng)
        tree = EMPTY if tree is None else tree
        check_expanded(tree)
        check_occupied(tree)
        parent = [tree.parent]
        n_nodes = tree.n_nodes
        leaf = np.empty(n, dtype=np.int32)
        going = np.arange(n)  # data on their way, and the nodes they are at
        at = np.zeros(n, dtype=np.int32)
        shares = rng.standard_gamma(tree.count)  # of each old node among its siblings, unscaled
        level = 0
        while going.size:
            nodes, which = np.unique(at, return_inverse=True)
            own, below = self._seated(tree, nodes)
            stop = rng.beta(1 + own, self._alpha(np.full(nodes.size, level)) + below)
            stops = rng.random(going.size) < stop[which]
            leaf[going[stops]] = at[stops]
            going, at = going[~stops], at[~stops]
            child = self._existing_child(tree, at, shares, rng)
            at, opened = self._new_children(at, child, n_nodes, rng)
            parent.append(opened)
            n_nodes += opened.size
            level += 1
        return Tree(np.concatenate(parent), np.concatenate([tree.leaf, leaf]))

    def _seated(self, tree: Tree, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the earlier data that stopped at each node, and those that went on."""
        own, below = np.zeros(nodes.size), np.zeros(nodes.size)
        old = nodes < tree.n_nodes
        own[old] = tree.own_count[nodes[old]]
        below[old] = tree.count[nodes[old]] - own[old]
        return own, below

    def _existing_child(
        self, tree: Tree, at: IntArray, shares: FloatArray, rng: np.random.Generator
    ) -> IntArray:
        """Choose a child with earlier data for each datum, or ``NULL`` for a new one.

        The shares of all families lie end to end on one line; a uniform point on the part that
        belongs to a family, and to what it has left, finds the child.
        """
        chosen = np.full(at.size, NULL, dtype=np.int32)
        old = np.flatnonzero(at < tree.n_nodes)
        node = at[old]
        children = tree.child_table
        line = np.concatenate([[0.0], np.cumsum(shares[children.ids])])
        first, end = line[children.start[node]], line[children.start[node + 1]]
        left = rng.standard_gamma(self.gamma, tree.n_nodes)[node]
        point = first + rng.random(old.size) * (end - first + left)
        taken = point < end
        place = np.searchsorted(line, point[taken], side="right") - 1
        chosen[old[taken]] = children.ids[place]
        return chosen

    def _new_children(
        self, at: IntArray, child: IntArray, n_nodes: int, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Seat data without a child in fresh restaurants; return places and new nodes' parents."""
        from sticktree.processes.seating import Nodes, Parties, seat

        homeless = np.flatnonzero(child == NULL)
        homeless = homeless[np.argsort(at[homeless], kind="stable")]
        above, n_below = np.unique(at[homeless], return_counts=True)
        seats = np.empty(homeless.size, dtype=np.int32)
        forest = np.zeros(above.size, dtype=np.int32)  # one root for each node above
        nodes, n_seen = seat(
            Nodes(forest + NULL, forest.copy(), forest.copy()),
            above.size,
            seats,
            Parties.fresh(np.arange(above.size), n_below, np.zeros(above.size)),
            np.array([self.gamma]),
            0.0,
            rng.random((homeless.size, 2)),
        )
        child[homeless] = seats - above.size + n_nodes
        return child, above[nodes.parent[above.size : n_seen]]

    def log_prob(self, tree: Tree) -> float:
        """Return the log probability of a tree with its data, sticks integrated out.

        Examples
        --------
        >>> import math
        >>> from sticktree import Tree
        >>> law = TreeStickBreaking(alpha=1.0, decay=1.0)
        >>> round(math.exp(law.log_prob(Tree([-1], leaf=[0, 0]))), 12)  # 1/2 · 2/3
        0.333333333333
        """
        check_expanded(tree)
        check_occupied(tree)
        alpha = self._alpha(tree.level)
        own, below = tree.own_count, tree.count - tree.own_count
        stopping = betaln(1 + own, alpha + below) - betaln(1, alpha)
        branching = (
            gammaln(self.gamma) - gammaln(self.gamma + below) + tree.n_children * np.log(self.gamma)
        )
        return float(stopping.sum() + branching.sum() + gammaln(tree.count[1:]).sum())

    def next_datum(self, tree: Tree) -> NextDatum:
        """Return the probabilities of stopping at, passing and branching from every node."""
        check_expanded(tree)
        check_occupied(tree)
        alpha = self._alpha(tree.level)
        own, below = tree.own_count, tree.count - tree.own_count
        stop = (1 + own) / (1 + own + below + alpha)
        reach = np.ones(tree.n_nodes)
        for nodes in tree.nodes_by_level[1:]:
            above = tree.parent[nodes]
            on = reach[above] * (1 - stop[above])
            reach[nodes] = on * tree.count[nodes] / (below[above] + self.gamma)
        new_branch = reach * (1 - stop) * self.gamma / (below + self.gamma)
        return NextDatum(reach, reach * stop, new_branch)
