"""Flat groups of rows as colours: clusters on branches, classes on a strip with a legend."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.plotting.lettering import as_it_is, one_line
from sticktree.plotting.outline import Outline, Rows
from sticktree.plotting.style import CLASSES, CLUSTERS, INK, REST, colours, rgb

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

__all__ = ["OTHERS", "Groups", "branch_groups", "main_branches", "read_groups"]

OTHERS = "#8C8C8C"
"""The grey of classes beyond those that can be told apart."""
MAIN_SHARE = 0.05  # of the rows, from which a branch may have a colour of its own
N_MAIN = 8
PURE = 0.95  # of the rows of a branch that must be of one group, for the branch to have its colour


@dataclass(frozen=True, eq=False)
class Groups:
    """A group for every datum, with names and colours.

    Attributes
    ----------
    code : int array, shape (N,)
        The group of each datum; −1 where it is missing.
    names : list of str
        Name of each group.
    colour : float array, shape (K, 3)
        Colour of each group.
    """

    code: IntArray
    names: list[str]
    colour: FloatArray

    def of_rows(self) -> FloatArray:
        """Return the colour of each datum; what is missing is pale grey."""
        return np.vstack([self.colour, rgb(REST)])[self.code]

    def legend(
        self, ax: Axes, missing: str = "missing", more: dict[str, str] | None = None, **kwargs: Any
    ) -> Legend:
        """Add a legend of the groups that occur to Axes, of what is in none, and of ``more``."""
        from matplotlib.patches import Patch

        occurring = [k for k in range(len(self.names)) if (self.code == k).any()]
        face = [tuple(self.colour[k]) for k in occurring]
        texts = [self.names[k] for k in occurring]
        if (self.code < 0).any():
            face.append(rgb(REST))
            texts.append(missing)
        for words, colour in (more or {}).items():
            face.append(rgb(colour))
            texts.append(words)
        # Labels that begin with an underscore would be left out: they are put in afterwards.
        legend = ax.legend(
            [Patch(facecolor=shade) for shade in face],
            [str(k) for k in range(len(face))],
            **{
                "fontsize": 7,
                "frameon": False,
                "handlelength": 1.0,
                "handleheight": 1.0,
                "borderpad": 0.0,
                "borderaxespad": 0.0,
                "labelspacing": 0.35,
                **kwargs,
            },
        )
        for text, words in zip(legend.get_texts(), texts, strict=True):
            text.set_text(words)
        as_it_is(legend.get_texts())
        return legend


def read_groups(
    name: str, values: Any, n_data: int, palette: tuple[str, ...] = CLUSTERS
) -> Groups | None:
    """Read a group for every datum: values of any kind, of which some may be missing.

    None stays None. Of more classes than there are colours, the smaller ones become grey together;
    clusters use the colours again.
    """
    if values is None:
        return None
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise ValueError(f"{name} must be a sequence of {n_data} values, got {values!r}")
    if np.ndim(values) != 1 or len(values) != n_data:
        raise ValueError(
            f"{name} must have one value for each of the {n_data} data, got shape "
            f"{np.shape(values)}"
        )
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    cells = list(np.asarray(values, dtype=object))
    missing = [
        _is_missing(cell) or (masked is not None and bool(masked[i]))
        for i, cell in enumerate(cells)
    ]
    distinct = {cell for cell, gone in zip(cells, missing, strict=True) if not gone}
    try:
        ordered = sorted(distinct)
    except TypeError:
        ordered = sorted(distinct, key=lambda cell: (str(type(cell)), str(cell)))
    number = {cell: k for k, cell in enumerate(ordered)}
    code = np.array(
        [-1 if gone else number[cell] for cell, gone in zip(cells, missing, strict=True)],
        dtype=np.int32,
    )
    names = [one_line(_plain(cell)) for cell in ordered]
    if palette is CLASSES and len(names) > len(palette):
        return _with_others(code, names, palette)
    return Groups(code, names, colours(len(names), palette))


def _with_others(code: IntArray, names: list[str], palette: tuple[str, ...]) -> Groups:
    """Keep the largest groups and put all others into one."""
    size = np.bincount(code[code >= 0], minlength=len(names))
    shown = np.sort(np.argsort(-size, kind="stable")[: len(palette)])
    new = np.full(len(names) + 1, len(palette), dtype=np.int32)
    new[shown] = np.arange(shown.size)
    new[-1] = -1  # what is missing stays so
    kept = [names[k] for k in shown]
    kept.append(f"{len(names) - shown.size} others")
    return Groups(new[code], kept, np.vstack([colours(len(palette), palette), rgb(OTHERS)]))


def _is_missing(cell: Any) -> bool:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return True
    if type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, (float, np.floating)) and bool(np.isnan(cell))


def _plain(cell: Any) -> Any:
    """Return 3 for 3.0: labels that are read from a file with gaps often are floats."""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return int(cell)
    return cell


def main_branches(rows: Rows) -> IntArray:
    """Return a group for every row: the main branch it is in, or −1.

    Branches are split from the root down, the earliest fork first, as long as there are at most
    eight with 5 % of the rows. What is smaller, and leaves above them, belongs to none.
    """
    tree = rows.tree
    least = max(MAIN_SHARE * rows.n_rows, 2 if rows.n_rows > 2 else 1)
    large = tree.count >= least
    # The next fork below each node whose branches are large; a node that has none is not split.
    fork = np.full(tree.n_nodes, -1, dtype=np.int32)
    n_large = np.bincount(tree.parent[1:][large[1:]], minlength=tree.n_nodes)
    for nodes in reversed(tree.nodes_by_level):
        forking = n_large[nodes] >= 2
        fork[nodes[forking]] = nodes[forking]
        onward = nodes[large[nodes] & (nodes > 0)]
        parent = tree.parent[onward]
        through = n_large[parent] == 1
        fork[parent[through]] = fork[onward[through]]
    waiting = [(float(tree.time[fork[0]]), 0)] if fork[0] >= 0 else []
    whole = [] if waiting else [0]
    while waiting:
        _, node = heapq.heappop(waiting)
        branches = [int(w) for w in tree.children(int(fork[node])) if large[w]]
        if len(waiting) + len(whole) + len(branches) > N_MAIN:
            whole.append(node)
            continue
        for branch in branches:
            if fork[branch] >= 0:
                heapq.heappush(waiting, (float(tree.time[fork[branch]]), branch))
            else:
                whole.append(branch)
    group = np.full(rows.n_rows, -1, dtype=np.int32)
    for k, node in enumerate(sorted(whole, key=lambda w: int(rows.first[w]))):
        group[rows.first[node] : rows.last[node]] = k
    return group


def branch_groups(outline: Outline, group: npt.NDArray[np.int32]) -> IntArray:
    """Return the group of each branch: that of nearly all of its rows, or −1 if there is none.

    ``group`` are those of the rows, in their order.
    """
    n_groups = int(group.max(initial=-1)) + 1
    result = np.full(outline.node.size, -1, dtype=np.int32)
    most = PURE * outline.count
    for k in range(n_groups):
        so_far = np.concatenate([[0], np.cumsum(group == k)])
        result[so_far[outline.last] - so_far[outline.first] >= most] = k
    return result


def group_colours(group: IntArray, palette: FloatArray) -> FloatArray:
    """Return the colour of each group number; −1 is ink."""
    return np.vstack([palette, rgb(INK)])[group]
