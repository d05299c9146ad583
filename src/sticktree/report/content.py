"""All that the page shows of a fitted mixture, made from its findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.posterior.draws import Diagnosis, Posterior, agreement, r_hat_text, scalar_name
from sticktree.posterior.tree_space import tree_space
from sticktree.posterior.verdict import ALONE, Verdict
from sticktree.present.findings import Findings
from sticktree.present.table import many, number, shortened
from sticktree.report.groups import groups_html
from sticktree.report.markers import markers_html
from sticktree.report.markup import attribute, pairs_table, plain, table
from sticktree.report.relevance import relevance_html
from sticktree.report.rows import script_data, shown_rows
from sticktree.version import __version__

VALUE_LENGTH = 300
LEFT_OUT = ("progress", "n_jobs")  # they do not change the result
MOST_TRACES = 8
MOST_POINTS = 150  # of a line
MOST_CHAINS = 6  # lines of a trace; more cannot be told apart
FIRST = ("log_joint", "concentration", "meeting_level")
DETAILS = (
    "None of these has a say in the verdict: chains may differ in single small branches, in how "
    "many there are or in a hyper-parameter, and give the same clusters and the same density."
)
WIDTH, HEIGHT, EDGE = 240, 84, 4  # of a trace

Scalars = dict[str, npt.NDArray[Any]]
"""Numbers of every draw, each of shape (chains, draws)."""


class Section(NamedTuple):
    """A part of the page below the tree that needs no script."""

    identifier: str
    title: str
    html: str

    def markup(self) -> str:
        """Return the section with its heading."""
        label = f"{self.identifier}-title"
        return (
            f'<section id="{self.identifier}" aria-labelledby="{label}">\n'
            f'<h2 id="{label}">{plain(self.title)}</h2>\n{self.html}\n</section>\n'
        )


@dataclass(frozen=True, eq=False)
class Content:
    """Pieces of the page.

    Attributes
    ----------
    data : dict
        What the script draws: plain numbers, text and packed arrays, ready for JSON.
    summary, verdict : str
        Paragraphs on what was found, and on whether to trust it.
    sections : list of Section
        What comes below the tree, in this order. One without content is left out.
    """

    data: dict[str, Any]
    summary: str
    verdict: str
    sections: list[Section]

    @classmethod
    def of(
        cls,
        found: Findings,
        parameters: Mapping[str, Any],
        provenance: Mapping[str, Any] | None = None,
        *,
        conditions: Mapping[Any, Any] | None = None,
        title: str = "",
        most_rows: int | None = None,
    ) -> Content:
        """Gather the content from what a fit found, with at most some rows one by one."""
        shown = shown_rows(found, most_rows)
        judged = found.verdict
        course = f"<p>{plain(found.course)}</p>" if found.course else ""
        verdict = _verdict(judged) + course
        made = f'<div class="side-by-side">{_provenance(provenance)}{_parameters(parameters)}</div>'
        sections = [
            Section("clusters", "Clusters", _clusters(found)),
            Section("groups", "Groups", groups_html(found, conditions)),
            Section("markers", "What makes each cluster", markers_html(found)),
            Section("relevance", "Which columns carry the clusters", relevance_html(found)),
            Section("trust", "Can it be trusted?", verdict + _convergence(found)),
            Section("model", "Choice of the model", _models(found)),
            Section("made", "How it was made", made),
        ]
        return cls(
            script_data(found, shown, parameters.get("averaging", "stack"), title),
            f"<p>{plain(_summary(found))}</p>{_sampled(found, shown.size)}",
            verdict,
            [section for section in sections if section.html],
        )

    @property
    def pieces(self) -> dict[str, str]:
        """Pieces of HTML by their names in the template."""
        below = "".join(section.markup() for section in self.sections)
        return {"summary": self.summary, "verdict": self.verdict, "sections": below}


# ---- words and tables ---------------------------------------------------------------------------


def _summary(found: Findings) -> str:
    """Return a paragraph on what was fitted and what came out."""
    columns = many(len(found.table.names), "column")
    gaps = int(np.isnan(found.table.values).sum()) if found.table.rows.size == found.n_rows else 0
    if gaps:
        columns += f" ({many(gaps, 'entry', 'entries')} missing)"
    clusters = many(len(found.sizes), "cluster") if len(found.sizes) > 1 else "one cluster"
    sure = float(np.mean(found.fit.confidence))
    sentences = [
        f"{many(found.n_rows, 'row')} with {columns} {'falls' if found.n_rows == 1 else 'fall'} "
        f"into {clusters}.",
        "A random row of the same branch in a random draw is of the same cluster with probability "
        f"{sure:.2f} on average, the mean confidence.",
        f"The model: {found.model}.",
    ]
    if found.n_strays:
        words = many(found.n_strays, "row is a stray", "rows are strays")
        whose = "its" if found.n_strays == 1 else "their"
        sentences.insert(1, f"{words}, apart from the rest of {whose} cluster.")
    outside = found.n_rows - found.in_tree.size
    if outside:
        were = "has weight 0 and is" if outside == 1 else "have weight 0 and are"
        sentences.insert(1, f"Of the rows, {outside:,} {were} not in the tree.")
    if found.stream:
        sentences.append(f"Rows came in {found.stream}")
    return " ".join(sentences)


def _verdict(judged: Verdict) -> str:
    """Return whether the chains agree: a line for each part."""
    if not judged.parts:
        return f'<p class="verdict {judged.tone}">{plain(judged.text)}</p>'
    lines = "".join(
        f"<dt>{part.about} <strong>{plain(part.answer)}</strong></dt><dd>{plain(part.words())}</dd>"
        for part in judged.parts
    )
    alone = f"<p>{plain(ALONE)}</p>" if judged.agreement == "cannot tell" else ""
    inside = f"<p>Do the chains agree?</p><dl>{lines}</dl>{alone}"
    return f'<div class="verdict {judged.tone}">{inside}</div>'


def _sampled(found: Findings, n_shown: int) -> str:
    """Return a paragraph on how many of the rows the page has, if not all."""
    if n_shown == found.in_tree.size:
        return ""
    text = (
        f"This page has {n_shown:,} of the {found.n_rows:,} rows: some of every cluster, the "
        "others at random. Sizes of branches and the table of clusters count all rows; pictures, "
        "search and the columns of a branch are about the rows on this page."
    )
    return f"<p>{plain(text)}</p>"


def _clusters(found: Findings) -> str:
    """Return the table of clusters, with an id by which the script finds it."""
    head = ["Cluster", "Rows", "Share", "Confidence", "What sets it apart"]
    numeric = [1, 2, 3]
    if found.classes is not None:
        head[4:4] = ["Most frequent class", "Its share"]
        numeric.append(5)
    lines = []
    for cluster in found.clusters:
        share = f"{cluster.n_rows / found.n_rows:.1%}"
        line = [str(cluster.number), str(cluster.n_rows), share, f"{cluster.confidence:.2f}"]
        if found.classes is not None:
            known = sum(cluster.classes.values())
            name, count = next(iter(cluster.classes.items()), ("none known", 0))
            line += [name, f"{count / known:.0%}" if known else "–"]
        apart = "; ".join(trait.full() for trait in cluster.traits)
        lines.append([*line, apart or "near the overall mean"])
    return table("Flat clusters", head, lines, numeric=numeric, identifier="clusters-table")


def _models(found: Findings) -> str:
    selection = found.fit.selection
    if selection is None:
        return "<p>The model was given; nothing was compared.</p>"
    head = ["Model", "Density", "Difference", "Its error", "Weight", "Untrusted rows", "Dropped"]
    lines = [
        [
            str(row["name"]),
            *(f"{row[key]:.1f}".replace("-", "−") for key in ("elpd", "difference")),
            f"{row['se_difference']:.1f}",
            f"{row['weight']:.2f}",
            "?" if row["n_bad_k"] is None else str(row["n_bad_k"]),
            "" if row["dropped_after"] is None else f"after {row['dropped_after']} sweeps",
        ]
        for row in selection.table
    ]
    return (
        "<p>Models were compared by leave-one-out log density, summed over rows, from short "
        "chains: larger is better. Differences of less than about twice their error mean little. "
        "Weights are those of the mixture that predicts best, held back towards the first.</p>"
        + table("Models compared", head, lines, numeric=range(1, 6))
    )


def _parameters(given: Mapping[str, Any]) -> str:
    pairs = [
        (name, shortened(repr(value), VALUE_LENGTH))
        for name, value in given.items()
        if name not in LEFT_OUT
    ]
    return pairs_table("Parameters of the fit", pairs)


def _provenance(provenance: Mapping[str, Any] | None) -> str:
    pairs = list(_flat(provenance or {}))
    if not any(name in ("version", "sticktree", "sticktree_version") for name, _ in pairs):
        pairs.insert(0, ("sticktree", __version__))
    return pairs_table("Provenance", pairs)


def _flat(entries: Mapping[str, Any], lead: str = "") -> Iterator[tuple[str, str]]:
    """Yield names and texts of all entries, those of inner mappings with dotted names."""
    for name, value in entries.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{lead}{name}.")
        else:
            several = isinstance(value, list | tuple | np.ndarray)
            text = ", ".join(map(str, value)) if several else str(value)
            yield f"{lead}{name}", shortened(text, VALUE_LENGTH)


# ---- how the chains went ------------------------------------------------------------------------


def _convergence(found: Findings) -> str:
    """Return what there is to see of the chains."""
    posterior, diagnosis = found.fit.posterior, found.fit.diagnosis
    if not posterior.n_draws:
        return ""
    scalars = posterior.columns()
    drawn = _traces(scalars, diagnosis)
    pieces = [
        f"<h3>Details</h3><p>{plain(DETAILS)}</p>",
        _tree_space(posterior),
        "<h3>Traces</h3><p>One line for each chain, from the first draw that was kept to the last. "
        f'Chains that agree overlap.</p><div class="traces">{drawn}</div>'
        if drawn
        else "",
        f'<div class="side-by-side">{_scalars_table(diagnosis)}{_levels_table(scalars)}</div>',
    ]
    return "".join(pieces)


def _scalars_table(diagnosis: Diagnosis) -> str:
    """Return the table of R-hat and effective sample sizes, the worst first."""
    names = sorted(diagnosis.ess, key=lambda name: -diagnosis.r_hat.get(name, 0.0))
    lines = []
    for name in names:
        r_hat = diagnosis.r_hat.get(name, np.nan)
        judged = "" if np.isnan(r_hat) else agreement(r_hat)
        shown = "–" if np.isnan(r_hat) else r_hat_text(r_hat, digits=3)
        lines.append([scalar_name(name), shown, f"{diagnosis.ess[name]:.0f}", judged])
    if not lines:
        return ""
    head = ("Scalar", "R-hat", "Effective draws", "Chains")
    return table("Convergence of every scalar that varies", head, lines, numeric=(1, 2))


def _levels_table(scalars: Scalars) -> str:
    """Return the table of branches at each level: posterior mean and middle 90 %."""
    lines = []
    for level, nodes in enumerate(_nodes(scalars), start=1):
        low, high = np.quantile(nodes, [0.05, 0.95])
        lines.append([str(level), f"{nodes.mean():.1f}", f"{low:.0f} to {high:.0f}"])
    head = ("Level", "Branches, mean", "Middle 90 %")
    return table("Branches at each level of the drawn trees", head, lines, numeric=(0, 1, 2))


def _nodes(scalars: Scalars) -> list[npt.NDArray[Any]]:
    """Return the numbers of branches at each level."""
    return [values for name, values in scalars.items() if name.startswith("nodes[")]


def _traces(scalars: Scalars, diagnosis: Diagnosis) -> str:
    """Return small pictures of how the scalars went in every chain."""
    last = f"nodes[{len(_nodes(scalars)) - 1}]"
    chosen = [name for name in (*FIRST, last) if name in scalars and np.ptp(scalars[name]) > 0]
    by_worst = sorted(diagnosis.r_hat, key=lambda name: -diagnosis.r_hat[name])
    chosen += [name for name in by_worst if name in scalars and name not in chosen]
    return "".join(_trace(name, scalars[name].astype(float)) for name in chosen[:MOST_TRACES])


def _trace(name: str, values: npt.NDArray[Any]) -> str:
    """Return the lines of one scalar as SVG."""
    n_draws = values.shape[1]
    kept = np.unique(np.linspace(0, n_draws - 1, min(n_draws, MOST_POINTS)).astype(int))
    low, high = float(values.min()), float(values.max())
    across = EDGE + kept / max(n_draws - 1, 1) * (WIDTH - 2 * EDGE)
    lines = []
    for k, chain in enumerate(values[:MOST_CHAINS]):
        down = HEIGHT - EDGE - (chain[kept] - low) / ((high - low) or 1.0) * (HEIGHT - 2 * EDGE)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
        lines.append(f'<polyline class="chain chain-{k}" points="{points}"/>')
    title = scalar_name(name)
    chains = f"{many(len(values), 'chain')} of {many(n_draws, 'draw')}"
    spoken = f"{title}: {chains}, {number(low)} to {number(high)}"
    return (
        f'<figure class="trace"><figcaption>{plain(title)} <span class="range">{number(low)} to '
        f'{number(high)}</span></figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'preserveAspectRatio="none" aria-label="{attribute(spoken)}">{"".join(lines)}</svg>'
        "</figure>"
    )


def _tree_space(posterior: Posterior) -> str:
    """Return a paragraph on whether the chains visit the same trees, where that can be measured."""
    known = all(any(draw.labelled for draw in chain) for chain in posterior.chains)
    if posterior.n_chains < 2 or not known:
        return ""
    return f"<p>{plain(f'Compared as whole trees, {tree_space(posterior).in_words()}.')}</p>"
