"""What makes each cluster, as the page shows it: a table each, which needs no script."""

from __future__ import annotations

import math

from sticktree.posterior.markers import Marker, evidence_text
from sticktree.present.findings import Findings
from sticktree.present.table import many, number, shortened
from sticktree.present.traits import NAME_LENGTH, effect_text
from sticktree.report.markup import plain, table

MOST_CLUSTERS = 24
MOST_LINES = 6  # of a cluster
HEAD = ("Column", "Inside", "Outside", "Effect", "Probability")
WORDS = (
    "Each cluster against all other rows: means in their units, or the share of the category that "
    "is more frequent by most. Effects are differences in standard deviations within (of shares, "
    "Cohen's h), with their 94 % intervals; the probability is that of the direction. Clusters "
    "were made from these columns, so probabilities describe the clusters and are no test of "
    "whether there are any."
)


def markers_html(found: Findings) -> str:
    """Return the tables of the largest clusters, in the order of the tree."""
    markers = found.markers
    n_rows = {cluster.number: cluster.n_rows for cluster in found.clusters if cluster.number >= 0}
    largest = sorted(n_rows, key=lambda k: -n_rows[k])[:MOST_CLUSTERS]
    tables = [
        table(
            f"Cluster {k}: {many(n_rows[k], 'row')}",
            HEAD,
            [_line(one) for one in markers.top(MOST_LINES).of(k)],
            numeric=(1, 2),
            identifier=f"markers-{k}",
        )
        for k in sorted(largest)
    ]
    n_kept = found.table.rows.size
    kept = f" It rests on {n_kept:,} of the rows." if n_kept < found.n_rows else ""
    left = []
    if len(markers.columns) > MOST_LINES:
        left.append(f"the {MOST_LINES} columns with the most evidence of each cluster")
    if len(markers.clusters) > MOST_CLUSTERS:
        left.append(f"the {MOST_CLUSTERS} largest clusters")
    shown = f" Shown are {' and '.join(left)}; markers.csv of a run has all." if left else ""
    return f'<p>{plain(WORDS + kept + shown)}</p><div class="side-by-side">{"".join(tables)}</div>'


def _line(one: Marker) -> list[str]:
    name = shortened(one.column, NAME_LENGTH)
    if one.category is not None:
        name += f" = {shortened(one.category, NAME_LENGTH)}"
    effect = "–" if math.isnan(one.effect) else effect_text(one.effect)
    if math.isfinite(one.effect_low):
        limits = one.effect_low, one.effect_high
        low, high = (effect_text(limit).removeprefix("+") for limit in limits)
        effect += f" ({low} to {high})"
    sure = one.note if math.isnan(one.evidence) else evidence_text(one.evidence)
    return [name, _value(one, one.inside), _value(one, one.outside), effect, sure]


def _value(one: Marker, value: float) -> str:
    if math.isnan(value):
        return "–"
    return number(value) if one.category is None else f"{value:.0%}"
