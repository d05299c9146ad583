"""The generative model: a random tree, parameters that diffuse down it, and data at its leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sticktree.checks import FloatArray, check_generator
from sticktree.processes.laws import EMPTY, TreeLaw
from sticktree.processes.restaurant import NestedRestaurant
from sticktree.processes.transitions import GaussianTransition, TransitionOperator
from sticktree.tree import Tree


@dataclass(frozen=True, eq=False)
class Simulation:
    """Data, and the tree and locations that generated them.

    Attributes
    ----------
    data : float array, shape (N, D)
        The data.
    tree : Tree
        The tree they follow.
    locations : float array, shape (M, D)
        The parameter φ of every node.
    """

    data: FloatArray
    tree: Tree
    locations: FloatArray


class DiffusionModel:
    """Data from a law over trees and a transition operator.

    Parameters
    ----------
    law : TreeLaw
        For example a :class:`~sticktree.processes.NestedRestaurant`. If its last step has infinite
        concentration, every datum makes one more step of its own from its leaf.
    transition : TransitionOperator
        How parameters diffuse and data arise.

    Examples
    --------
    The diffusion of the paper's Figure 2, first 20 data, then 1,000:

    >>> import numpy as np
    >>> from sticktree.processes import (
    ...     DiffusionModel, GaussianTransition, LogDivergence, NestedRestaurant
    ... )
    >>> rng = np.random.default_rng(0)
    >>> model = DiffusionModel(
    ...     NestedRestaurant(LogDivergence(), depth=40),
    ...     GaussianTransition(dimension=2, noise=0),
    ... )
    >>> few = model.sample(20, rng)
    >>> many = model.extend(few, 980, rng)
    >>> many.data.shape, bool((many.data[:20] == few.data).all())
    ((1000, 2), True)
    """

    def __init__(self, law: TreeLaw, transition: TransitionOperator) -> None:
        self.law = law
        self.transition = transition
        if isinstance(law, NestedRestaurant) and isinstance(transition, GaussianTransition):
            # Ask for every scale now, so that a list that is too short is noticed before work.
            transition.scale(self.private_level or law.depth)

    @property
    def private_level(self) -> int | None:
        """Level of the step that each datum makes by itself; None if there is none."""
        if isinstance(self.law, NestedRestaurant) and self.law.concentration.private_step:
            return self.law.depth + 1
        return None

    def sample(self, n: int, rng: np.random.Generator) -> Simulation:
        """Draw ``n`` data with their tree and the locations of its nodes."""
        check_generator(rng)
        nothing = np.empty((0, self.transition.dimension))
        root = Simulation(nothing, EMPTY, self.transition.sample_root(rng))
        return self.extend(root, n, rng)

    def extend(self, simulation: Simulation, n: int, rng: np.random.Generator) -> Simulation:
        """Draw ``n`` more data that continue the same tree; everything there stays."""
        check_generator(rng)
        if simulation.data.shape[1] != self.transition.dimension:
            raise ValueError(
                f"simulation has dimension {simulation.data.shape[1]}, but this model's transition "
                f"has {self.transition.dimension}"
            )
        old = simulation.tree
        tree = self.law.sample(n, rng, tree=old)
        locations = np.empty((tree.n_nodes, self.transition.dimension))
        locations[: old.n_nodes] = simulation.locations
        for level in range(1, tree.depth + 1):
            nodes = tree.nodes_at(level)
            nodes = nodes[nodes >= old.n_nodes]
            above = locations[tree.parent[nodes]]
            locations[nodes] = self.transition.sample_step(above, level, rng)
        at = locations[tree.leaf[old.n_data :]]
        if self.private_level is not None:
            at = self.transition.sample_step(at, self.private_level, rng)
        data = np.concatenate([simulation.data, self.transition.sample_data(at, rng)])
        return Simulation(data, tree, locations)

    def row_covariance(self, tree: Tree) -> FloatArray:
        """Return the N × N matrix S with data ~ MN(1m₀ᵀ, S, Σ) given the tree.

        Two data share the variance of all steps down to the node where they part. For Gaussian
        transitions only.
        """
        if not isinstance(self.transition, GaussianTransition):
            raise ValueError(
                f"row_covariance needs a GaussianTransition, got {type(self.transition).__name__}"
            )
        scales = [self.transition.scale(level) for level in range(tree.depth + 1)]
        shared = np.cumsum(scales)[tree.meeting_level_matrix()]
        own = self.transition.noise
        if self.private_level is not None:
            own += self.transition.scale(self.private_level)
        return shared + own * np.eye(tree.n_data)
