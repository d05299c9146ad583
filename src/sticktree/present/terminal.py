"""What a fit found, for a terminal: how many clusters, which, what is typical, can it be trusted.

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

import textwrap

import numpy as np

from sticktree.present.findings import Findings
from sticktree.present.tree_text import tree_text
from sticktree.present.words import many
from sticktree.tree import Tree

MOST_CLUSTERS = 30  # lines of the table
LEAST_SUPPORT = 0.5  # of branches that are drawn
MOST_NODES = 24  # lines of the tree
MOST_NAMED = 16  # rows that are drawn one by one
WIDTH = 100


def head(found: Findings) -> str:
    """Return the few lines that matter most."""
    lines = [
        found.columns,
        f"model: {found.model}",
        found.sizes_in_words,
        found.stream,
        found.verdict.text,
    ]
    return "\n".join(line for text in lines for line in textwrap.wrap(text, WIDTH))


def summary(found: Findings) -> str:
    """Return everything: words, tree and table of clusters."""
    return "\n\n".join([head(found), drawing(found.tree), _table(found)])


def drawing(tree: Tree) -> str:
    """Draw the branches that most draws have; single rows only where there are few."""
    shown = tree.collapsed(LEAST_SUPPORT)
    if shown.n_data > MOST_NAMED:
        alone = (shown.n_children == 0) & (shown.count == 1) & (shown.parent >= 0)
        leaf = np.where(alone[shown.leaf], shown.parent[shown.leaf], shown.leaf)
        shown = Tree(shown.parent, leaf, time=shown.time, support=shown.support).pruned()
    words = f"branches found in at least {LEAST_SUPPORT:.0%} of the draws"
    words += ": mean level at which they part, rows, share of the draws"
    return words + "\n\n" + tree_text(shown, max_lines=MOST_NODES)


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


def _commonest(classes: dict[str, int]) -> str:
    if not classes:
        return "none known"
    name, often = next(iter(classes.items()))
    total = sum(classes.values())
    return f"{name} ({often}/{total})" if often < total else f"{name} ({total})"
