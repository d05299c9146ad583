"""The groups of a fit, as the page shows them: tree and stacked bars, and which branches differ.

Nothing here needs the script: bars are SVG whose places across are percentages, so that they are as
wide as the page is, and text stays as large as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.palette import CLUSTERS
from sticktree.posterior.composition import RATIO, Composition, Contrasts
from sticktree.present.findings import Findings
from sticktree.present.table import many, shortened
from sticktree.present.traits import NAME_LENGTH
from sticktree.report.markup import attribute, isolated, plain, table

MOST_GROUPS = 60
MOST_CLUSTERS = 10  # of which a table has a column each
MOST_LINES = 12  # of a comparison
MOST_PAIRS = 6  # of conditions that are compared
BAR_HEIGHT, TREE_HEIGHT = 22, 64  # pixels
NUMBERED = 0.035  # share from which on a part of a bar has room for its number
WORDS = (
    "One tree for all groups, and each group with its own share of every branch. The uppermost bar "
    "is of all rows, under the tree of the clusters; the others are groups, with posterior means. "
    "Grey is what no row of the group shows yet."
)
ONE = "There is one cluster, and every group has all of it."
OF_CONDITIONS = (
    "Groups count, not rows: how much groups of one condition differ decides how sure a difference "
    "between conditions is."
)
OF_GROUPS = (
    "For each branch, the group with the largest share against the one with the smallest. These "
    "two were chosen by their shares, so of many groups some differ by chance; to compare two "
    "groups that you name, use compare(a, b)."
)
HEAD = ("Branch", "Ratio", "94 % interval", "P(larger)", f"P(beyond {RATIO:g})")


def groups_html(found: Findings, conditions: Mapping[Any, Any] | None = None) -> str:
    """Return the section on groups; nothing for a fit without."""
    groups = found.fit.training.groups
    if groups is None:
        return ""
    matter = ""
    if found.fit.tells_group_gain:
        said, *figures = str(found.fit.group_gain).split("\n")
        matter = f"{said[0].upper()}{said[1:]} ({'; '.join(line.strip() for line in figures)})."
    composition = found.fit.composition
    if composition.n_clusters < 2:
        return f"<p>{plain(ONE)}</p>"
    conditions = composition.as_conditions() if conditions is None else conditions
    assert composition.n_rows is not None
    sizes = composition.n_rows.astype(np.int64)
    every = np.bincount(found.fit.cut.labels, minlength=composition.n_clusters).astype(float)
    bars = _Bars(composition, sizes, every / every.sum(), conditions)
    parts = [f"<p>{plain(matter)}</p>"] if matter else []
    parts += [f"<p>{plain(WORDS)}</p>", bars.markup(), _shares(bars)]
    parts.append(_differences(composition, conditions))
    return "".join(parts)


# ---- tree and bars -------------------------------------------------------------------------------


class _Bars:
    """Stacked bars of all rows and of groups, clusters in the order of their tree."""

    def __init__(
        self,
        composition: Composition,
        sizes: npt.NDArray[Any],
        every: FloatArray,
        conditions: Mapping[Any, Any] | None,
    ) -> None:
        self.composition, self.sizes, self.every = composition, sizes, every
        self.conditions = conditions or {}
        self.clusters = composition.tree.data_order.tolist()
        condition = [str(self.conditions.get(group, "\uffff")) for group in composition.groups]
        order = composition.order()
        if self.conditions:
            order = np.lexsort((composition.labels(), np.array(condition))).astype(np.int32)
        self.groups: list[int] = order[:MOST_GROUPS].tolist()

    def _n_rows(self) -> int:
        """Return the rows of all groups; parents have none of their own."""
        return int(self.sizes[: self.sizes.size - self.composition.n_parents].sum())

    def markup(self) -> str:
        """Return the table of bars."""
        head = ["Group", *(["Condition"] if self.conditions else []), "Rows"]
        kinds = {"Group": "name", "Condition": "name", "Rows": "number spare"}
        cells = "".join(f'<th scope="col" class="{kinds[n]}">{n}</th>' for n in head)
        first = f'<th scope="row">all</th>{"<td></td>" if self.conditions else ""}'
        first += f'<td class="number spare">{self._n_rows():,}</td>'
        lines = [f'<tr class="tree-line">{first}<td class="shares">{self._tree()}</td></tr>']
        for j in self.groups:
            name = shortened(str(self.composition.groups[j]), NAME_LENGTH)
            line = f'<th scope="row" class="name">{isolated(name)}</th>'
            if self.conditions:
                of_group = self.conditions.get(self.composition.groups[j])
                shown = "–" if of_group is None else shortened(str(of_group), NAME_LENGTH)
                line += f'<td class="name">{isolated(shown)}</td>'
            line += f'<td class="number spare">{self.sizes[j]:,}</td>'
            lines.append(f'<tr>{line}<td class="shares">{self._bar(j, name)}</td></tr>')
        more = len(self.composition.groups) - len(self.groups)
        left = f"<p>{many(more, 'group')} more in composition.csv of a run.</p>" if more else ""
        caption = "Shares of the clusters in groups"
        return (
            f'<div class="scroll whole" tabindex="0" role="region" aria-label="{caption}">'
            f'<table id="groups-table" class="groups"><caption>{caption}</caption>'
            f"<thead><tr>{cells}"
            '<th scope="col" class="shares">Share of each cluster</th></tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table></div>{left}"
        )

    def _bar(self, j: int, name: str) -> str:
        low, high = self.composition.interval
        mean = self.composition.mean[j]
        words = [
            f"cluster {k}: {mean[k]:.1%} ({low[j, k]:.1%} to {high[j, k]:.1%})"
            for k in range(self.composition.n_clusters)
        ]
        spoken = f"{name}: {', '.join(f'cluster {k} {mean[k]:.0%}' for k in self.clusters)}"
        unseen = max(1.0 - float(mean[: self.composition.n_clusters].sum()), 0.0)
        rest = (
            f'<rect class="rest" x="{100 * (1 - unseen):.3f}%" width="{100 * unseen:.3f}%" y="0" '
            f'height="{BAR_HEIGHT}"><title>not seen yet: {unseen:.1%}</title></rect>'
        )
        return _svg(self._parts(mean, words, 0) + rest, BAR_HEIGHT, spoken)

    def _parts(self, share: FloatArray, words: list[str], top: int) -> str:
        drawn, start = [], 0.0
        for k in self.clusters:
            width, colour = float(share[k]), CLUSTERS[k % len(CLUSTERS)]
            drawn.append(
                f'<rect x="{100 * start:.3f}%" width="{100 * width:.3f}%" y="{top}" '
                f'height="{BAR_HEIGHT}" fill="{colour}"><title>{plain(words[k])}</title></rect>'
            )
            if width >= NUMBERED:
                middle = 100 * (start + width / 2)
                drawn.append(
                    f'<text x="{middle:.3f}%" y="{top + 15}" fill="{_ink(colour)}">{k}</text>'
                )
            start += width
        return "".join(drawn)

    def _tree(self) -> str:
        """Return the bar of all rows with the tree above it."""
        words = [f"cluster {k}: {self.every[k]:.1%} of all rows" for k in range(self.every.size)]
        spoken = f"All rows: {', '.join(f'cluster {k} {self.every[k]:.0%}' for k in self.clusters)}"
        drawn = "".join(self._lines()) + self._parts(self.every, words, TREE_HEIGHT)
        return _svg(drawn, TREE_HEIGHT + BAR_HEIGHT, spoken)

    def _lines(self) -> Iterator[str]:
        """Yield the lines of the tree: its leaves are the middles of the parts of the bar."""
        tree = self.composition.tree
        ends = np.cumsum(self.every[self.clusters])
        middle = dict(zip(self.clusters, 100 * (ends - self.every[self.clusters] / 2), strict=True))
        below: list[list[float]] = [[] for _ in range(tree.n_nodes)]
        names: list[list[int]] = [[] for _ in range(tree.n_nodes)]
        height = np.zeros(tree.n_nodes)
        for cluster, leaf in enumerate(tree.leaf.tolist()):
            below[leaf].append(middle[cluster])
            names[leaf].append(cluster)
        place = np.zeros(tree.n_nodes)
        children: list[list[int]] = [[] for _ in range(tree.n_nodes)]
        for node in range(tree.n_nodes - 1, -1, -1):
            place[node] = np.mean(below[node])
            if len(below[node]) > 1 or children[node]:
                height[node] = 1 + max((height[child] for child in children[node]), default=0)
            if node:
                above = int(tree.parent[node])
                below[above].append(float(place[node]))
                names[above] += names[node]
                children[above].append(node)
        step = (TREE_HEIGHT - 10) / max(height[0], 1)
        for node in range(tree.n_nodes):
            if len(below[node]) < 2:
                continue
            y = TREE_HEIGHT - step * height[node]
            title = f"branch {'+'.join(map(str, sorted(names[node])))}"
            yield (
                f'<line x1="{min(below[node]):.3f}%" x2="{max(below[node]):.3f}%" y1="{y:.1f}" '
                f'y2="{y:.1f}"><title>{title}</title></line>'
            )
            feet = [(float(place[child]), TREE_HEIGHT - step * height[child]) for child in
                    children[node]]  # fmt: skip
            feet += [(middle[k], TREE_HEIGHT) for k in names[node] if tree.leaf[k] == node]
            for x, foot in feet:
                yield f'<line x1="{x:.3f}%" x2="{x:.3f}%" y1="{y:.1f}" y2="{foot:.1f}"/>'


def _svg(drawn: str, height: int, spoken: str) -> str:
    return f'<svg role="img" height="{height}" aria-label="{attribute(spoken)}">{drawn}</svg>'


def _ink(colour: str) -> str:
    """Return black or white, whichever is read better on a colour."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#000" if 0.299 * red + 0.587 * green + 0.114 * blue > 130 else "#fff"


