"""How trees, posteriors and fits look in a notebook: small, inert HTML for light and dark pages.

Every text that comes from data is escaped, nothing is a script, and the size is bounded whatever
the size of the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree.posterior.markers import HEADINGS
from sticktree.posterior.relevance import HEADINGS as HEADINGS_OF_RELEVANCE
from sticktree.present.findings import Findings
from sticktree.present.table import SUPPORT_MEANINGS, SUPPORT_NAMES, draws_in_words, many
from sticktree.present.terminal import printable, tree_text
from sticktree.tree.structure import SUPPORT_KINDS

if TYPE_CHECKING:
    from sticktree.posterior.draws import Posterior
    from sticktree.posterior.markers import Markers
    from sticktree.posterior.relevance import Relevance
    from sticktree.tree import Tree

WIDTH, HEIGHT = 680, 150  # of the picture of a tree
MOST_BRANCHES = 150  # that it shows
NARROWEST = 0.8
MOST_DRAWS = 50  # of each chain, that a posterior's table is computed from
MOST_ROWS = 16
MOST_MARKERS = 3  # of each cluster
# The page gives the colour of text and paper; a middle blue can be seen on any.
HUE = "#3b83bd"
TEXT = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:700px"
CELL = "padding:1px 12px 1px 0;text-align:"


def html_of_tree(tree: Tree) -> str:
    """Return the sizes of a tree, a picture of it, and the tree as text to be opened."""
    facts = [many(tree.n_data, "datum", "data"), many(tree.n_nodes, "node")]
    facts.append(f"{many(tree.depth, 'edge' if tree.has_times else 'level')} deep")
    legend = "From the root at the top to the data; as wide as there are data"
    kind = tree.support_kind
    if kind is not None:
        legend += f"; the stronger the colour, the higher the {SUPPORT_NAMES[kind]}"
        legend += f": {SUPPORT_MEANINGS[kind]}"
    legend += "."
    picture = _picture(tree) if tree.n_data and tree.n_nodes > 1 else ""
    text = escape(tree_text(tree, max_lines=24))
    return _block(
        f"<div><b>Tree</b>: {', '.join(facts)}</div>",
        picture and f'{picture}<div style="opacity:.7;font-size:12px">{legend}</div>',
        _details(
            "as text",
            '<pre style="font-size:11px;line-height:1.2;margin:4px 0;overflow-x:auto">'
            f"{text}</pre>",
        ),
    )


def html_of_posterior(posterior: Posterior) -> str:
    """Return the numbers of chains and draws, and mean and spread of each scalar."""
    head = f"<div><b>Posterior</b>: {draws_in_words(posterior)}</div>"
    if posterior.n_draws == 0:
        return _block(head)
    thin = max(1, -(-posterior.n_draws // MOST_DRAWS))
    few = type(posterior)([chain[::thin] for chain in posterior.chains], posterior.model)
    rows = [
        (name, f"{values.mean():.4g}", f"{values.std():.2g}")
        for name, values in few.columns().items()
    ]
    note = "" if thin == 1 else f" From {few.n_draws} draws of each chain."
    if len(rows) > MOST_ROWS:
        note = f" {len(rows) - MOST_ROWS} more are left out.{note}"
    return _block(
        head,
        _table(("scalar", "mean", "sd"), rows[:MOST_ROWS]),
        note and f'<div style="opacity:.7;font-size:12px">{note.strip()}</div>',
    )


def html_of_fit(estimator: Any) -> str:
    """Return a summary of a fit; an empty text before the fit."""
    if not hasattr(estimator, "fit_"):
        return ""
    found = Findings(estimator.fit_)
    rows = [
        ("found", found.sizes_in_words),
        ("batches", found.stream),
        ("model", found.model),
        ("draws", found.draws),
        ("sampling", found.course),
        ("convergence", found.verdict.text),
    ]
    rows = [(name, text) for name, text in rows if text]
    return _block(
        _table(None, rows),
        _details("what makes the clusters", html_of_markers(found.markers.top(MOST_MARKERS))),
        ""
        if found.carrying is None
        else _details("which columns carry them", html_of_relevance(found.carrying)),
        _details("tree", html_of_tree(found.tree)),
    )


def html_of_markers(markers: Markers) -> str:
    """Return the lines of the markers, a few of each of a few clusters."""
    lines, n_more = markers.shown()
    left = f"{many(n_more, 'more line')} in to_frame() and to_csv()." if n_more else ""
    note = "Each cluster against all other rows; effects are in standard deviations within, of "
    note += "shares Cohen's h. They describe the clusters and are no test of whether these exist. "
    return _block(
        _table(HEADINGS, lines, n_words=2),
        f'<div style="opacity:.7;font-size:12px">{note}{left}</div>',
    )


def html_of_relevance(relevance: Relevance) -> str:
    """Return the first lines of which columns carry the clusters."""
    lines, n_more = relevance.shown()
    left = f" {many(n_more, 'more line')} in to_frame() and to_csv()." if n_more else ""
    note = "The share of a column's variance that is between clusters: mean and interval over "
    note += "draws, beside what a column that has nothing to do with the clusters would have."
    return _block(
        _table(HEADINGS_OF_RELEVANCE, lines),
        f'<div style="opacity:.7;font-size:12px">{note}{left}</div>',
    )


def _picture(tree: Tree) -> str:
    """Draw the largest branches, each from the time of its parent to its own."""
    last = float(tree.time.max())
    first = min(float(tree.time[0]), 0.0)
    down = (HEIGHT - 6) / (last - first) if last > first else 0.0
    above = np.maximum(tree.parent, 0)
    top, bottom = 6 + (tree.time[above] - first) * down, 6 + (tree.time - first) * down
    top[0] = 0.0
    across = WIDTH / tree.n_data
    left, width = tree.data_start * across, tree.count * across
    shade = np.where(tree.rank % 2, 0.75, 0.55)
    if (supports := tree.supports_of(tree.support_kind)) is not None:
        shade = 0.2 + 0.7 * np.nan_to_num(supports, nan=0.0)
    visible = np.flatnonzero((width >= NARROWEST) & (bottom - top > 0.2))
    largest = visible[np.argsort(-tree.count[visible], kind="stable")[:MOST_BRANCHES]]
    rects = "".join(
        f'<rect x="{left[w]:.1f}" y="{top[w]:.1f}" width="{max(width[w] - 0.5, 0.4):.1f}" '
        f'height="{bottom[w] - top[w] - min(0.5, (bottom[w] - top[w]) / 2):.1f}" '
        f'fill-opacity="{shade[w]:.2f}"><title>{escape(_title(tree, w))}</title></rect>'
        for w in largest.tolist()
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="the tree" style="max-width:100%;height:auto;margin:4px 0;display:block">'
        f'<g fill="{HUE}"><rect width="{WIDTH}" height="{HEIGHT}" fill-opacity="0.1"/>{rects}</g>'
        "</svg>"
    )


def _title(tree: Tree, node: int) -> str:
    parts = [many(int(tree.count[node]), "datum", "data")]
    parts.append(f"{'time' if tree.has_times else 'level'} {tree.time[node]:.4g}")
    for kind in reversed(SUPPORT_KINDS):
        supports = tree.supports_of(kind)
        if supports is not None and not np.isnan(supports[node]):
            parts.append(f"{SUPPORT_NAMES[kind]} {supports[node]:.2f}")
    if tree.names is not None and tree.count[node] == 1:
        parts.insert(0, printable(tree.names[int(tree.data_below(node)[0])]))
    return ", ".join(parts)


def _block(*parts: str) -> str:
    return f'<div style="{TEXT}">{"".join(parts)}</div>'


def _details(summary: str, content: str) -> str:
    return f'<details><summary style="cursor:pointer">{summary}</summary>{content}</details>'


def _table(head: Sequence[str] | None, rows: Iterable[Sequence[str]], *, n_words: int = 1) -> str:
    """Return a table; with a head, its columns but the first ``n_words`` are numbers."""

    def line(cells: Sequence[str], tag: str) -> str:
        first = f'<{tag} style="{CELL}left;vertical-align:top">{escape(cells[0])}</{tag}>'
        sides = ("left" if head is None or k < n_words else "right" for k in range(1, len(cells)))
        rest = (
            f'<{tag} style="{CELL}{side}">{escape(cell)}</{tag}>'
            for side, cell in zip(sides, cells[1:], strict=True)
        )
        return f"<tr>{first}{''.join(rest)}</tr>"

    top = "" if head is None else f"<thead>{line(head, 'th')}</thead>"
    body = "".join(line(row, "td") for row in rows)
    return (
        '<table style="border-collapse:collapse;margin:4px 0;font-size:13px;'
        f'font-variant-numeric:tabular-nums">{top}<tbody>{body}</tbody></table>'
    )
