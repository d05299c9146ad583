"""Pictures of sticks, trees, diffusions and fits; needs matplotlib (``sticktree[plot]``).

Every function draws on the ``Axes`` it is given, or on new ones, and returns them. Every display
class keeps what it shows and draws it with ``plot``; ``from_estimator`` makes it from a fit.
"""

from sticktree.plotting.columns import HeatmapAxes
from sticktree.plotting.composition import CompositionDisplay, plot_composition
from sticktree.plotting.density import DensityDisplay, figure_density, plot_density
from sticktree.plotting.heatmap import HeatmapDisplay, plot_heatmap
from sticktree.plotting.loadings import LoadingsDisplay, plot_loadings
from sticktree.plotting.markers import MarkersDisplay, plot_markers
from sticktree.plotting.posterior import (
    CoclusteringDisplay,
    LeavesPerLevelDisplay,
    plot_coclustering,
    plot_leaves_per_level,
)
from sticktree.plotting.processes import (
    figure_diffusion,
    figure_recursive_sticks,
    plot_diffusion,
    plot_sticks,
    plot_tree,
)
from sticktree.plotting.relevance import RelevanceDisplay, plot_relevance
from sticktree.plotting.scatter import ScatterDisplay, plot_scatter
from sticktree.plotting.traces import StreamDisplay, TracesDisplay, plot_stream, plot_traces
from sticktree.plotting.trees import DendrogramDisplay, IcicleDisplay, plot_dendrogram, plot_icicle

__all__ = [
    "CoclusteringDisplay",
    "CompositionDisplay",
    "DendrogramDisplay",
    "DensityDisplay",
    "HeatmapAxes",
    "HeatmapDisplay",
    "IcicleDisplay",
    "LeavesPerLevelDisplay",
    "LoadingsDisplay",
    "MarkersDisplay",
    "RelevanceDisplay",
    "ScatterDisplay",
    "StreamDisplay",
    "TracesDisplay",
    "figure_density",
    "figure_diffusion",
    "figure_recursive_sticks",
    "plot_coclustering",
    "plot_composition",
    "plot_dendrogram",
    "plot_density",
    "plot_diffusion",
    "plot_heatmap",
    "plot_icicle",
    "plot_leaves_per_level",
    "plot_loadings",
    "plot_markers",
    "plot_relevance",
    "plot_scatter",
    "plot_sticks",
    "plot_stream",
    "plot_traces",
    "plot_tree",
]
