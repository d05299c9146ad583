"""Pictures of sticks, trees, diffusions and fits; needs matplotlib (``sticktree[plot]``).

Every function draws on the ``Axes`` it is given, or on new ones, and returns them. Every display
class keeps what it shows and draws it with ``plot``; ``from_estimator`` makes it from a fit.
"""

from sticktree.plotting.dendrogram import DendrogramDisplay, plot_dendrogram
from sticktree.plotting.diffusion import plot_diffusion
from sticktree.plotting.figures import figure_diffusion, figure_recursive_sticks
from sticktree.plotting.icicle import IcicleDisplay, plot_icicle
from sticktree.plotting.sticks import plot_sticks
from sticktree.plotting.tree import plot_tree

__all__ = [
    "DendrogramDisplay",
    "IcicleDisplay",
    "figure_diffusion",
    "figure_recursive_sticks",
    "plot_dendrogram",
    "plot_diffusion",
    "plot_icicle",
    "plot_sticks",
    "plot_tree",
]
