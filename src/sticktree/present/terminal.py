"""For a terminal: what a fit found, and trees as text.

>>> import numpy as np
>>> from sticktree import DFPMixture
>>> from sticktree.present.findings import Findings
>>> from sticktree.present.terminal import summary
>>> rng = np.random.default_rng(0)
>>> X = np.concatenate([rng.normal(0, 1, (20, 2)), rng.normal(9, 1, (20, 2))])
>>> mixture = DFPMixture(covariance_type="full", leaf_noise="shared", n_chains=2, n_warmup=50,
...                      n_draws=200, random_state=0).fit(X)
>>> print(summary(Findings(mixture.fit_)))  # doctest: +ELLIPSIS
40 rows, 2 columns: 2 gaussian (0, 1)
...
"""

from __future__ import annotations

import heapq
import textwrap
import unicodedata
from typing import NamedTuple

import numpy as np

from sticktree.posterior.parting import least_rows
from sticktree.present.agreement import verdict_text
from sticktree.present.findings import Findings
from sticktree.present.table import SUPPORT_MEANINGS, many, shortened
from sticktree.processes.mass_tree import MassTree
from sticktree.tree import Tree
from sticktree.tree.structure import ROOT, format_index

MOST_CLUSTERS = 30  # lines of the table
LEAST_SUPPORT = 0.5  # of branches that are drawn, where there is no transfer support
MOST_NODES = 24  # lines of the tree
LARGE = 0.05  # share of the rows of a branch of the cluster tree that is drawn
MOST_LARGE = 13  # such branches
MOST_NAMED = 16  # rows that are drawn one by one
WIDTH = 100
LONGEST_INDEX = 6
LONGEST_NAME = 32
WIDEST_INDENT = 36


def head(found: Findings) -> str:
    """Return the few lines that matter most."""
    lines = [
        found.columns,
        f"model: {found.model}",
        found.sizes_in_words,
        found.stream,
        found.course,
    ]
    wrapped = [line for text in lines for line in textwrap.wrap(text, WIDTH)]
    return "\n".join([*wrapped, verdict_text(found.verdict)])


def summary(found: Findings, cluster_tree: Tree | None = None) -> str:
    """Return everything: words, tree, table of clusters, and the columns that carry them.

    Parameters
    ----------
    found : Findings
        What to tell.
    cluster_tree : Tree, optional
        The tree of the clusters, to be drawn in place of the consensus tree.
    """
    drawn = drawing(found.tree) if cluster_tree is None else cluster_drawing(cluster_tree)
    parts = [head(found), drawn, _table(found), _carrying(found)]
    if found.fit.training.groups is not None:
        parts += [str(found.fit.group_gain)] if found.fit.tells_group_gain else []
        parts.append(str(found.fit.composition))
    return "\n\n".join(part for part in parts if part)


def cluster_drawing(tree: Tree) -> str:
    """Draw the cluster tree down to a dozen large branches; strays stay with the branch above."""
    words = "the tree that clusters are cuts of, the first one highest: rows, transfer support"
    lines = textwrap.wrap(f"{words} ({SUPPORT_MEANINGS['transfer']})", WIDTH)
    return "\n".join([*lines, "", tree_text(_large_branches(tree), max_lines=MOST_NODES)])


def _large_branches(tree: Tree) -> Tree:
    """Return the tree of the branches that are parted first into large ones."""
    least = max(least_rows(tree.n_data), LARGE * tree.n_data)
    children = tree.child_table.lists()
    count, time = tree.count.tolist(), tree.time.tolist()

    def parting(node: int) -> tuple[float, int, list[int]]:
        """Return when a branch parts into large ones, and these; small ones may leave before."""
        top = node
        while len(large := [child for child in children[node] if count[child] >= least]) == 1:
            node = large[0]
        return time[node], top, large

    shown, waiting = {0}, [parting(0)]
    while waiting and len(shown) < MOST_LARGE:
        _, _, large = heapq.heappop(waiting)
        shown.update(large)
        for child in large:
            heapq.heappush(waiting, parting(child))
    node = np.arange(tree.n_nodes)
    while (hidden := ~np.isin(node, list(shown))).any():
        node[hidden] = tree.parent[node[hidden]]
    return tree.with_data(node[tree.leaf]).pruned().compressed()


