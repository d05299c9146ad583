"""What a page may hold: text that never runs or breaks it, tables without script, packed arrays."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray

# Half a character (a lone surrogate) cannot be written as UTF-8, and HTML has no place for most
# control characters.
UNFIT = re.compile("[\ud800-\udfff\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
REPLACEMENT = "\ufffd"
SINGLE_LARGEST, SINGLE_SMALLEST = 1e38, 1e-37
MOST_OFFSET = 100.0  # of a column, in units of its range, that single precision still serves


# ---- text -------------------------------------------------------------------------------------


def plain(value: object) -> str:
    """Return text for the inside of an element.

    Examples
    --------
    >>> from sticktree.report.markup import plain
    >>> plain("<b> & co")
    '&lt;b&gt; &amp; co'
    """
    return html.escape(UNFIT.sub(REPLACEMENT, str(value)), quote=True)


def attribute(value: object) -> str:
    """Return text for the inside of a quoted attribute; line breaks become blanks."""
    return plain(re.sub(r"\s+", " ", str(value)))


def isolated(value: object) -> str:
    """Return text from data as an element that keeps its writing direction to itself."""
    return f"<bdi>{plain(value)}</bdi>"


def script_json(value: Any) -> str:
    r"""Return JSON for a data block: no ``<``, ``>`` or ``&``, and ASCII only.

    Without ``<`` nothing in it can end the element. A browser's JSON reader turns the escapes back.

    Examples
    --------
    >>> from sticktree.report.markup import script_json
    >>> script_json({"cell": "</script>"})
    '{"cell":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# ---- tables -----------------------------------------------------------------------------------


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


# ---- arrays -----------------------------------------------------------------------------------


def packed(values: npt.ArrayLike, dtype: str) -> str:
    """Return the bytes of an array as base64, little-endian as browsers have them.

    Examples
    --------
    >>> from sticktree.report.markup import packed
    >>> packed([1, 2], "int32")
    'AQAAAAIAAAA='
    """
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")


def packed_column(column: FloatArray) -> dict[str, Any]:
    """Return a column in single precision, and how to have it back: ``centre + scale · value``.

    Most columns go as they are. One that single precision cannot hold to six digits of its spread,
    such as seconds since 1970, is centred and scaled.
    """
    seen = np.abs(column[~np.isnan(column)])
    centre, scale = 0.0, 1.0
    if seen.size:
        low, high = float(np.nanmin(column)), float(np.nanmax(column))
        smallest = seen[seen > 0].min(initial=1.0)
        largest = float(seen.max())
        half = high / 2 - low / 2
        offset = largest > MOST_OFFSET * 2 * half and not _is_single(column)
        if largest > SINGLE_LARGEST or smallest < SINGLE_SMALLEST or offset:
            centre, scale = low / 2 + high / 2, half if half > 0 else 1.0
    return {
        "values": packed((column - centre) / scale, "float32"),
        "centre": centre,
        "scale": scale,
    }


def _is_single(column: FloatArray) -> bool:
    """Tell whether single precision holds every value as it is."""
    if np.nanmax(np.abs(column)) > SINGLE_LARGEST:
        return False
    return bool(np.array_equal(column.astype(np.float32), column, equal_nan=True))
