"""Flat groups of rows as colours: clusters on branches, classes on a strip with a legend."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.errors import ParameterError
from sticktree.palette import CLUSTERS
from sticktree.plotting.base import (
    CLASSES,
    INK,
    REST,
    as_it_is,
    colours,
    one_line,
    rgb,
    rows_of,
    tree_of,
)
from sticktree.plotting.outline import Outline, Rows
from sticktree.present.annotations import Classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

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
        raise ParameterError(name, values, f"a sequence of {n_data} values")
    if np.ndim(values) != 1 or len(values) != n_data:
        expected, shown = f"one value for each of the {n_data} data", f"shape {np.shape(values)}"
        raise ParameterError(name, values, expected, verb="have", shown=shown)
    classes = Classes.of(values)
    code, names = classes.code.astype(np.int32), [one_line(name) for name in classes.names]
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


def colours_of(outline: Outline, labels: Groups | None) -> tuple[FloatArray, FloatArray]:
    """Return the colours of branches and of rows."""
    if labels is None:
        group = main_branches(outline.rows)
        palette = colours(int(group.max(initial=-1)) + 1)
    else:
        group, palette = labels.code[outline.rows.order], labels.colour
    of_branch = group_colours(branch_groups(outline, group), palette)
    return of_branch, group_colours(group, palette)


def labels_of(estimator: Any) -> Any:
    """Return the flat cluster of each datum of the tree, if there are colours for all of them.

    Of more than twenty clusters the main branches of the tree take their place.
    """
    labels = np.asarray(estimator.labels_)[rows_of(estimator)]
    if np.unique(labels).size <= len(CLUSTERS):
        return labels
    rows = Rows.of(tree_of(estimator))
    group = np.empty(rows.n_rows)
    group[rows.order] = main_branches(rows)
    return np.where(group < 0, np.nan, group)
