"""Pictures of sticks, trees, diffusions and fits; needs matplotlib (``sticktree[plot]``).

Every function draws on the ``Axes`` it is given, or on new ones, and returns them. Every display
class keeps what it shows and draws it with ``plot``; ``from_estimator`` makes it from a fit.
"""

from sticktree.plotting.coclustering import CoclusteringDisplay, plot_coclustering
from sticktree.plotting.dendrogram import DendrogramDisplay, plot_dendrogram
from sticktree.plotting.density import DensityDisplay, plot_density
from sticktree.plotting.diffusion import plot_diffusion
from sticktree.plotting.figures import figure_density, figure_diffusion, figure_recursive_sticks
from sticktree.plotting.heatmap import HeatmapAxes, HeatmapDisplay, plot_heatmap
from sticktree.plotting.icicle import IcicleDisplay, plot_icicle
from sticktree.plotting.leaves import LeavesPerLevelDisplay, plot_leaves_per_level
from sticktree.plotting.scatter import ScatterDisplay, plot_scatter
from sticktree.plotting.sticks import plot_sticks
from sticktree.plotting.stream import StreamDisplay, plot_stream
from sticktree.plotting.traces import TracesDisplay, plot_traces
from sticktree.plotting.tree import plot_tree

__all__ = [
    "CoclusteringDisplay",
    "DendrogramDisplay",
    "DensityDisplay",
    "HeatmapAxes",
    "HeatmapDisplay",
    "IcicleDisplay",
    "LeavesPerLevelDisplay",
    "ScatterDisplay",
    "StreamDisplay",
    "TracesDisplay",
    "figure_density",
    "figure_diffusion",
    "figure_recursive_sticks",
    "plot_coclustering",
    "plot_dendrogram",
    "plot_density",
    "plot_diffusion",
    "plot_heatmap",
    "plot_icicle",
    "plot_leaves_per_level",
    "plot_scatter",
    "plot_sticks",
    "plot_stream",
    "plot_traces",
    "plot_tree",
]
