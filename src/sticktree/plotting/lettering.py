"""Text that a user brings, set as it is and where it has room."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.text import Text

__all__ = ["LINE", "SMALLEST", "SMALLEST_NAME", "as_it_is", "one_line", "widest"]

SMALLEST = 6.0
"""Points: the smallest font that is legible in print."""
SMALLEST_NAME = 5.0
"""Points: names of rows may be a little smaller, since without them there are none."""
LINE = 1.15
"""From one line of text to the next, in units of the font size."""


def one_line(text: Any, longest: int = 28) -> str:
    r"""Return a text on one line, without control characters, cut where it is too long.

    Examples
    --------
    >>> from sticktree.plotting.lettering import one_line
    >>> one_line("a\n b"), one_line("abcdef", longest=4)
    ('a b', 'abc…')
    """
    visible = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in str(text))
    words = " ".join(visible.split())
    return words if len(words) <= longest else words[: longest - 1] + "…"


def as_it_is(texts: Iterable[Text]) -> None:
    """Keep matplotlib from reading what lies between dollars as mathematics."""
    for text in texts:
        text.set_parse_math(False)


def widest(texts: Sequence[str], fontsize: float) -> float:
    """Return the width in points of the widest of some texts."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=fontsize)
    # The widest is among the longest, but for an odd one that is all narrow letters.
    longest = sorted({text for text in texts if text}, key=len)[-20:]
    return max(
        (text_to_path.get_text_width_height_descent(t, font, False)[0] for t in longest),
        default=0.0,
    )
