"""The random trees of the paper: each law can be sampled, evaluated and checked.

From sticks to data:

- :class:`Masses`, :func:`frag`, :class:`FragmentationChain`: mass fragmentation, with the
  dislocation laws :class:`PoissonDirichlet`, :class:`BetaSplit`, :class:`FixedSplit` and
  :class:`CallableSplit`;
- :class:`LogDivergence`, :class:`ConstantDivergence`: concentrations by level;
- :class:`RecursiveSticks`: the Dirichlet fragmentation process; :class:`MassTree` is what it makes;
- :class:`NestedRestaurant`: the same with sticks integrated out; :class:`TreeStickBreaking`: a
  second law, in which data may stop at inner nodes;
- :class:`GroupedSticks`, :class:`GroupedRestaurant`: groups that share a tree, each with its own
  shares of every branch; the hierarchical and the nested Dirichlet process are limits;
- :class:`GaussianTransition`, :class:`DiffusionModel`: parameters that diffuse down the tree, and
  data;
- :func:`enumerate_trees`: all trees on a few data, the reference for everything else.
"""

from sticktree.processes.diffusion import DiffusionModel, Simulation
from sticktree.processes.dislocation import (
    BetaSplit,
    CallableSplit,
    Dislocation,
    FixedSplit,
    Masses,
    PoissonDirichlet,
    frag,
)
from sticktree.processes.divergence import (
    Concentration,
    ConstantDivergence,
    DiffusionDivergence,
    Divergence,
    LogDivergence,
    resolve_concentration,
)
from sticktree.processes.fragmentation import Fragmentation, FragmentationChain
from sticktree.processes.grouped_sticks import GroupedMasses, GroupedSticks
from sticktree.processes.groups import GroupedRestaurant, GroupedTree
from sticktree.processes.laws import NextDatum, TreeLaw, enumerate_trees, set_partitions
from sticktree.processes.mass_tree import MassTree
from sticktree.processes.parented_sticks import ParentedMasses, ParentedSticks
from sticktree.processes.parents import ParentedRestaurant, ParentedTree
from sticktree.processes.restaurant import NestedRestaurant
from sticktree.processes.sticks import RecursiveSticks
from sticktree.processes.transitions import GaussianTransition, TransitionOperator
from sticktree.processes.tree_sticks import TreeStickBreaking

__all__ = [
    "BetaSplit",
    "CallableSplit",
    "Concentration",
    "ConstantDivergence",
    "DiffusionDivergence",
    "DiffusionModel",
    "Dislocation",
    "Divergence",
    "FixedSplit",
    "Fragmentation",
    "FragmentationChain",
    "GaussianTransition",
    "GroupedMasses",
    "GroupedRestaurant",
    "GroupedSticks",
    "GroupedTree",
    "LogDivergence",
    "MassTree",
    "Masses",
    "NestedRestaurant",
    "NextDatum",
    "ParentedMasses",
    "ParentedRestaurant",
    "ParentedSticks",
    "ParentedTree",
    "PoissonDirichlet",
    "RecursiveSticks",
    "Simulation",
    "TransitionOperator",
    "TreeLaw",
    "TreeStickBreaking",
    "enumerate_trees",
    "frag",
    "resolve_concentration",
    "set_partitions",
]
