"""The data as a heat map, with rows in the order of the tree at its side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sticktree.checks import FloatArray
from sticktree.data.readable import standardised
from sticktree.errors import ParameterError
from sticktree.plotting.base import (
    CLASSES,
    TIMES,
    Display,
    WhichTree,
    check_tree,
    data_of,
    names_of_data,
    one_line,
    read_names,
    tree_of,
)
from sticktree.plotting.branches import draw_branches
from sticktree.plotting.canvas import Frame, draw_strip, outline_for
from sticktree.plotting.columns import (
    HeatmapAxes,
    correlation_linkage,
    draw_linkage,
    lay_out,
    name_columns,
    read_data,
)
from sticktree.plotting.groups import Groups, colours_of, labels_of, read_groups
from sticktree.plotting.outline import Rows
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MISSING = "#A0A0A0"
"""Grey of missing entries: no colour of the map is a grey as dark."""
MOST_ROWS = 2000  # of the picture; more are averaged
MOST_SPREAD = 3.0  # standard deviations at the ends of the map


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


class HeatmapDisplay(Display):
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
        All Axes, by name; ``ax_`` are those of the heat map itself.
    """

    axes_: HeatmapAxes

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
        self.times = TIMES["consensus"]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        tree: WhichTree = "consensus",
        columns: Sequence[str] | None = None,
        names: bool | Sequence[str] = True,
        classes: Any = None,
        labels: Any = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the data of a fitted mixture beside a tree, coloured as in its dendrogram.

        ``tree`` is "consensus" for ``tree_`` or "clusters" for ``cluster_tree_``. Further arguments
        are those of :meth:`plot`.
        """
        if columns is None:
            columns = names_of_data(estimator)
        display = cls(
            data_of(estimator),
            tree_of(estimator, tree),
            columns=columns,
            names=names,
            classes=classes,
            labels=labels_of(estimator) if labels is None else labels,
        )
        display.times = TIMES[tree]
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
        if ax is not None and ax.get_subplotspec() is None:
            raise ParameterError("ax", ax, "one of a grid of subplots", shown="Axes without a grid")
        rows = Rows.of(self.tree)
        names = read_names(self.names, self.tree)
        classes = read_groups("classes", self.classes, self.tree.n_data, CLASSES)
        labels = read_groups("labels", self.labels, self.tree.n_data)
        values = standardised(self.data) if standardise else self.data
        linkage = correlation_linkage(self.data) if order_columns else None

        axes = lay_out(
            self.data.shape,
            ax,
            figure,
            has_classes=classes is not None,
            has_linkage=linkage is not None,
        )
        order = np.arange(values.shape[1])
        if linkage is not None and axes.columns is not None:
            order = draw_linkage(axes.columns, linkage)
        self._draw_heat(axes, values[rows.order][:, order], standardise)
        frame = Frame(axes.heat, "left")
        frame.limit(-0.5, values.shape[1] - 0.5, rows.n_rows)
        at = np.arange(0.5, rows.n_rows)
        texts = [] if names is None else [names[i] for i in rows.order]
        # Names of rows take room from columns and those of columns from rows: it takes two rounds.
        for first in (True, False):
            name_columns(axes.heat, [one_line(self.columns[k]) for k in order])
            width = frame.name_rows(at, texts, frame.lengths()[1] / rows.n_rows)
            if first:
                self._draw_classes(axes, classes, rows, width)
        self._draw_tree(axes.tree, rows, labels, self.times)
        self.axes_ = axes
        return self._drawn(axes.heat)

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
        if standardise:
            bar.set_ticks([-math.floor(high), 0, math.floor(high)])
        else:
            bar.set_ticks([low, high], labels=[f"{low:.3g}", f"{high:.3g}"])
        axes.scale.set_xlabel(label, fontsize=6, labelpad=1, loc="left")
        # The words may be wider than the tree below them, which is not to move.
        axes.scale.set_in_layout(False)
        axes.heat.spines[:].set_visible(False)
        axes.heat.tick_params(length=0)

    def _draw_classes(
        self, axes: HeatmapAxes, classes: Groups | None, rows: Rows, width: float
    ) -> None:
        """Draw the strip of classes, and a legend of them and of what is missing."""
        from matplotlib.transforms import ScaledTranslation

        if classes is not None and axes.classes is not None:
            frame = Frame(axes.classes, "left")
            frame.limit(0.0, 1.0, rows.n_rows)
            draw_strip(frame, classes.of_rows()[rows.order], 0.0, 1.0)
            axes.classes.set_axis_off()
        gaps = {"entry missing": MISSING} if np.isnan(self.data).any() else {}
        if classes is None and not gaps:
            return
        figure = axes.heat.figure.figure
        shift = ScaledTranslation((width + 8.0) / 72, 0, figure.dpi_scale_trans)
        shown = Groups(np.empty(0, dtype=np.int32), [], np.empty((0, 3)))
        (classes or shown).legend(
            axes.heat,
            more=gaps,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            bbox_transform=axes.heat.transAxes + shift,
        )

    @staticmethod
    def _draw_tree(ax: Axes, rows: Rows, labels: Groups | None, times: str) -> None:
        frame = Frame(ax, "left")
        frame.limit(0.0, rows.end, rows.n_rows)
        _, across = frame.lengths()
        outline = outline_for(rows, across)
        frame.label_times(rows.end, times)
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
