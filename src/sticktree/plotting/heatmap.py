"""The data as a heat map, with rows in the order of the tree at its side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sticktree.checks import FloatArray
from sticktree.plotting.branches import colours_of, draw_branches
from sticktree.plotting.canvas import outline_for
from sticktree.plotting.columns import (
    correlation_linkage,
    draw_linkage,
    name_columns,
    read_data,
    standardised,
)
from sticktree.plotting.display import check_tree, data_of, labels_of, read_names, tree_of
from sticktree.plotting.frame import Frame
from sticktree.plotting.groups import Groups, read_groups
from sticktree.plotting.lettering import one_line
from sticktree.plotting.outline import Rows
from sticktree.plotting.strip import draw_strip
from sticktree.plotting.style import CLASSES, pyplot
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpecBase

__all__ = ["HeatmapAxes", "HeatmapDisplay", "plot_heatmap"]

MISSING = "#A0A0A0"
"""Grey of missing entries: no colour of the map is a grey as dark."""
MOST_ROWS = 2000  # of the picture; more are averaged
MOST_SPREAD = 3.0  # standard deviations at the ends of the map
TREE, STRIP, TOP = 1.7, 0.12, 0.55  # inches


class HeatmapAxes(NamedTuple):
    """The Axes of a heat map: the map, the tree of the rows, and what else there is."""

    heat: Axes
    tree: Axes
    columns: Axes | None
    classes: Axes | None
    scale: Axes


def plot_heatmap(
    data: Any,
    tree: Tree,
    *,
    columns: Sequence[str] | None = None,
    names: bool | Sequence[str] = True,
    classes: Any = None,
    labels: Any = None,
    order_columns: bool = True,
    standardise: bool = True,
    ax: Axes | None = None,
    figure: Figure | None = None,
) -> HeatmapAxes:
    """Draw data as a heat map, its rows in the order of a tree that is drawn at its side.

    Missing entries are grey. Of more than 2,000 rows neighbours are averaged.

    Parameters
    ----------
    data : array or data frame, shape (N, D)
        A row for each datum of the tree.
    tree : Tree
        The order of the rows.
    columns : sequence of str, optional
        Names of the columns; by default those of the data frame.
    names : bool or sequence of str, default=True
        Whether to write the names of the tree's data where they have room, or names to write.
    classes : sequence, optional
        A class for each datum, of any kind, None or NaN where it is missing: a strip.
    labels : sequence, optional
        A flat cluster for each datum, for the colours of the branches.
    order_columns : bool, default=True
        Order columns by average linkage on their correlations, shown above.
    standardise : bool, default=True
        Centre columns and divide them by their standard deviations.
    ax : matplotlib Axes, optional
        Axes of a grid of subplots whose place is taken; they are hidden.
    figure : matplotlib Figure or SubFigure, optional
        An empty figure to fill; by default a new one.

    Returns
    -------
    HeatmapAxes
        The Axes by name: ``heat``, ``tree``, ``columns``, ``classes`` and ``scale``.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree import Tree
    >>> from sticktree.plotting import plot_heatmap
    >>> tree = Tree.from_paths([(1, 1), (2, 1), (1, 2)])
    >>> axes = plot_heatmap([[1.0, 2.0], [5.0, np.nan], [1.5, 2.5]], tree, columns=["a", "b"])
    """
    display = HeatmapDisplay(
        data, tree, columns=columns, names=names, classes=classes, labels=labels
    )
    display.plot(ax=ax, figure=figure, order_columns=order_columns, standardise=standardise)
    return display.axes_


class HeatmapDisplay:
    """The data as a heat map beside a tree; see :func:`plot_heatmap`.

    Parameters
    ----------
    data : array or data frame, shape (N, D)
        A row for each datum of the tree.
    tree : Tree
        The order of the rows.
    columns, names, classes, labels
        As in :func:`plot_heatmap`.

    Attributes
    ----------
    axes_ : HeatmapAxes
        All Axes, by name.
    ax_ : matplotlib Axes
        Those of the heat map itself.
    figure_ : matplotlib Figure
        The figure of these.
    """

    axes_: HeatmapAxes
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        data: Any,
        tree: Tree,
        *,
        columns: Sequence[str] | None = None,
        names: bool | Sequence[str] = True,
        classes: Any = None,
        labels: Any = None,
    ) -> None:
        self.tree = check_tree(tree)
        self.data, self.columns = read_data(data, columns, tree.n_data)
        self.names = names
        self.classes = classes
        self.labels = labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        columns: Sequence[str] | None = None,
        names: bool | Sequence[str] = True,
        classes: Any = None,
        labels: Any = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the data of a fitted mixture beside its tree, coloured by its clusters.

        Further arguments are those of :meth:`plot`.
        """
        tree = tree_of(estimator)
        if columns is None:
            columns = [str(name) for name in estimator.columns_.names]
        display = cls(
            data_of(estimator),
            tree,
            columns=[str(name) for name in estimator.columns_.names]
            if columns is None
            else columns,
            names=names,
            classes=classes,
            labels=labels_of(estimator, tree) if labels is None else labels,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        figure: Figure | None = None,
        order_columns: bool = True,
        standardise: bool = True,
    ) -> Self:
        """Draw; the arguments are those of :func:`plot_heatmap`."""
        if ax is not None and figure is not None:
            raise ValueError("ax and figure cannot both be given")
        rows = Rows.of(self.tree)
        names = read_names(self.names, self.tree)
        classes = read_groups("classes", self.classes, self.tree.n_data, CLASSES)
        labels = read_groups("labels", self.labels, self.tree.n_data)
        values = standardised(self.data) if standardise else self.data
        linkage = correlation_linkage(self.data) if order_columns else None

        axes = self._axes(ax, figure, classes is not None, linkage is not None)
        order = np.arange(values.shape[1])
        if linkage is not None and axes.columns is not None:
            order = draw_linkage(axes.columns, linkage)
        self._draw_heat(axes, values[rows.order][:, order], standardise)
        frame = Frame(axes.heat, "left")
        frame.limit(-0.5, values.shape[1] - 0.5, rows.n_rows)
        # Names change the size of the map, and so whether there is room for others.
        name_columns(axes.heat, [one_line(self.columns[k]) for k in order])
        _, across = frame.lengths()
        width = 0.0
        if names is not None:
            texts = [names[i] for i in rows.order]
            at = np.arange(0.5, rows.n_rows)
            width = frame.name_rows(at, texts, across / rows.n_rows)
        else:
            axes.heat.set_yticks([])
        if classes is not None and axes.classes is not None:
            self._draw_classes(axes, classes, rows, width)
        self._draw_tree(axes.tree, rows, labels)
        self.axes_, self.ax_ = axes, axes.heat
        self.figure_ = axes.heat.figure.figure
        return self

    def _axes(
        self, ax: Axes | None, figure: Figure | None, has_classes: bool, has_linkage: bool
    ) -> HeatmapAxes:
        """Make the Axes: the trees at the left and above, the scale in the corner."""
        n_rows, n_columns = self.data.shape
        wide = float(np.clip(0.26 * n_columns, 1.8, 6.5))
        high = float(np.clip(0.14 * n_rows, 2.0, 7.5))
        widths = [TREE, *([STRIP] if has_classes else []), wide]
        shape: dict[str, Any] = {
            "nrows": 2,
            "ncols": len(widths),
            "width_ratios": widths,
            "height_ratios": [TOP, high],
            "wspace": 0.02,
            "hspace": 0.02,
        }
        grid: GridSpecBase
        if ax is not None:
            place = ax.get_subplotspec()
            if place is None:
                raise ValueError("ax must be one of a grid of subplots, got Axes without a grid")
            ax.set_axis_off()
            home: Any = ax.figure
            grid = place.subgridspec(**shape)
        else:
            if figure is None:
                size = (sum(widths) + 1.1, TOP + high + 0.6)
                figure = pyplot().figure(figsize=size, layout="constrained")
            home = figure
            grid = home.add_gridspec(**shape)
        heat = home.add_subplot(grid[1, -1])
        side = home.add_subplot(grid[1, 0])
        strip = home.add_subplot(grid[1, 1]) if has_classes else None
        above = home.add_subplot(grid[0, -1]) if has_linkage else None
        corner = home.add_subplot(grid[0, 0])
        corner.set_axis_off()
        scale = corner.inset_axes((0.05, 0.52, 0.8, 0.2))
        engine = heat.figure.figure.get_layout_engine()
        if ax is None and engine is not None and engine.adjust_compatible is False:
            engine.set(w_pad=0.02, h_pad=0.02)
        return HeatmapAxes(heat, side, above, strip, scale)

    @staticmethod
    def _draw_heat(axes: HeatmapAxes, values: FloatArray, standardise: bool) -> None:
        from matplotlib import colormaps

        n_rows = len(values)
        step = -(-n_rows // MOST_ROWS)
        if step > 1:
            values = _averaged(values, step)
        seen = values[np.isfinite(values)]
        if standardise:
            most = float(np.quantile(np.abs(seen), 0.99)) if seen.size else 1.0
            high = float(np.clip(most, 1.0, MOST_SPREAD))
            low, colours, label = -high, colormaps["RdBu_r"], "standard deviations"
        else:
            low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
            high = high if high > low else low + 1.0
            colours, label = colormaps["cividis"], "value"
        beyond = (seen < low).any(), (seen > high).any()
        extend = {(False, False): "neither", (True, False): "min", (False, True): "max"}
        image = axes.heat.imshow(
            values,
            cmap=colours.with_extremes(bad=MISSING),
            vmin=low,
            vmax=high,
            aspect="auto",
            interpolation="nearest",
            extent=(-0.5, values.shape[1] - 0.5, n_rows, 0),
        )
        bar = axes.heat.figure.colorbar(
            image,
            cax=axes.scale,
            orientation="horizontal",
            extend=extend.get((bool(beyond[0]), bool(beyond[1])), "both"),
        )
        bar.outline.set_visible(False)
        axes.scale.tick_params(labelsize=6, length=2, pad=1)
        if np.isnan(values).any():
            label += "\n(grey: missing)"
        if standardise:
            bar.set_ticks([-math.floor(high), 0, math.floor(high)])
        else:
            bar.set_ticks([low, high], labels=[f"{low:.3g}", f"{high:.3g}"])
        axes.scale.set_xlabel(label, fontsize=6, labelpad=1, loc="left")
        # The words may be wider than the tree below them, which is not to move.
        axes.scale.set_in_layout(False)
        axes.heat.spines[:].set_visible(False)
        axes.heat.tick_params(length=0)

    @staticmethod
    def _draw_classes(axes: HeatmapAxes, classes: Groups, rows: Rows, width: float) -> None:
        from matplotlib.transforms import ScaledTranslation

        assert axes.classes is not None
        frame = Frame(axes.classes, "left")
        frame.limit(0.0, 1.0, rows.n_rows)
        draw_strip(frame, classes.of_rows()[rows.order], 0.0, 1.0)
        axes.classes.set_axis_off()
        shift = ScaledTranslation((width + 8.0) / 72, 0, frame.figure.dpi_scale_trans)
        classes.legend(
            axes.heat,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            bbox_transform=axes.heat.transAxes + shift,
        )

    @staticmethod
    def _draw_tree(ax: Axes, rows: Rows, labels: Groups | None) -> None:
        frame = Frame(ax, "left")
        frame.limit(0.0, rows.end, rows.n_rows)
        _, across = frame.lengths()
        outline = outline_for(rows, across)
        frame.label_times(rows.end, "level")
        pitch = across / rows.n_rows
        draw_branches(frame, outline, colours_of(outline, labels), pitch=pitch)


def _averaged(values: FloatArray, step: int) -> FloatArray:
    """Return means of each ``step`` rows, of what is observed of them."""
    starts = np.arange(0, len(values), step)
    seen = np.isfinite(values)
    count = np.add.reduceat(seen.astype(float), starts, axis=0)
    total = np.add.reduceat(np.where(seen, values, 0.0), starts, axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count)
