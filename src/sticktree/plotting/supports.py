"""Supports, written on their branches where nothing else is in the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.plotting.frame import Frame
from sticktree.plotting.lettering import SMALLEST
from sticktree.plotting.outline import Outline
from sticktree.plotting.style import INK

__all__ = ["write_supports"]

SHARE = 0.02
"""Of the rows: branches with fewer are not worth a number."""
WORTH = 0.05
"""Smaller supports are told by thin lines alone."""
BESIDE = 1.0  # points between line and text
MOST = 60
"""Numbers in one picture: beyond that nobody reads them."""


def write_supports(
    frame: Frame, outline: Outline, units: tuple[float, float], *, everywhere: bool = False
) -> None:
    """Write the supports of branches, the largest first, as long as they do not overlap.

    ``units`` are points per time and per row; ``everywhere`` also writes those of small branches.
    """
    support = outline.rows.tree.support
    assert support is not None
    best = outline.best_supported()
    value, until = support[best], outline.rows.tree.time[best]
    least = 2 if everywhere else max(2, SHARE * outline.rows.n_rows)
    wanted = (outline.count >= least) & (outline.above >= 0)
    wanted &= ~np.isnan(value) if everywhere else value >= WORTH
    candidates = np.flatnonzero(wanted)
    candidates = candidates[np.argsort(-outline.count[candidates], kind="stable")]
    taken = _boxes_of_lines(outline, units)
    n_written = 0
    for k in candidates:
        text = _format(float(value[k]))
        box = _place(outline, int(k), float(until[k]), _size(frame, text), taken, units)
        if box is None:
            continue
        taken = np.vstack([taken, box])
        _write(frame, outline.middle[k], box, text, units)
        n_written += 1
        if n_written == MOST:
            break


def _format(value: float) -> str:
    """Write a probability with two digits, 1 only where it rounds to it."""
    return "1" if value >= 0.995 else f"{value:.2f}"


def _boxes_of_lines(outline: Outline, units: tuple[float, float]) -> FloatArray:
    """Return boxes in points around all lines and wedges: times and rows, from and to."""
    time, row = units
    middle = outline.middle * row
    half = 0.6
    stems = np.stack(
        [outline.begin * time, outline.end * time, middle - half, middle + half], axis=1
    )
    below = np.flatnonzero(outline.above >= 0)
    at = outline.begin[below] * time
    ends = np.stack([middle[outline.above[below]], middle[below]])
    beams = np.stack([at - half, at + half, ends.min(axis=0), ends.max(axis=0)], axis=1)
    last = np.full(outline.node.size, outline.rows.end * time)
    blocks = np.stack([outline.end * time, last, outline.first * row, outline.last * row], axis=1)
    leaves = outline.leaves * time
    rows = np.arange(leaves.size) * row
    dust = np.stack([leaves, np.full(leaves.size, last[0]), rows, rows + row], axis=1)
    return np.concatenate([stems, beams, blocks[~outline.forks], dust])


def _size(frame: Frame, text: str) -> tuple[float, float]:
    """Return the extent of a text along times and across rows, in points."""
    width, height = 0.64 * SMALLEST * len(text), 1.0 * SMALLEST
    return (height, width) if frame.upright else (width, height)


def _place(
    outline: Outline,
    k: int,
    until: float,
    size: tuple[float, float],
    taken: FloatArray,
    units: tuple[float, float],
) -> FloatArray | None:
    """Return a box beside the branch's line, before a time, or None if there is no room for it."""
    time, row = units
    along, across = size
    near = max(until * time - 1.5 - along, outline.begin[k] * time + 1.5)
    far = near + along
    if far > outline.end[k] * time:
        return None
    middle = outline.middle[k] * row
    before = np.array([near, far, middle - BESIDE - across, middle - BESIDE])
    after = np.array([near, far, middle + BESIDE, middle + BESIDE + across])
    for box in (before, after):
        inside = box[2] >= 0 and box[3] <= outline.rows.n_rows * row
        clash = (
            (taken[:, 0] < box[1])
            & (taken[:, 1] > box[0])
            & (taken[:, 2] < box[3])
            & (taken[:, 3] > box[2])
        )
        if inside and not clash.any():
            return box
    return None


def _write(
    frame: Frame, middle: float, box: FloatArray, text: str, units: tuple[float, float]
) -> None:
    """Write a text into its box, tied to the line so that it stays there if Axes change size."""
    time, row = units
    before = box[3] <= middle * row
    # Towards the root, and away from the line.
    root = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}[frame.orientation]
    place: dict[str, Any]
    if frame.upright:
        place = {"ha": "right" if before else "left", "va": root}
        offset = (-BESIDE if before else BESIDE, 0.0)
    else:
        place = {"ha": root, "va": "bottom" if before else "top"}
        offset = (0.0, BESIDE if before else -BESIDE)
    frame.ax.annotate(
        text,
        tuple(frame.xy(box[1] / time, middle)),
        xytext=offset,
        textcoords="offset points",
        fontsize=SMALLEST,
        color=INK,
        zorder=5,
        **place,
    )
