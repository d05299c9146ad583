"""What a fit found, for a terminal: how many clusters, which, what is typical, is it to be trusted.

>>> import numpy as np
>>> from sticktree import DFPMixture
>>> from sticktree.present.summary import summarise
>>> rng = np.random.default_rng(0)
>>> X = np.concatenate([rng.normal(0, 1, (20, 2)), rng.normal(9, 1, (20, 2))])
>>> mixture = DFPMixture(covariance_type="full", leaf_noise="shared", n_chains=2, n_warmup=50,
...                      n_draws=200, random_state=0).fit(X)
>>> print(summarise(mixture).text())  # doctest: +ELLIPSIS
40 rows, 2 columns: 2 gaussian (0, 1)
...
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree.present.text import tree_text
from sticktree.tree import Tree

if TYPE_CHECKING:
    from sticktree.estimators.mixture import DFPMixture

__all__ = ["ClusterSummary", "Summary", "flat_levels", "summarise"]

MOST_TYPICAL = 3  # columns that are told of a cluster
TYPICAL = 0.5  # standard deviations, by which a cluster must differ to be worth telling
MOST_CLUSTERS = 30  # lines of the table
LEAST_SUPPORT = 0.5  # of branches that are drawn
MOST_NODES = 24  # lines of the tree
MOST_NAMED = 16  # rows that are drawn one by one
SIZES_SHOWN = 8
WIDTH = 100


@dataclass(frozen=True)
class ClusterSummary:
    """One flat cluster.

    Attributes
    ----------
    cluster, rows : int
        Its number, and how many rows it has.
    confidence : float
        Mean posterior probability that a row of it is with the others of it.
    typical : list of str
        In what columns it differs most from all rows, and its mean or commonest value there.
    labels : dict of int
        How many of its rows have each of the known labels, the commonest first.
    """

    cluster: int
    rows: int
    confidence: float
    typical: list[str]
    labels: dict[str, int]


@dataclass(frozen=True)
class Summary:
    """What a fit found.

    Attributes
    ----------
    rows : int
        Number of rows.
    columns : str
        What the columns are, in words.
    model : str
        What was fitted, and how it was chosen.
    level, levels : int
        The level of the flat clusters, and the last level of the tree.
    clusters_per_level : list of int
        Numbers of clusters at levels 1 to the last.
    clusters : list of ClusterSummary
        The flat clusters.
    tree : str
        The tree as text.
    agree : {"good", "doubtful", "bad"}
        Whether the chains agree.
    convergence : str
        The same, in words.
    r_hat, ess : dict of float
        The figures behind it.
    stream : str
        What is to be said of the batches, if rows came in batches.
    drifted : list of int
        Numbers of the batches that were not what those before them foresaw.
    """

    rows: int
    columns: str
    model: str
    level: int
    levels: int
    clusters_per_level: list[int]
    clusters: list[ClusterSummary]
    tree: str
    agree: str
    convergence: str
    r_hat: dict[str, float]
    ess: dict[str, float]
    stream: str = ""
    drifted: list[int] = field(default_factory=list)

    def result(self) -> dict[str, Any]:
        """Return all but the drawing as plain objects."""
        return {key: value for key, value in asdict(self).items() if key != "tree"}

    def head(self) -> str:
        """Return the few lines that matter most."""
        sizes = sorted((cluster.rows for cluster in self.clusters), reverse=True)
        shown = ", ".join(f"{size:,}" for size in sizes[:SIZES_SHOWN])
        if len(sizes) > SIZES_SHOWN:
            shown = f"the largest have {shown} rows"
        else:
            shown += " row" if sizes == [1] else " rows"
        last = ", the last" if self.level == self.levels else ""
        lines = [
            self.columns,
            f"model: {self.model}",
            f"{_many(len(sizes), 'cluster')} at level {self.level}{last}: {shown}",
            self.stream,
            self.convergence,
        ]
        return "\n".join(line for text in lines for line in textwrap.wrap(text, WIDTH))

    def text(self) -> str:
        """Return everything: words, tree and table."""
        return "\n\n".join([self.head(), self.tree, self._table()])

    def _table(self) -> str:
        head = ["cluster", "rows", "confidence", "typical"]
        labelled = any(cluster.labels for cluster in self.clusters)
        lines = []
        # Of many, the largest; in the order of the tree all the same.
        by_size = sorted(self.clusters, key=lambda cluster: -cluster.rows)
        rest = by_size[MOST_CLUSTERS:]
        shown = sorted(by_size[:MOST_CLUSTERS], key=lambda cluster: cluster.cluster)
        for cluster in shown:
            cells = [str(cluster.cluster), f"{cluster.rows:,}", f"{cluster.confidence:.2f}"]
            if labelled:
                cells.append(_commonest(cluster.labels))
            lines.append([*cells, "; ".join(cluster.typical) or "like all rows"])
        if labelled:
            head.insert(3, "label")
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        texts = []
        for cells in (head, *lines):
            parts = [
                cell.rjust(width) if k < 3 else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ]
            texts.append("  ".join(parts).rstrip())
        if rest:
            n_rows = sum(cluster.rows for cluster in rest)
            texts.append(f"… {len(rest)} more clusters with {_many(n_rows, 'row')}")
        return "\n".join(texts)


def summarise(
    estimator: DFPMixture,
    *,
    labels: Sequence[str | None] | None = None,
    names: Sequence[str] | None = None,
    by_level: Sequence[Any] | None = None,
) -> Summary:
    """Say what a fitted mixture found.

    Parameters
    ----------
    estimator : DFPMixture
        A fitted mixture.
    labels : sequence of str or None, optional
        Known classes of its rows, None where they are not known.
    names : sequence of str, optional
        Names of the data of its tree.
    by_level : sequence of int arrays, optional
        The flat clusters at levels 1 to the last, if they are known already.
    """
    judged = estimator.diagnosis_.verdict()
    levels = estimator.posterior_.depth
    found = estimator.labels_
    if by_level is None:
        by_level = flat_levels(estimator)
    tree = estimator.tree_ if names is None else estimator.tree_.annotated(names=names)
    first_line = estimator.columns_.describe().split("\n")[0].removeprefix("columns: ")
    diagnosis = estimator.diagnosis_
    stream = getattr(estimator, "stream_", None)
    return Summary(
        rows=found.size,
        columns=f"{_many(found.size, 'row')}, {_many(len(estimator.columns_), 'column')}: "
        f"{first_line}",
        model=_model(estimator),
        level=estimator.level_,
        levels=levels,
        clusters_per_level=[int(cut.max()) + 1 for cut in by_level],
        clusters=_clusters(estimator, labels),
        tree=_drawn(tree),
        agree=judged.tone,
        convergence=judged.text,
        r_hat=dict(diagnosis.r_hat),
        ess=dict(diagnosis.ess),
        stream="" if stream is None else stream.words(),
        drifted=[] if stream is None else stream.drifted,
    )


def _model(estimator: DFPMixture) -> str:
    noise = {"own": "each leaf with its own noise", "shared": "the same noise at all leaves"}
    levels = _many(estimator.posterior_.depth, "level")
    text = f"{levels}, {noise[estimator.leaf_noise_]}, {estimator.covariance_type_} covariance"
    if estimator.selection_ is None:
        return text
    n_models = len(estimator.selection_.models)
    return f"{text} (best of {n_models} by leave-one-out density)"


def flat_levels(estimator: DFPMixture) -> list[Any]:
    """Return the flat clusters at levels 1 to the last."""
    known = {estimator.level_: estimator.labels_}
    levels = range(1, estimator.posterior_.depth + 1)
    return [known[k] if k in known else estimator.cluster(level=k) for k in levels]


def _drawn(tree: Tree) -> str:
    """Draw the branches that most draws have; single rows only where there are few."""
    shown = tree.collapsed(LEAST_SUPPORT)
    if shown.n_data > MOST_NAMED:
        alone = (shown.n_children == 0) & (shown.count == 1) & (shown.parent >= 0)
        leaf = np.where(alone[shown.leaf], shown.parent[shown.leaf], shown.leaf)
        shown = Tree(shown.parent, leaf, time=shown.time, support=shown.support).pruned()
    words = f"branches that {LEAST_SUPPORT:.0%} of the draws or more have"
    words += ": mean level at which they part, rows, share of the draws"
    return words + "\n\n" + tree_text(shown, max_lines=MOST_NODES)


def _clusters(estimator: DFPMixture, labels: Sequence[str | None] | None) -> list[ClusterSummary]:
    found = estimator.labels_
    numbers, values = estimator.rows_at_hand()
    scores = _Scores.of(values)
    place = np.full(found.size, -1)
    place[numbers] = np.arange(numbers.size)
    summaries = []
    order = np.argsort(found, kind="stable")
    ends = np.cumsum(np.bincount(found))
    for cluster, members in enumerate(np.split(order, ends[:-1])):
        names: Counter[str] = Counter()
        if labels is not None:
            called = (labels[row] for row in members.tolist())
            names.update(label for label in called if label is not None)
        summaries.append(
            ClusterSummary(
                cluster,
                members.size,
                float(estimator.confidence_[members].mean()) if members.size else float("nan"),
                scores.typical(estimator.columns_, place[members][place[members] >= 0]),
                dict(names.most_common()),
            )
        )
    return summaries


@dataclass(frozen=True, eq=False)
class _Scores:
    """What tells in which columns some rows differ from all."""

    values: Any
    mean: Any
    spread: Any

    @classmethod
    def of(cls, values: Any) -> _Scores:
        seen = ~np.isnan(values)
        count = np.maximum(seen.sum(axis=0), 1)
        mean = np.nansum(values, axis=0) / count
        spread = np.sqrt(np.nansum((values - mean) ** 2, axis=0) / count)
        return cls(values, mean, spread)

    def typical(self, columns: Any, members: Any) -> list[str]:
        """Return the columns in which these rows differ most, with their mean or mode there."""
        told = []
        for k, name in enumerate(columns.names):
            cells = self.values[members, k]
            cells = cells[~np.isnan(cells)]
            if not cells.size:
                continue
            if columns.categories[k]:
                told.append(self._category(k, name, columns.categories[k], cells))
            elif self.spread[k] > 0:
                mean = float(cells.mean())
                score = (mean - self.mean[k]) / self.spread[k]
                told.append((abs(score), f"{name} {mean:.4g} ({'low' if score < 0 else 'high'})"))
        told.sort(key=lambda pair: -pair[0])
        return [text for score, text in told[:MOST_TYPICAL] if score >= TYPICAL]

    def _category(self, k: int, name: Any, categories: Any, cells: Any) -> tuple[float, str]:
        column = self.values[:, k]
        column = column[~np.isnan(column)].astype(int)
        overall = np.bincount(column, minlength=len(categories)) / max(column.size, 1)
        inside = np.bincount(cells.astype(int), minlength=len(categories)) / cells.size
        spread = np.sqrt(np.maximum(overall * (1 - overall), 1e-12))
        best = int(np.argmax((inside - overall) / spread))
        score = float((inside - overall)[best] / spread[best])
        return score, f"{name} {categories[best]} ({inside[best]:.0%})"


def _commonest(labels: dict[str, int]) -> str:
    if not labels:
        return "none known"
    name, often = next(iter(labels.items()))
    total = sum(labels.values())
    return f"{name} ({often}/{total})" if often < total else f"{name} ({total})"


def _many(count: int, one: str) -> str:
    return f"{count:,} {one}{'s' * (count != 1)}"