# ---- numbers -------------------------------------------------------------------------------------


def _shares(bars: _Bars) -> str:
    """Return the shares as numbers, behind a heading that opens, if there are not too many."""
    composition = bars.composition
    if composition.n_clusters > MOST_CLUSTERS:
        return ""
    low, high = composition.interval
    lines = []
    for j in bars.groups:
        cells = [
            f"{100 * composition.mean[j, k]:.1f} ({100 * low[j, k]:.0f}–{100 * high[j, k]:.0f})"
            for k in bars.clusters
        ]
        name = shortened(str(composition.groups[j]), NAME_LENGTH)
        lines.append([name, *cells, f"{100 * composition.unseen[j]:.1f}"])
    head = ["Group", *(f"Cluster {k}" for k in bars.clusters), "Not seen yet"]
    shown = table(
        "Shares in percent, with 94 % intervals", head, lines, numeric=range(1, len(head))
    )
    return f"<details><summary>The shares as numbers</summary>{shown}</details>"


def _differences(composition: Composition, conditions: Mapping[Any, Any] | None) -> str:
    heading = "<h3>Branches that differ</h3>"
    if not conditions:
        head = ("Branch", "Largest in", "Smallest in", *HEAD[1:])
        lines = _farthest(composition)
        shown = table("Groups that are farthest apart", head, lines, numeric=(3, 4, 5, 6))
        return f"{heading}<p>{plain(OF_GROUPS)}</p>{shown}"
    sides = sorted({side for side in conditions.values() if side is not None}, key=str)
    pairs = list(combinations(sides, 2))
    parts = [f"{heading}<p>{plain(OF_CONDITIONS)}</p>"]
    for b, a in pairs[:MOST_PAIRS]:
        tables = [
            _contrasts(composition.compare(a, b, conditions)),
            _contrasts(composition.compare(a, b, conditions, "parent")),
        ]
        parts.append(f'<div class="side-by-side">{"".join(tables)}</div>')
    if len(pairs) > MOST_PAIRS:
        left = many(len(pairs) - MOST_PAIRS, "pair")
        parts.append(f"<p>{left} of conditions more are in contrasts.csv of a run.</p>")
    return "".join(parts)


