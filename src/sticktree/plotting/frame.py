"""Times along one axis of a picture and rows along the other, whichever way the tree grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.plotting.lettering import LINE, SMALLEST_NAME, widest
from sticktree.plotting.style import points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = ["Frame", "Orientation", "check_orientation"]

Orientation = Literal["left", "right", "top", "bottom"]
"""Where the root is."""
LARGEST_NAME = 8.0  # points


def check_orientation(orientation: Any) -> None:
    """Say which orientations there are, if it is none of them."""
    if orientation not in get_args(Orientation):
        raise ValueError(
            f"orientation must be one of {', '.join(map(repr, get_args(Orientation)))}, "
            f"got {orientation!r}"
        )


@dataclass(frozen=True, eq=False)
class Frame:
    """Axes on which a tree grows away from its root at one side.

    Row r lies between r and r + 1; the first is at the top or at the left.
    """

    ax: Axes
    orientation: Orientation

    @property
    def figure(self) -> Figure:
        """The whole figure that the Axes are part of."""
        return self.ax.figure.figure

    @property
    def upright(self) -> bool:
        """Whether rows lie side by side and not one below the other."""
        return self.orientation in ("top", "bottom")

    @property
    def _axes(self) -> tuple[Axis, Axis]:
        """The axis of times and that of rows."""
        x, y = self.ax.xaxis, self.ax.yaxis
        return (y, x) if self.upright else (x, y)

    def xy(self, time: npt.ArrayLike, row: npt.ArrayLike) -> FloatArray:
        """Return coordinates, the last dimension of which is x and y."""
        t, r = np.broadcast_arrays(np.asarray(time, dtype=float), np.asarray(row, dtype=float))
        return np.stack([r, t] if self.upright else [t, r], axis=-1)

    def lengths(self) -> tuple[float, float]:
        """Return the lengths of the axis of times and of that of rows, in points."""
        width, height = points(self.ax)
        return (height, width) if self.upright else (width, height)

    def limit(self, first: float, last: float, n_rows: int) -> None:
        """Show times from ``first`` to ``last`` and all rows."""
        turned = self.orientation in ("right", "top")
        times = (last, first) if turned else (first, last)
        if self.upright:
            self.ax.set_xlim(0, n_rows)
            self.ax.set_ylim(*times)
        else:
            self.ax.set_xlim(*times)
            self.ax.set_ylim(n_rows, 0)

    def label_times(self, end: float, label: str) -> None:
        """Put numbers on the axis of times, and hide all other edges of the frame."""
        from matplotlib.ticker import MaxNLocator

        times, rows = self._axes
        whole = float(end).is_integer() and end >= 1
        ticks = MaxNLocator(nbins=6, integer=whole).tick_values(0.0, end)
        times.set_ticks([float(t) for t in ticks if 0 <= t <= end * (1 + 1e-9)])
        times.set_label_text(label, fontsize=8)
        times.set_tick_params(labelsize=7, length=2.5)
        rows.set_ticks([])
        self.ax.spines[:].set_visible(False)
        side = self.ax.spines["left" if self.upright else "bottom"]
        side.set_visible(True)
        side.set_bounds(0.0, end)

    def name_rows(self, at: FloatArray, names: Sequence[str], room: float) -> float:
        """Write names beside the leaves, if ``room`` points are enough; return their width."""
        _, rows = self._axes
        size = min(LARGEST_NAME, room / LINE)
        if size < SMALLEST_NAME or not len(names):
            rows.set_ticks([])
            return 0.0
        rotation = 0
        if self.upright:
            row = self.lengths()[1] / abs(self.ax.get_xlim()[1] - self.ax.get_xlim()[0])
            apart = float(np.diff(np.sort(at)).min(initial=np.inf)) * row
            rotation = 0 if widest(names, size) + 3.0 < apart else 90
        rows.set_ticks(at, list(names), parse_math=False, rotation=rotation)
        if self.orientation == "left":
            self.ax.yaxis.tick_right()
        elif self.orientation == "bottom":
            self.ax.xaxis.tick_top()
        rows.set_tick_params(labelsize=size, length=0, pad=2)
        return widest(names, size)
