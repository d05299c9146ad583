"""Pictures of sticks, trees and diffusions; needs matplotlib (``pip install sticktree[plot]``).

Every function draws on the ``Axes`` it is given, or on new ones, and returns them.
"""

from sticktree.plotting.diffusion import plot_diffusion
from sticktree.plotting.figures import figure_diffusion, figure_recursive_sticks
from sticktree.plotting.sticks import plot_sticks
from sticktree.plotting.tree import plot_tree

__all__ = [
    "figure_diffusion",
    "figure_recursive_sticks",
    "plot_diffusion",
    "plot_sticks",
    "plot_tree",
]
