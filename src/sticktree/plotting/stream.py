"""How well each batch of a stream was foreseen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sticktree.inference.drift import Z_LIMIT, Stream
from sticktree.plotting.display import check_fitted
from sticktree.plotting.style import CLUSTERS, INK, draw_dots, new_axes, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["StreamDisplay", "plot_stream"]

TOLD = 0.01  # a smaller share of rows in new leaves is not


def plot_stream(stream: Stream, *, ax: Axes | None = None) -> Axes:
    """Draw the mean log density of each batch, with the band in which it was expected.

    The band is 3.89 standard errors wide on both sides: a batch like those before lies outside
    once in 10,000. Those outside are marked, with the share of their rows in new leaves
    if that is a hundredth or more.

    Parameters
    ----------
    stream : Stream
        The batches, ``stream_`` of a mixture after `partial_fit`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    return StreamDisplay(stream).plot(ax=ax).ax_


class StreamDisplay:
    """Densities of batches; see :func:`plot_stream`.

    Parameters
    ----------
    stream : Stream
        The batches.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of these.
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, stream: Stream) -> None:
        if not isinstance(stream, Stream):
            raise TypeError(f"stream must be a Stream, got {type(stream).__name__}")
        if len(stream) < 2:
            raise ValueError(
                f"stream must have two batches or more, of which all but the first were foreseen, "
                f"got {len(stream)}"
            )
        self.stream = stream

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the batches of a mixture."""
        stream = getattr(check_fitted(estimator), "stream_", None)
        if stream is None:
            raise ValueError("estimator must have seen batches by partial_fit, got one by fit")
        return cls(stream).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; the argument is that of :func:`plot_stream`."""
        from matplotlib.ticker import MaxNLocator

        ax = new_axes(ax, (5.6, 3.2))
        self._draw_band(ax)
        self._draw_batches(ax)
        ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
        open_frame(ax, "batch", "mean log density, before it was seen")
        ax.legend(fontsize=7, frameon=False, loc="best")
        self.ax_, self.figure_ = ax, ax.figure.figure
        return self

    def _of_each(self, name: str) -> npt.NDArray[Any]:
        """Return something of each batch but the first, which was not foreseen."""
        return np.array([getattr(batch, name) for batch in self.stream.batches[1:]])

    def _draw_band(self, ax: Axes) -> None:
        """Draw what was expected: in steps, since each batch has a band of its own."""
        at, expected, error = map(self._of_each, ("batch", "expected", "error"))
        edges = np.concatenate([at - 0.5, at[-1:] + 0.5])
        low, high = (
            np.append(bound, bound[-1])
            for bound in (expected - Z_LIMIT * error, expected + Z_LIMIT * error)
        )
        ax.fill_between(
            edges,
            low,
            high,
            step="post",
            color=CLUSTERS[4],
            alpha=0.22,
            linewidth=0,
            label="expected, ± 3.89 errors",
        )
        ax.stairs(expected, edges, color=CLUSTERS[4], linewidth=1.0, baseline=None)
        ax.set_xlim(edges[0], edges[-1])

    def _draw_batches(self, ax: Axes) -> None:
        """Draw what was found, and mark the batches that are far from what was expected."""
        at, found, far = map(self._of_each, ("batch", "log_density", "drifted"))
        ax.plot(at, found, color=INK, linewidth=0.9, zorder=3)
        draw_dots(ax, at[~far], found[~far], label="batch")
        if not far.any():
            return
        draw_dots(
            ax,
            at[far],
            found[far],
            size=34.0,
            colour=CLUSTERS[1],
            marker="D",
            label="far from expected",
        )
        for x, y, share in zip(at[far], found[far], self._of_each("new_share")[far], strict=True):
            if share < TOLD:
                continue
            # Beside the dot, on the side where there is room.
            right = x < at[-1] - 0.25 * (at[-1] - at[0])
            ax.annotate(
                f"{share:.0%} in new leaves",
                (x, y),
                xytext=(6 if right else -6, 0),
                textcoords="offset points",
                ha="left" if right else "right",
                va="center",
                fontsize=7,
            )
