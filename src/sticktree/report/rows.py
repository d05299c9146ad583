"""What the script of the page draws: rows, trees, cuts, annotations and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.fit import Averaging
from sticktree.palette import CLUSTERS
from sticktree.present.annotations import Annotation
from sticktree.present.findings import Findings
from sticktree.report.branches import Branches
from sticktree.report.cloud import axes_of_table, cloud
from sticktree.report.columns import Slots, column_tree, packed_columns
from sticktree.report.cuts import class_slots, cuts_of
from sticktree.report.markup import packed, packed_column
from sticktree.tree import Tree

MOST_ROWS = 20_000
"""Rows that the page has, one by one: about as many as a screen can show ten times over."""
MOST_CELLS = 1_000_000  # that it has; a cell takes about five bytes
LEAST_ROWS = 1_000  # however many columns there are

FEW = 20  # rows of a cluster that are there at least, if the cluster has them and there is room


def sample(label: npt.NDArray[Any], most: int) -> npt.NDArray[np.int64]:
    """Return all rows, or at most some: a few of every cluster, the rest at random.

    It is always the same sample.
    """
    if label.size <= most:
        return np.arange(label.size)
    rng = np.random.default_rng(0)
    order = np.argsort(label, kind="stable")
    first = np.unique(label[order], return_index=True)[1]
    each = min(FEW, most // (2 * first.size))
    chosen = np.zeros(label.size, dtype=bool)
    for rows in np.split(order, first[1:]):
        chosen[rng.permutation(rows)[:each]] = True
    others = np.flatnonzero(~chosen)
    chosen[rng.choice(others, most - int(chosen.sum()), replace=False)] = True
    return np.flatnonzero(chosen)


def shown_rows(found: Findings, most: int | None = None) -> npt.NDArray[np.int64]:
    """Return the data of the tree that are shown: some of those whose rows are at hand."""
    if most is None:
        most = min(MOST_ROWS, max(MOST_CELLS // len(found.table.names), LEAST_ROWS))
    at_hand = np.flatnonzero(np.isin(found.in_tree, found.table.rows, assume_unique=True))
    return at_hand[sample(found.fit.labels[found.in_tree[at_hand]], most)]


def script_data(
    found: Findings, shown: npt.NDArray[np.int64], averaging: Averaging, title: str
) -> dict[str, Any]:
    """Return what the script draws; rows are in the order of the first tree."""
    trees = [(word, tree, _branches(tree, shown)) for word, tree in _trees(found)]
    first = trees[0][2].order
    position = np.argsort(first)
    data = shown[first]
    rows = found.in_tree[data]
    values, names = found.table.some(rows), found.names
    places = cloud(found.fit, averaging, values)
    own, cuts = cuts_of(found)
    cuts_shown = [cut.of_rows(data) for cut in cuts]
    own_shown = cuts_shown[cuts.index(own)]

    def slots(code: npt.NDArray[np.int64], n_classes: int) -> list[int]:
        return class_slots(code, n_classes, cuts_shown, own_shown)

    return {
        "title": title,
        "palette": list(CLUSTERS),
        "trees": [
            {
                "word": word,
                "order": packed(position[branches.order], "int32") if k else None,
                "groups": _n_groups(tree) if word == "clusters" else None,
                **branches.packed(),
            }
            for k, (word, tree, branches) in enumerate(trees)
        ],
        "rows": {
            "number": packed(rows, "int32"),
            "names": None if names is None else [names[i] for i in data.tolist()],
        },
        "cuts": [cut.packed(data, 65_535 if cut is own else 255) for cut in cuts],
        "found": cuts.index(own),
        "annotations": [_annotation(one, rows, slots) for one in found.annotations],
        "columns": packed_columns(values, slots),
        "column_tree": column_tree(values, axes_of_table(values)[0][:, 0]),
        "carrying": _carrying(found),
        "cloud": places,
    }


def _carrying(found: Findings) -> str | None:
    """Return the columns in the order in which they carry the clusters, if there are clusters."""
    if found.carrying is None or len(found.table.names) < 2:
        return None
    return packed(found.relevance.order, "int32")


def _trees(found: Findings) -> list[tuple[str, Tree]]:
    """Return the trees to choose from, the cluster tree first."""
    consensus = found.tree
    if found.cluster_tree is None or found.cluster_tree is found.fit.tree:
        return [("consensus", consensus)]
    return [("clusters", found.cluster_tree), ("consensus", consensus)]


def _n_groups(tree: Tree) -> int:
    """Return how many groups of rows the cluster tree parts, one join at a time."""
    joins = (tree.n_children > 1) & (tree.time < 1)
    return 1 + int((tree.n_children[joins] - 1).sum())


def _branches(tree: Tree, shown: npt.NDArray[np.int64]) -> Branches:
    branches = Branches.of(tree)
    return branches if shown.size == branches.order.size else branches.showing(shown)


def _annotation(one: Annotation, rows: npt.NDArray[np.int64], slots: Slots) -> dict[str, Any]:
    """Return an annotation of the rows shown: codes with names and colours, or numbers."""
    if one.classes is None:
        assert one.values is not None
        return {"name": one.name, **packed_column(one.values[rows])}
    code, names = one.classes.code[rows], one.classes.names
    return {
        "name": one.name,
        "code": packed(code, "int32"),
        "names": names,
        "slots": slots(code, len(names)),
    }
