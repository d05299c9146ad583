"""The rows as points: in their two columns, or on the principal axes of more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sticktree.checks import FloatArray
from sticktree.data.readable import standardised
from sticktree.plotting.base import (
    CLASSES,
    INK,
    Display,
    data_of,
    names_of_data,
    new_axes,
    open_frame,
    rgb,
)
from sticktree.plotting.columns import read_data
from sticktree.plotting.groups import Groups, labels_of, read_groups
from sticktree.present.table import principal_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

MOST_LEGEND = 12
"""Clusters: a longer legend adds nothing to the picture."""
MOST_VECTORS = 3000
"""Points: more are drawn as pixels, or files become too large."""


def plot_scatter(
    data: Any,
    *,
    labels: Any = None,
    classes: Any = None,
    columns: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows as points, coloured by cluster or by class.

    Of more than two columns the first two principal axes are shown, of standardised columns;
    missing entries are then taken as the mean. Rows that lack one of two columns are not shown.

    Parameters
    ----------
    data : array or data frame, shape (N, D)
        The rows.
    labels, classes : sequence, optional
        A flat cluster or a class for each row, which gives its colour. One of them at most.
    columns : sequence of str, optional
        Names of the columns; by default those of the data frame.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sticktree.plotting import plot_scatter
    >>> ax = plot_scatter([[0.0, 1.0], [0.5, 1.5], [4.0, 4.0]], labels=[0, 0, 1])
    """
    return ScatterDisplay(data, labels=labels, classes=classes, columns=columns).plot(ax=ax).ax_


class ScatterDisplay(Display):
    """The rows as points; see :func:`plot_scatter`.

    Parameters
    ----------
    data : array or data frame, shape (N, D)
        The rows.
    labels, classes, columns
        As in :func:`plot_scatter`.
    """

    def __init__(
        self,
        data: Any,
        *,
        labels: Any = None,
        classes: Any = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        if labels is not None and classes is not None:
            raise ValueError("labels and classes cannot both be given: a point has one colour")
        self.data, self.columns = read_data(data, columns)
        self.labels = labels
        self.classes = classes

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, classes: Any = None, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the data of a fitted mixture, coloured by its clusters, or by class if given."""
        data = data_of(estimator)
        names = names_of_data(estimator)
        labels = labels_of(estimator) if classes is None else None
        return cls(data, labels=labels, classes=classes, columns=names).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; the argument is that of :func:`plot_scatter`."""
        n_data = len(self.data)
        groups = read_groups("labels", self.labels, n_data)
        if groups is None:
            groups = read_groups("classes", self.classes, n_data, CLASSES)
        points, names = _places(self.data, self.columns)
        ax = new_axes(ax, (4.8, 4.2))
        draw_points(ax, points, groups)
        open_frame(ax, *names)
        if groups is not None and (self.labels is None or len(groups.names) <= MOST_LEGEND):
            rest = "none" if self.classes is None else "missing"
            groups.legend(ax, rest, loc="upper left", bbox_to_anchor=(1.02, 1.0))
        return self._drawn(ax)


def draw_points(ax: Axes, points: FloatArray, groups: Groups | None) -> None:
    """Draw points in two columns; the more there are, the smaller."""
    n_data = len(points)
    colour = np.tile(rgb(INK), (n_data, 1)) if groups is None else groups.of_rows()
    size = float(np.clip(4000 / max(n_data, 1), 2.5, 22.0))
    few = size > 15
    ax.scatter(
        points[:, 0],
        points[:, 1],
        s=size,
        c=colour,
        edgecolors="white" if few else "none",
        linewidths=0.5 if few else 0.0,
        alpha=1.0 if few else 0.85,
        rasterized=n_data > MOST_VECTORS,
        zorder=3,
    )


def _places(data: FloatArray, columns: list[str]) -> tuple[FloatArray, tuple[str, str]]:
    """Return two coordinates of every row, and what they are."""
    n_data, n_columns = data.shape
    if n_columns == 2:
        return data, (columns[0], columns[1])
    if n_columns == 1:
        # Side by side in the order of the rows, which is as good as any.
        place = np.arange(n_data) / max(n_data - 1, 1)
        return np.column_stack([data[:, 0], place]), (columns[0], "place among the rows")
    places, share, _ = principal_axes(np.nan_to_num(standardised(data)))
    first, second = (f"principal axis {k + 1} ({100 * share[k]:.0f} %)" for k in (0, 1))
    return places, (first, second)
