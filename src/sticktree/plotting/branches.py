"""The branches of an outline as lines, wedges and areas."""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray
from sticktree.plotting.frame import Frame
from sticktree.plotting.groups import Groups, branch_groups, group_colours, main_branches
from sticktree.plotting.outline import Outline
from sticktree.plotting.style import INK, colours, paler, rgb

__all__ = ["colours_of", "draw_branches"]

MOST_DUST = 2000
"""Steps along the edges of what is too small to be drawn each for itself."""


def draw_branches(
    frame: Frame,
    outline: Outline,
    colour: tuple[FloatArray, FloatArray],
    *,
    pitch: float,
    weighted: bool = False,
) -> None:
    """Draw the branches of an outline, their wedges and their dust.

    ``colour`` are those of branches and of rows, ``pitch`` the points from row to row.
    """
    from matplotlib.collections import LineCollection, PolyCollection

    of_branch, of_row = colour
    rows, middle = outline.rows, outline.middle
    single = outline.smallest <= 1
    base = float(np.clip((pitch if single else 3.0) * 0.3, 0.45, 1.1))
    support = rows.tree.support
    width = np.full(outline.node.size, base)
    if weighted and support is not None:
        known = np.nan_to_num(support[outline.best_supported()], nan=1.0)
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


def colours_of(outline: Outline, labels: Groups | None) -> tuple[FloatArray, FloatArray]:
    """Return the colours of branches and of rows."""
    if labels is None:
        group = main_branches(outline.rows)
        palette = colours(int(group.max(initial=-1)) + 1)
    else:
        group, palette = labels.code[outline.rows.order], labels.colour
    of_branch = group_colours(branch_groups(outline, group), palette)
    return of_branch, group_colours(group, palette)
