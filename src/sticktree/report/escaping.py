"""Text from data that a page may hold without ever running or breaking it."""

from __future__ import annotations

import html
import json
import re
from typing import Any

__all__ = ["attribute", "isolated", "plain", "script_json"]

# Half a character (a lone surrogate) cannot be written as UTF-8, and HTML has no place for most
# control characters.
UNFIT = re.compile("[\ud800-\udfff\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
REPLACEMENT = "\ufffd"


def plain(value: object) -> str:
    """Return text for the inside of an element.

    Examples
    --------
    >>> from sticktree.report.escaping import plain
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
    >>> from sticktree.report.escaping import script_json
    >>> script_json({"cell": "</script>"})
    '{"cell":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
