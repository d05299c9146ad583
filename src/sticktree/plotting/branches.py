"""The branches of an outline as lines, wedges and areas, with their supports."""

from __future__ import annotations

from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.plotting.base import INK, SMALLEST, paler, rgb
from sticktree.plotting.canvas import Frame
from sticktree.plotting.outline import Outline
from sticktree.present.table import SUPPORT_NAMES
from sticktree.tree.structure import SupportKind

MOST_DUST = 2000
"""Steps along the edges of what is too small to be drawn each for itself."""


def draw_branches(
    frame: Frame,
    outline: Outline,
    colour: tuple[FloatArray, FloatArray],
    *,
    pitch: float,
    by: SupportKind | None = None,
) -> None:
    """Draw the branches of an outline, their wedges and their dust.

    ``colour`` are those of branches and of rows, ``pitch`` the points from row to row; lines are
    as wide as a kind of support says.
    """
    from matplotlib.collections import LineCollection, PolyCollection

    of_branch, of_row = colour
    rows, middle = outline.rows, outline.middle
    single = outline.smallest <= 1
    base = float(np.clip((pitch if single else 3.0) * 0.3, 0.45, 1.1))
    support = rows.tree.supports_of(by)
    width = np.full(outline.node.size, base)
    if support is not None:
        known = np.nan_to_num(support[outline.best_supported(by)], nan=1.0)
        width = base * (0.55 + 0.75 * known)

    lines = [frame.xy([a, b], m) for a, b, m in _stems(outline)]
    of_line, of_width = [of_branch], [width]
    beams = _beams(outline)
    lines += [frame.xy(t, [a, b]) for _, t, a, b in beams]
    which = np.array([k for k, *_ in beams], dtype=int)
    of_line.append(of_branch[which])
    of_width.append(width[which])
    shapes, faces = [], []
    for k in np.flatnonzero(~outline.forks & (outline.count > 1)).tolist():
        a, b, t = int(outline.first[k]), int(outline.last[k]), outline.end[k]
        if single:
            lines += [frame.xy([t, rows.tip[r]], r + 0.5) for r in range(a, b)]
            of_line.append(np.tile(of_branch[k], (b - a, 1)))
            of_width.append(np.full(b - a, base))
        else:
            far = rows.tip[a:b].max()
            gap = min(0.08 * (b - a), 0.3 / pitch)
            shapes.append(frame.xy([t, far, far], [middle[k], a + gap, b - gap]))
            faces.append(_fill(of_branch[k]))
    for k, a, b in outline.dust():
        if single:
            lines += [frame.xy([outline.leaves[r], rows.tip[r]], r + 0.5) for r in range(a, b)]
            of_line.append(of_row[a:b])
            of_width.append(np.full(b - a, base))
        else:
            shapes.append(_silhouette(frame, outline, a, b))
            faces.append(paler(of_branch[k], 0.55))
    if shapes:
        frame.ax.add_collection(
            PolyCollection(shapes, facecolors=faces, edgecolors=faces, linewidths=0.25, zorder=2)
        )
    frame.ax.add_collection(
        LineCollection(
            lines,
            colors=np.concatenate(of_line),
            linewidths=np.concatenate(of_width),
            capstyle="projecting",
            zorder=3,
        )
    )


def _fill(colour: FloatArray) -> FloatArray:
    """Return the colour of a wedge: large areas of ink would outweigh all else."""
    return paler(colour, 0.35) if (colour == rgb(INK)).all() else colour


def _stems(outline: Outline) -> list[tuple[float, float, float]]:
    """Return begin, end and place of the line of each branch; a single row goes to its tip."""
    tip = outline.rows.tip[outline.first]
    alone = ~outline.forks & (outline.count == 1)
    end = np.where(alone, tip, outline.end)
    return list(zip(outline.begin, end, outline.middle, strict=True))


def _beams(outline: Outline) -> list[tuple[int, float, float, float]]:
    """Return branch, time and ends of the lines across: at forks, at combs and out to dust."""
    middle, single = outline.middle, outline.smallest <= 1
    low, high = middle.copy(), middle.copy()
    below = np.flatnonzero(outline.above >= 0)
    np.minimum.at(low, outline.above[below], middle[below])
    np.maximum.at(high, outline.above[below], middle[below])
    if single:
        comb = ~outline.forks & (outline.count > 1)
        low[comb], high[comb] = outline.first[comb] + 0.5, outline.last[comb] - 0.5
    beams = [
        (int(k), float(outline.end[k]), float(low[k]), float(high[k]))
        for k in np.flatnonzero(high > low)
    ]
    for k, a, b in outline.dust():
        # The row farthest from the branch leaves first, if siblings lie in the order of size.
        far = a if middle[k] - a > b - middle[k] else b - 1
        beams.append((k, float(outline.leaves[far]), float(middle[k]), far + 0.5))
        if single:
            beams += [(k, float(outline.leaves[r]), float(middle[k]), r + 0.5) for r in range(a, b)]
    return beams


def _silhouette(frame: Frame, outline: Outline, a: int, b: int) -> FloatArray:
    """Return the edge of rows from where they leave to their tips, in a bounded number of steps."""
    step = -(-outline.rows.n_rows // MOST_DUST)
    starts = np.arange(a, b, step)
    sizes = np.diff(np.append(starts, b))
    left = np.add.reduceat(outline.leaves[a:b], starts - a) / sizes
    right = np.add.reduceat(outline.rows.tip[a:b], starts - a) / sizes
    edges = np.stack([starts, starts + sizes], axis=1).ravel()
    time = np.concatenate([np.repeat(left, 2), np.repeat(right, 2)[::-1]])
    return frame.xy(time, np.concatenate([edges, edges[::-1]]))


SHARE = 0.02
"""Of the rows: branches with fewer are not worth a number."""
WORTH = 0.05
"""Smaller supports are shown by thin lines alone."""
BESIDE = 1.0  # points between line and text
MOST = 60
"""Numbers in one picture: beyond that nobody reads them."""


def write_supports(
    frame: Frame,
    outline: Outline,
    units: tuple[float, float],
    by: SupportKind | None,
    *,
    everywhere: bool = False,
) -> None:
    """Write the supports of branches, the largest first, as long as they do not overlap.

    ``units`` are points per time and per row; ``everywhere`` also writes those of small branches.
    The axis says which kind of support they are.
    """
    support = outline.rows.tree.supports_of(by)
    if support is None or by is None:
        return
    best = outline.best_supported(by)
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
    if n_written:
        frame.explain(f"numbers: {SUPPORT_NAMES[by]}")


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