def _contrasts(found: Contrasts) -> str:
    a, b = (shortened(str(side), NAME_LENGTH) for side in found.sides)
    what = "share of the branch above" if found.within else "share of all rows"
    counted = " and ".join(map(str, found.n_groups))
    caption = f"{a} over {b}, {what} ({counted} groups)"
    lines = [[line["branch"], *_figures(line)] for line in found.table[:MOST_LINES]]
    return table(caption, HEAD, lines, numeric=(1, 2, 3, 4))


def _figures(line: Mapping[str, Any]) -> list[str]:
    low, ratio, high = (float(np.exp(line[key])) for key in ("low", "log_ratio", "high"))
    sure = line["p_greater"]
    return [
        _ratio(ratio),
        f"{_ratio(low)}–{_ratio(high)}",
        ">0.999" if sure > 0.999 else "<0.001" if sure < 0.001 else f"{sure:.3f}",
        f"{line['p_beyond']:.2f}",
    ]


def _ratio(value: float) -> str:
    return f"{value:.2f}" if 0.1 <= value < 10 else f"{value:.2g}"


def _farthest(composition: Composition) -> list[list[str]]:
    """Return for each branch the groups with the largest and the smallest share, and how sure."""
    mean = composition.mean[: len(composition.groups) - composition.n_parents]
    largest, smallest = mean.argmax(axis=0), mean.argmin(axis=0)
    found = []
    for k, branch in enumerate(composition.names):
        first, second = composition.groups[largest[k]], composition.groups[smallest[k]]
        if first == second:
            continue
        lines = composition.compare(first, second).table
        line = next(one for one in lines if one["branch"] == branch)
        found.append((line, str(first), str(second)))
    found.sort(key=lambda one: (-round(one[0]["p_greater"], 2), -one[0]["log_ratio"]))
    return [
        [line["branch"], *(shortened(name, NAME_LENGTH) for name in names), *_figures(line)]
        for line, *names in found[:MOST_LINES]
    ]
