"""Tables that need no script."""

from __future__ import annotations

from collections.abc import Sequence

from sticktree.report.escaping import isolated, plain

__all__ = ["pairs_table", "table"]


def table(
    caption: str,
    head: Sequence[str],
    lines: Sequence[Sequence[str]],
    *,
    numeric: Sequence[int] = (),
    identifier: str | None = None,
    wrap: bool = False,
) -> str:
    """Return an HTML table; the first cell of each line is its heading.

    Cells are text from data and are escaped. Columns in ``numeric`` stand flush right. With
    ``wrap``, long words are broken.
    """

    def mark(k: int) -> str:
        return ' class="number"' if k in numeric else ""

    top = "".join(f'<th scope="col"{mark(k)}>{plain(name)}</th>' for k, name in enumerate(head))
    body = []
    for line in lines:
        cells = [f'<th scope="row"{mark(0)}>{isolated(line[0])}</th>']
        cells += [f"<td{mark(k)}>{isolated(cell)}</td>" for k, cell in enumerate(line) if k]
        body.append(f"<tr>{''.join(cells)}</tr>")
    label = f' id="{identifier}"' if identifier else ""
    label += ' class="wrap"' if wrap else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{plain(caption)}">'
        f"<table{label}><caption>{plain(caption)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def pairs_table(caption: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return a table of names and values."""
    return table(caption, ("name", "value"), [list(pair) for pair in pairs], wrap=True)
