"""Which columns carry the clusters, as the page shows it: a table, which needs no script."""

from __future__ import annotations

import math

from sticktree.posterior.relevance import RelevanceOfColumn
from sticktree.present.findings import Findings
from sticktree.present.table import shortened
from sticktree.present.traits import NAME_LENGTH
from sticktree.report.markup import plain, table

MOST_LINES = 20
HEAD = ("Column", "Share", "94 % interval", "By chance", "Beyond chance")
WORDS = (
    "The share of a column's variance that is between clusters (of categories, of Gini's "
    "diversity): its mean and interval over draws, in each of which a branch counts to the cluster "
    "that most of its rows are in. By chance is the mean share of a column whose values are dealt "
    "out to the rows at random; columns are sorted by what is beyond it. Clusters were made from "
    "these columns, so this describes the clusters and is no test."
)
ONE = "There is one cluster, so no column has variance between clusters."


def relevance_html(found: Findings) -> str:
    """Return the table of the columns that carry the clusters most."""
    if found.carrying is None:
        return f"<p>{plain(ONE)}</p>"
    relevance = found.relevance
    n_kept = found.table.rows.size
    words = WORDS + (f" It rests on {n_kept:,} of the rows." if n_kept < found.n_rows else "")
    if len(relevance) > MOST_LINES:
        words += (
            f" Shown are {MOST_LINES} of {len(relevance):,} columns; relevance.csv of a run has "
        )
        words += "all."
    lines = [_line(one) for one in relevance.top(MOST_LINES)]
    shown = table(
        "Columns that carry the clusters",
        HEAD,
        lines,
        numeric=(1, 2, 3, 4),
        identifier="relevance-table",
    )
    return f"<p>{plain(words)}</p>{shown}"


def _line(one: RelevanceOfColumn) -> list[str]:
    name = shortened(one.column, NAME_LENGTH)
    if math.isnan(one.share):
        return [name, "–", one.note, "–", "–"]
    interval = f"{one.share_low:.3f} to {one.share_high:.3f}"
    beyond = f"{one.beyond_chance:.3f}".replace("-", "−")
    shown = "–" if math.isnan(one.share_low) else interval
    return [name, f"{one.share:.3f}", shown, f"{one.chance:.3f}", beyond]
