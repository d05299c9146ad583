"""What makes each cluster, as dots: clusters by columns, effects as colours, evidence as sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_integer
from sticktree.errors import ParameterError
from sticktree.plotting.base import (
    INK,
    SMALLEST,
    Display,
    check_fitted,
    new_axes,
    one_line,
)
from sticktree.plotting.columns import name_columns
from sticktree.posterior.markers import Markers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS = 40
MOST_CLUSTERS = 40
GAP = "#A0A0A0"
STRONGEST = 2.0  # effect at the ends of the colours
SMALLEST_DOT, LARGEST_DOT = 5.0, 130.0  # points²
PITCH = 0.3  # inches from dot to dot
SURE = (0.5, 0.8, 0.95, 1.0)  # evidence that the legend shows


def plot_markers(markers: Any, *, max_columns: int = MOST_COLUMNS, ax: Axes | None = None) -> Axes:
    """Draw what makes each cluster: a dot for each cluster in each column.

    Its colour is the effect, red where the cluster is higher than all other rows and blue where it
    is lower; the larger the dot, the surer the direction. A cross is where that is not known.
    Columns of categories are about the one that is more frequent in the cluster by most.

    Parameters
    ----------
    markers : Markers or fitted DFPMixture
        What to draw; of a mixture the markers of its clusters.
    max_columns : int, default=40
        Columns that are drawn, those with the largest effects first chosen.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if hasattr(markers, "fit"):
        display = MarkersDisplay.from_estimator(markers, max_columns=max_columns, ax=ax)
        return display.ax_
    return MarkersDisplay(markers).plot(ax=ax, max_columns=max_columns).ax_


class MarkersDisplay(Display):
    """Markers as dots; see :func:`plot_markers`.

    Parameters
    ----------
    markers : Markers
        What to draw.
    """

    def __init__(self, markers: Markers) -> None:
        if not isinstance(markers, Markers):
            raise TypeError(f"markers must be Markers, got {type(markers).__name__}")
        if not markers.clusters:
            raise ParameterError("markers", markers, "a cluster", verb="have", shown="none")
        self.markers = markers

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        labels: Any = None,
        max_columns: int = MOST_COLUMNS,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the markers of a fitted mixture, of its own clusters or of ``labels``."""
        markers = check_fitted(estimator).markers(labels)
        return cls(markers).plot(ax=ax, max_columns=max_columns)

    def plot(self, ax: Axes | None = None, *, max_columns: int = MOST_COLUMNS) -> Self:
        """Draw; the arguments are those of :func:`plot_markers`."""
        check_integer("max_columns", max_columns, minimum=1)
        columns, clusters = self._chosen(max_columns)
        markers = self.markers
        n_columns, n_clusters = columns.size, clusters.size
        width, height = (PITCH * max(n, 3) for n in (n_clusters, n_columns))
        ax = new_axes(ax, (width + 3.0, max(height + 0.7, 2.6)))
        ax.set_xlim(-0.6, n_clusters - 0.4)
        ax.set_ylim(n_columns - 0.4, -0.6)
        self._draw_dots(ax, columns, clusters)
        names = [one_line(markers.columns[d], 36) for d in columns]
        ax.set_yticks(range(n_columns), names, fontsize=7, parse_math=False)
        name_columns(ax, [one_line(markers.clusters[k], 18) for k in clusters])
        more = len(markers.clusters) - n_clusters
        ax.set_xlabel(f"largest clusters; {more:,} more" if more else "cluster", fontsize=8)
        if n_columns < len(markers.columns):
            ax.set_ylabel(f"{n_columns} of {len(markers.columns):,} columns", fontsize=8)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_axisbelow(True)
        ax.grid(color="#E6E6E6", linewidth=0.6)
        return self._drawn(ax)

    def _chosen(self, most: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return columns in which some cluster stands out by most, and the largest clusters."""
        effect = np.abs(np.nan_to_num(self.markers.contrast.effect, nan=0.0))
        found = self.markers.contrast.probability
        sure = np.nan_to_num(np.abs(2 * found - 1), nan=0.0)
        by_strength = np.argsort(-(np.minimum(effect, 1e9) * sure).max(axis=0), kind="stable")
        by_size = np.argsort(-self.markers.sizes, kind="stable")
        return np.sort(by_strength[:most]), np.sort(by_size[:MOST_CLUSTERS])

    def _draw_dots(
        self, ax: Axes, columns: npt.NDArray[np.int64], clusters: npt.NDArray[np.int64]
    ) -> None:
        contrast, place = self.markers.contrast, np.ix_(clusters, columns)
        effect, probability = contrast.effect[place], contrast.probability[place]
        known = ~np.isnan(probability)
        evidence = np.maximum(probability, 1 - probability)
        place_y, place_x = np.nonzero(known.T)
        shown = ax.scatter(
            place_x,
            place_y,
            s=_areas(evidence.T[known.T]),
            c=np.clip(effect.T[known.T], -STRONGEST, STRONGEST),
            cmap="RdBu_r",
            vmin=-STRONGEST,
            vmax=STRONGEST,
            edgecolors=INK,
            linewidths=0.4,
            zorder=3,
        )
        gap_y, gap_x = np.nonzero(~known.T)
        ax.scatter(gap_x, gap_y, s=12, color=GAP, marker="x", linewidths=0.7)
        beyond = bool((effect < -STRONGEST).any()), bool((effect > STRONGEST).any())
        extend = {(True, True): "both", (True, False): "min", (False, True): "max"}
        bar = ax.figure.colorbar(
            shown,
            ax=ax,
            shrink=0.42,
            aspect=9,
            pad=0.04,
            anchor=(0.0, 0.0),
            extend=extend.get(beyond, "neither"),
            ticks=[-STRONGEST, 0, STRONGEST],
        )
        bar.set_label("effect (sd within)", fontsize=7)
        bar.ax.tick_params(labelsize=SMALLEST)
        bar.outline.set_visible(False)
        self._legend(bar.ax, gaps=bool(gap_x.size))

    @staticmethod
    def _legend(ax: Axes, *, gaps: bool) -> None:
        """Write what sizes of dots mean above the colours."""
        from matplotlib.lines import Line2D

        look: dict[str, Any] = {"linestyle": "none", "markeredgewidth": 0.4}
        dots = [
            Line2D(
                [],
                [],
                marker="o",
                markersize=float(_areas(np.array([evidence]))[0]) ** 0.5,
                markerfacecolor="#BBBBBB",
                markeredgecolor=INK,
                label=f"{evidence:g}",
                **look,
            )
            for evidence in SURE
        ]
        if gaps:
            look["markeredgewidth"] = 0.7
            dots.append(
                Line2D([], [], marker="x", markersize=3.5, color=GAP, label="not known", **look)
            )
        ax.legend(
            handles=dots,
            title="probability\nof direction",
            title_fontsize=7,
            fontsize=SMALLEST,
            loc="lower left",
            bbox_to_anchor=(-0.6, 1.15),
            frameon=False,
            alignment="left",
            handletextpad=0.4,
            borderpad=0.0,
        )


def _areas(evidence: FloatArray) -> FloatArray:
    """Return areas of dots: from the smallest at 1/2 to the largest at 1."""
    return np.asarray(SMALLEST_DOT + (LARGEST_DOT - SMALLEST_DOT) * (2 * evidence - 1) ** 2)
