"""What happened on the way: chains draw by draw, and a stream batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.errors import ParameterError
from sticktree.inference.drift import Z_LIMIT, Stream
from sticktree.palette import CLUSTERS
from sticktree.plotting.base import (
    INK,
    Display,
    check_fitted,
    colours,
    draw_dots,
    new_axes,
    open_frame,
    pyplot,
)
from sticktree.posterior.draws import Diagnosis, Posterior, agreement, r_hat_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_SCALARS = 12
MOST_POINTS = 2000  # of a trace; more are left out evenly
MOST_STEPS = 40  # distinct numbers that are shown as bars and not as a curve
WIDE = 8.0  # largest number, in units of the median, from which there is a log scale
ALARM = "#B2182B"


def plot_traces(
    posterior: Posterior,
    *,
    names: Sequence[str] | None = None,
    diagnosis: Diagnosis | None = None,
    ax: Any = None,
) -> npt.NDArray[Any]:
    """Draw the scalars of every chain: their densities at the left, their traces at the right.

    Parameters
    ----------
    posterior : Posterior
        The draws.
    names : sequence of str, optional
        Scalars to show, such as "log_joint", "nodes" for all levels or "nodes[0]" for the first; by
        default at most twelve that vary, the most telling first.
    diagnosis : Diagnosis, optional
        R-hat and effective sample sizes, written above the traces.
    ax : array of matplotlib Axes, shape (n, 2), optional
        Where to draw; by default a new figure.

    Returns
    -------
    array of matplotlib Axes, shape (n, 2)
    """
    return TracesDisplay(posterior, names=names, diagnosis=diagnosis).plot(ax=ax).axes_


class TracesDisplay:
    """Traces and densities of scalars; see :func:`plot_traces`.

    Parameters
    ----------
    posterior : Posterior
        The draws.
    names : sequence of str, optional
        Scalars to show.
    diagnosis : Diagnosis, optional
        R-hat and effective sample sizes.

    Attributes
    ----------
    axes_ : array of matplotlib Axes, shape (n, 2)
        Densities and traces of each scalar.
    figure_ : matplotlib Figure
        The figure of these.
    """

    axes_: npt.NDArray[Any]
    figure_: Figure

    def __init__(
        self,
        posterior: Posterior,
        *,
        names: Sequence[str] | None = None,
        diagnosis: Diagnosis | None = None,
    ) -> None:
        if not isinstance(posterior, Posterior):
            raise TypeError(f"posterior must be a Posterior, got {type(posterior).__name__}")
        if posterior.n_draws == 0:
            expected = "draws in every chain"
            raise ParameterError("posterior", posterior, expected, verb="have", shown="none")
        self.posterior = posterior
        self.diagnosis = diagnosis
        every = {name: values.astype(np.float64) for name, values in posterior.columns().items()}
        self.scalars = _most_telling(every) if names is None else _named(every, names)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[str] | None = None, ax: Any = None
    ) -> Self:
        """Draw the chains of a fitted mixture, with their R-hat."""
        check_fitted(estimator)
        diagnosis = estimator.diagnosis_
        return cls(estimator.posterior_, names=names, diagnosis=diagnosis).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw; the argument is that of :func:`plot_traces`."""
        n_scalars = len(self.scalars)
        if ax is None:
            size = (7.0, 0.5 + 1.05 * n_scalars)
            axes = pyplot().subplots(
                n_scalars,
                2,
                figsize=size,
                layout="constrained",
                width_ratios=[1, 2],
                squeeze=False,
            )[1]
        else:
            axes = np.array(ax, dtype=object)
            if axes.size != 2 * n_scalars:
                expected = f"{n_scalars} × 2 Axes, two for each scalar"
                raise ParameterError("ax", axes.size, expected)
            axes = axes.reshape(n_scalars, 2)
        shade = colours(self.posterior.n_chains)
        for (left, right), (name, values) in zip(axes, self.scalars.items(), strict=True):
            wide = _is_wide(values)
            _draw_density(left, values, shade, wide)
            _draw_trace(right, values, shade, wide)
            left.set_title(name, fontsize=8, loc="left", pad=3, parse_math=False)
            self._write_diagnosis(right, name)
        for right in axes[:-1, 1]:
            right.tick_params(labelbottom=False)
        axes[-1, 1].set_xlabel("draw", fontsize=8)
        self.axes_, self.figure_ = axes, axes[0, 0].figure.figure
        return self

    def _write_diagnosis(self, ax: Axes, name: str) -> None:
        if self.diagnosis is None:
            return
        r_hat, ess = self.diagnosis.r_hat.get(name), self.diagnosis.ess.get(name)
        parts = [] if r_hat is None else [f"R-hat {r_hat_text(r_hat)}"]
        if ess is not None:
            parts.append(f"{ess:,.0f} effective draws")
        judged = "agree" if r_hat is None else agreement(r_hat)
        bad = judged != "agree"
        ax.set_title(
            ", ".join(parts) + (f": chains {judged}" if bad else ""),
            fontsize=7,
            loc="right",
            pad=3,
            color=ALARM if bad else INK,
        )


