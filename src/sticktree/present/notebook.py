"""How trees, posteriors and fits look in a notebook: small, inert HTML for light and dark pages.

Every text that comes from data is escaped, nothing is a script, and the size is bounded whatever
the size of the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.posterior.draws import r_hat_text, scalar_name
from sticktree.posterior.markers import HEADINGS
from sticktree.posterior.relevance import HEADINGS as HEADINGS_OF_RELEVANCE
from sticktree.present.findings import Findings
from sticktree.present.table import (
    SUPPORT_MEANINGS,
    SUPPORT_NAMES,
    draws_in_words,
    many,
    shortened,
)
from sticktree.present.terminal import printable, tree_text
from sticktree.tree.structure import SUPPORT_KINDS

if TYPE_CHECKING:
    from sticktree.data import Columns
    from sticktree.posterior.draws import Diagnosis, Posterior
    from sticktree.posterior.markers import Markers
    from sticktree.posterior.relevance import Relevance
    from sticktree.tree import Tree

WIDTH, HEIGHT = 680, 150  # of the picture of a tree
MOST_BRANCHES = 400  # that it shows one by one
MOST_REST = 250  # parts that it shows of what is smaller
MOST_TITLED = 30  # that say what they are when pointed at
NARROWEST = 0.8
SHADES = 20  # that the colours of the others are rounded to
MOST_DRAWS = 50  # of each chain, that a posterior's table is computed from
MOST_ROWS = 16
MOST_MARKERS = 3  # of each cluster
MOST_COLUMNS = 60
CELL_LENGTH = 80
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
        (scalar_name(name), f"{values.mean():.4g}", f"{values.std():.2g}")
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


def html_of_diagnosis(diagnosis: Diagnosis) -> str:
    """Return the verdict, and R-hat and effective draws of the scalars, the worst first."""
    names = sorted(diagnosis.ess, key=lambda name: -diagnosis.r_hat.get(name, 0.0))
    rows = [
        (
            scalar_name(name),
            r_hat_text(diagnosis.r_hat[name]) if name in diagnosis.r_hat else "–",
            f"{diagnosis.ess[name]:,.0f}",
        )
        for name in names[:MOST_ROWS]
    ]
    judged = diagnosis.verdict()
    left = len(names) - len(rows)
    table = _table(("scalar", "R-hat", "effective draws"), rows) if rows else ""
    if left:
        table += f'<div style="opacity:.7;font-size:12px">{left} more are left out.</div>'
    return _block(
        f"<div><b>{judged.agreement.capitalize()}</b>. {escape(judged.text)}</div>",
        table and _details("every scalar", table),
    )


def html_of_columns(columns: Columns) -> str:
    """Return names and kinds of the columns."""
    rows = [
        (printable(str(name)), kind, shortened(printable(", ".join(map(str, values))), CELL_LENGTH))
        for name, kind, values in zip(
            columns.names, columns.declared, columns.categories, strict=True
        )
    ]
    left = len(rows) - MOST_COLUMNS
    note = f'<div style="opacity:.7;font-size:12px">{left} more are left out.</div>'
    return _block(
        f"<div><b>Columns</b>: {escape(columns.listed())}</div>",
        _details(
            "one by one", _table(("name", "kind", "categories"), rows[:MOST_COLUMNS], n_words=3)
        ),
        note if left > 0 else "",
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
    """Draw every branch from the time of its parent to its own.

    What is too narrow, or smaller than the largest 400, is drawn with its siblings as one.
    """
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
    wide = np.flatnonzero(width >= NARROWEST)
    # A branch comes after the one that it is part of, which is as large at least.
    largest = wide[np.argsort(-tree.count[wide] + tree.level[wide] * 1e-9, kind="stable")]
    drawn = np.zeros(tree.n_nodes, dtype=bool)
    drawn[largest[:MOST_BRANCHES]] = True
    visible = drawn & (bottom - top > 0.2)
    titled = [w for w in largest[:MOST_BRANCHES].tolist() if visible[w]][:MOST_TITLED]
    rects = "".join(
        f'<rect x="{left[w]:.1f}" y="{top[w]:.1f}" width="{max(width[w] - 0.5, 0.4):.1f}" '
        f'height="{bottom[w] - top[w] - min(0.5, (bottom[w] - top[w]) / 2):.1f}" '
        f'fill-opacity="{shade[w]:.2f}"><title>{escape(_title(tree, w))}</title></rect>'
        for w in titled
    )
    boxes: dict[int, list[str]] = {}
    visible[titled] = False
    for w in np.flatnonzero(visible).tolist():
        gap = min(0.5, (bottom[w] - top[w]) / 2)
        box = _box(left[w], top[w], max(width[w] - 0.5, 0.4), bottom[w] - top[w] - gap)
        boxes.setdefault(round(shade[w] * SHADES), []).append(box)
    end = 6 + (last - first) * down
    rest = [box for box in _rest(tree, drawn, left, width, bottom) if end - box[1] > 0.2]
    for x, y, wide_by in sorted(rest, key=lambda box: -box[2])[:MOST_REST]:
        box = _box(x, y, max(wide_by - 0.2, 0.3), end - y)
        boxes.setdefault(round(0.45 * SHADES), []).append(box)
    paths = "".join(
        f'<path fill-opacity="{k / SHADES:.2f}" d="{"".join(some)}"/>' for k, some in boxes.items()
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="the tree" style="max-width:100%;height:auto;margin:4px 0;display:block">'
        f'<g fill="{HUE}"><rect width="{WIDTH}" height="{HEIGHT}" fill-opacity="0.1"/>'
        f"{rects}{paths}</g></svg>"
    )


def _box(left: float, top: float, width: float, height: float) -> str:
    return f"M{left:.1f} {top:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z"


def _rest(
    tree: Tree, drawn: Any, left: Any, width: Any, bottom: FloatArray
) -> Iterator[tuple[float, float, float]]:
    """Yield place, top and width of what is below the branches drawn and not drawn itself."""
    parents = np.flatnonzero(drawn & (tree.n_children > 0))
    for w in parents.tolist():
        at = float(left[w] + tree.own_count[w] * WIDTH / tree.n_data)
        begun = at
        for child in tree.children(w).tolist():
            if drawn[child]:
                if at > begun:
                    yield begun, float(bottom[w]), at - begun
                begun = at + float(width[child])
            at += float(width[child])
        if at > begun:
            yield begun, float(bottom[w]), at - begun


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