def drawing(tree: Tree) -> str:
    """Draw the branches that draws have, or nearly so; single rows only where there are few."""
    if tree.transfer is None:
        shown = tree.collapsed(LEAST_SUPPORT)
        words = [f"branches found in at least {LEAST_SUPPORT:.0%} of the draws"]
        words.append("mean level at which they part, rows, share of the draws")
    else:
        shown = tree.distinct()
        words = ["branches that draws have, or nearly so"]
        words.append("mean level at which they part, rows, transfer support")
        words[-1] += f" ({SUPPORT_MEANINGS['transfer']})"
    if shown.n_data > MOST_NAMED:
        alone = (shown.n_children == 0) & (shown.count == 1) & (shown.parent >= 0)
        leaf = np.where(alone[shown.leaf], shown.parent[shown.leaf], shown.leaf)
        shown = shown.with_data(leaf).pruned()
    lines = textwrap.wrap(": ".join(words), WIDTH)
    return "\n".join([*lines, "", tree_text(shown, max_lines=MOST_NODES)])


def _table(found: Findings) -> str:
    """Return the table of clusters: the largest of many, in the order of the tree all the same."""
    heading = ["cluster", "rows", "confidence", "typical"]
    labelled = any(cluster.classes for cluster in found.clusters)
    if labelled:
        heading.insert(3, "label")
    by_size = sorted(found.clusters, key=lambda cluster: -cluster.n_rows)
    rest = by_size[MOST_CLUSTERS:]
    lines = [heading]
    for cluster in sorted(by_size[:MOST_CLUSTERS], key=lambda cluster: cluster.number):
        cells = [str(cluster.number), f"{cluster.n_rows:,}", f"{cluster.confidence:.2f}"]
        if labelled:
            cells.append(_commonest(cluster.classes))
        typical = "; ".join(trait.brief() for trait in cluster.traits)
        lines.append([*cells, typical or "like all rows"])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = []
    for cells in lines:
        parts = [
            cell.rjust(width) if k < 3 else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        texts.append("  ".join(parts).rstrip())
    if rest:
        n_rows = sum(cluster.n_rows for cluster in rest)
        texts.append(f"… {many(len(rest), 'more cluster')} with {many(n_rows, 'row')}")
    return "\n".join(texts)


def _carrying(found: Findings) -> str:
    """Return the few columns that carry the clusters most; nothing where there are no clusters."""
    carrying = found.carrying
    if carrying is None:
        return ""
    words = "columns that carry the clusters: the share of their variance that is between clusters"
    lines = [*textwrap.wrap(words, WIDTH), "", str(carrying)]
    n_more = len(carrying.columns) - len(carrying)
    if n_more:
        lines.append(f"… {many(n_more, 'more column')}")
    return "\n".join(lines)


def _commonest(classes: dict[str, int]) -> str:
    if not classes:
        return "none known"
    name, often = next(iter(classes.items()))
    total = sum(classes.values())
    return f"{name} ({often}/{total})" if often < total else f"{name} ({total})"


def printable(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name on one line, shortened, with a mark for what cannot be printed."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    return shortened(shown, longest)


def tree_text(tree: Tree | MassTree, *, max_lines: int = 40, width: int = 24) -> str:
    """Draw a tree, one node a line, with a bar for its data (or mass).

    Only children are left out. Where there are more than ``max_lines`` nodes, small ones are left
    out as well: a line gives the number of branches left out, or dots follow a node that lost all.
    Where one branch goes on and those beside it are all too small, only its beginning is shown, so
    a ladder of many steps takes one line.

    Where indices are long, a node shows its last number and its level; in a tree with times, the
    time at which it parts. Data that have a leaf of their own are named. The last column is the
    transfer support of a node, or else its support, if the tree has any.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.present.terminal import tree_text
    >>> tree = Tree.from_paths([(1, 1), (1, 1), (1, 2), (2, 1)])
    >>> print(tree_text(tree, width=8))
    Δ         ████████  4
    ├─ 1      ██████    3
    │  ├─ 1.1 ████      2
    │  └─ 1.2 ██        1
    └─ 2.1    ██        1
    """
    if isinstance(tree, MassTree):
        weight, form = tree.mass.tolist(), "{:.3f}"
        tree = tree.tree
    else:
        tree = tree.compressed()
        weight, form = tree.count.tolist(), "{:.0f}"
    lines = _lines(tree, weight, _kept(tree, weight, max_lines))
    labels = _indented(tree, lines)
    label_width = max(map(_columns, labels))
    total = weight[0] or 1.0
    values = [form.format(line.weight) for line in lines]
    value_width = max(map(len, values))
    drawn = []
    for label, line, value in zip(labels, lines, values, strict=True):
        gap = " " * (label_width - _columns(label))
        bar = _bar(line.weight / total, width)
        text = f"{label}{gap} {bar:<{width}}  {value:>{value_width}}  {_support(tree, line)}"
        drawn.append(text.rstrip())
    return "\n".join(drawn)


class _Line(NamedTuple):
    """A node that is shown, or how many are not."""

    node: int | None
    depth: int
    is_last: bool
    weight: float
    label: str


def _kept(tree: Tree, weight: list[float], max_lines: int) -> set[int]:
    """Return the heaviest nodes that ``max_lines`` lines can show."""
    # Heaviest first, parents before their children: what is kept is a tree.
    by_weight = np.lexsort((tree.level, -np.array(weight))).tolist()
    n_children, parent = tree.n_children.tolist(), tree.parent.tolist()
    n_kept = [0] * tree.n_nodes
    keep, n_lines = {0}, 1
    for w in by_weight:
        if w == 0:
            continue
        above = parent[w]
        # The first of several branches goes on in its parent's line until a second is shown.
        cost = 1 if n_children[above] == 1 else (0, 2, 1)[min(n_kept[above], 2)]
        if n_lines + cost > max_lines:
            break
        keep.add(w)
        n_kept[above] += 1
        n_lines += cost
    return keep


def _lines(tree: Tree, weight: list[float], keep: set[int]) -> list[_Line]:
    """Return what is to be shown, depth first."""
    children = tree.child_table.lists()
    data = {node: i for i, node in enumerate(tree.leaf.tolist()) if tree.own_count[node] == 1}
    lines: list[_Line] = []
    pending = [_Line(0, 0, True, weight[0], "")]
    while pending:
        line = pending.pop()
        if line.node is None:
            lines.append(line)
            continue
        node, hidden = line.node, list[int]()
        while True:
            kept = [child for child in children[node] if child in keep]
            hidden += [child for child in children[node] if child not in keep]
            if len(kept) != 1 or not hidden:
                break
            node = kept[0]
        dots = " …" if hidden and not kept else ""
        lines.append(line._replace(label=_label(tree, line.node, data) + dots))
        below = [_Line(child, line.depth + 1, False, weight[child], "") for child in kept]
        if kept and hidden:
            rest = sum(weight[child] for child in hidden)
            below.append(_Line(None, line.depth + 1, False, rest, f"… {len(hidden)} more"))
        if below:
            below[-1] = below[-1]._replace(is_last=True)
        pending += reversed(below)
    return lines


def _label(tree: Tree, node: int, data: dict[int, int]) -> str:
    own = tree.n_children[node] == 0 and node in data
    name = "" if tree.names is None or not own else printable(tree.names[data[node]])
    if node == 0:
        place = ROOT
    elif tree.has_times:
        if own:
            return name or f"datum {data[node]}"
        place = f"at {tree.time[node]:.2f}"
    elif tree.depth <= LONGEST_INDEX:
        place = format_index(tree.index(node))
    else:
        place = f"{tree.rank[node]} at level {tree.level[node]}"
    return f"{place} {name}".rstrip()


def _indented(tree: Tree, lines: list[_Line]) -> list[str]:
    """Return the labels behind the branches that lead to them; deep trees have narrow ones."""
    step = min(3, max(1, WIDEST_INDENT // max(1, *(line.depth for line in lines))))
    labels, stems = [], [""]
    for line in lines:
        del stems[line.depth + 1 :]
        stem = stems[line.depth]
        lead = ""
        if line.depth:
            lead = stem + ("└" if line.is_last else "├") + "─ "[: max(0, step - 1)].rstrip()
            stem += (" " if line.is_last else "│") + " " * (step - 1)
            lead = lead if len(lead) <= WIDEST_INDENT else "…" + lead[1 - WIDEST_INDENT :]
            lead += " "
        labels.append(lead + line.label)
        stems.append(stem)
    return labels


def _support(tree: Tree, line: _Line) -> str:
    """Return the support of a node; a single datum is always a cluster and has none to show."""
    supports = tree.supports_of(tree.support_kind)
    if supports is None or not line.node or tree.count[line.node] <= 1:
        return ""
    support = float(supports[line.node])
    return "" if np.isnan(support) else f"{support:.2f}"


def _columns(text: str) -> int:
    """Return how wide a text is on a terminal: East Asian characters take two places."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _bar(fraction: float, width: int) -> str:
    """Return a bar in eighths of a character."""
    eighths = round(fraction * width * 8)
    partial = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    return "█" * (eighths // 8) + partial
