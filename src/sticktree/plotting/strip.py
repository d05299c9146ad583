"""A strip of colours along the rows."""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray
from sticktree.plotting.frame import Frame

__all__ = ["draw_strip"]

MOST_CELLS = 1000


def draw_strip(frame: Frame, colour: FloatArray, begin: float, end: float) -> None:
    """Draw the colours of rows, between two times.

    Neighbours of one colour become one rectangle. Where these are too many to be seen, rows are
    mixed.
    """
    from matplotlib.collections import PolyCollection

    n_rows = len(colour)
    new = np.append(True, (np.diff(colour, axis=0) != 0).any(axis=1))
    starts = np.flatnonzero(new)
    if starts.size > MOST_CELLS:
        starts = np.arange(0, n_rows, -(-n_rows // MOST_CELLS))
    stops = np.append(starts[1:], n_rows)
    mean = np.add.reduceat(colour, starts, axis=0) / (stops - starts)[:, None]
    mean = np.clip(mean, 0.0, 1.0)
    cells = [
        frame.xy([begin, end, end, begin], [a, a, b, b]) for a, b in zip(starts, stops, strict=True)
    ]
    # Edges of the same colour close the seams that some viewers show between rectangles.
    frame.ax.add_collection(
        PolyCollection(cells, facecolors=mean, edgecolors=mean, linewidths=0.1, zorder=2)
    )