def _most_telling(every: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return what varies: log joint, numbers of nodes, c, where rows meet, and then all else."""
    first = ("log_joint", "nodes", "concentration", "meeting_level", "discount", "scales")

    def rank(name: str) -> int:
        stem = name.split("[")[0]
        return first.index(stem) if stem in first else len(first)

    varying = [name for name, values in every.items() if np.ptp(values) > 0]
    names = sorted(varying or ["log_joint"], key=rank)[:MOST_SCALARS]
    return {name: every[name] for name in names}


def _named(every: dict[str, FloatArray], names: Sequence[str]) -> dict[str, FloatArray]:
    chosen: dict[str, FloatArray] = {}
    for name in [names] if isinstance(names, str) else names:
        found = {key: every[key] for key in every if name in (key, key.split("[")[0])}
        if not found:
            stems = sorted({key.split("[")[0] for key in every})
            raise ParameterError("names", name, f"among {', '.join(stems)}")
        chosen |= found
    if not chosen:
        raise ParameterError("names", names, "a scalar", verb="have", shown="none")
    return chosen


def _is_wide(values: FloatArray) -> bool:
    """Tell whether numbers need a log scale: all positive, and some far above the middle."""
    if not (values > 0).all() or not np.isfinite(values).all():
        return False
    return bool(values.max() > WIDE * np.median(values))


def _draw_density(ax: Axes, values: FloatArray, shade: FloatArray, wide: bool) -> None:
    """Draw the density of each chain: bars of whole numbers, or a curve."""
    finite = values[np.isfinite(values)]
    distinct = np.unique(finite)
    whole = distinct.size <= MOST_STEPS and (distinct == np.round(distinct)).all()
    for chain, colour in zip(values, shade, strict=True):
        draws = chain[np.isfinite(chain)]
        if draws.size < 2 or np.ptp(draws) == 0 or whole:
            _draw_steps(ax, draws, tuple(colour))
        else:
            _draw_curve(ax, draws, tuple(colour), wide)
    ax.set_ylim(0.0, None)
    ax.set_yticks([])
    if wide and not whole:
        ax.set_xscale("log")
    _plain(ax)


def _draw_steps(ax: Axes, draws: FloatArray, colour: Any) -> None:
    found, counts = np.unique(draws, return_counts=True)
    if found.size == 0:
        return
    if (found != np.round(found)).any():  # a chain that stands still
        ax.axvline(found[0], color=colour, linewidth=1.0)
        return
    at = np.arange(found[0], found[-1] + 1)
    share = np.zeros(at.size)
    share[(found - found[0]).astype(int)] = counts / draws.size
    edges = np.append(at, at[-1] + 1) - 0.5
    ax.stairs(share, edges, color=colour, linewidth=1.0)


def _draw_curve(ax: Axes, draws: FloatArray, colour: Any, wide: bool) -> None:
    """Draw a kernel density; of wide numbers that of their logarithms."""
    from scipy.stats import gaussian_kde

    if wide:
        draws = np.log(draws)
    low, high = draws.min(), draws.max()
    margin = 0.1 * (high - low)
    grid = np.linspace(low - margin, high + margin, 200)
    density = gaussian_kde(draws)(grid)
    ax.plot(np.exp(grid) if wide else grid, density, color=colour, linewidth=1.0)


def _draw_trace(ax: Axes, values: FloatArray, shade: FloatArray, wide: bool) -> None:
    step = -(-values.shape[1] // MOST_POINTS)
    at = np.arange(0, values.shape[1], step)
    for chain, colour in zip(values, shade, strict=True):
        ax.plot(at, chain[at], color=tuple(colour), linewidth=0.5, alpha=0.85)
    if values.shape[1] > 1:
        ax.set_xlim(0, values.shape[1] - 1)
    if wide:
        ax.set_yscale("log")
    _plain(ax)


def _plain(ax: Axes) -> None:
    from matplotlib.ticker import (
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullLocator,
        ScalarFormatter,
    )

    for axis, most in ((ax.xaxis, 5), (ax.yaxis, 3)):
        if axis.get_scale() == "log":
            axis.set_major_locator(LogLocator(numticks=most))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_locator(NullLocator())
        elif len(axis.get_ticklocs()):
            axis.set_major_locator(MaxNLocator(most, min_n_ticks=2))
            # Numbers in full: an offset in the corner is easily overlooked.
            axis.set_major_formatter(ScalarFormatter(useOffset=False))
    ax.tick_params(labelsize=6, length=2)
    ax.spines[["top", "right"]].set_visible(False)


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


class StreamDisplay(Display):
    """Densities of batches; see :func:`plot_stream`.

    Parameters
    ----------
    stream : Stream
        The batches.
    """

    def __init__(self, stream: Stream) -> None:
        if not isinstance(stream, Stream):
            raise TypeError(f"stream must be a Stream, got {type(stream).__name__}")
        if len(stream) < 2:
            expected = "two batches or more, of which all but the first were predicted"
            raise ParameterError("stream", len(stream), expected, verb="have")
        self.stream = stream

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the batches of a mixture."""
        stream = getattr(check_fitted(estimator), "stream_", None)
        if stream is None:
            expected, shown = "seen batches by partial_fit", "one fitted at once"
            raise ParameterError("estimator", estimator, expected, verb="have", shown=shown)
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
        return self._drawn(ax)

    def _of_each(self, name: str) -> npt.NDArray[Any]:
        """Return something of each batch but the first, which nothing predicted."""
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
