"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOGGER = logging.getLogger(__name__)


def formula(node: nodes.Element, *, block: bool) -> str:
    """Return the MathML of a formula; one that cannot be read is a warning, and stays TeX."""
    text = node.astext().strip()
    try:
        return str(tex2mathml(text, as_block=block))
    except (MathError, SyntaxError, ValueError) as error:
        LOGGER.warning("formula %r: %s", text, error, location=node)
        return f"<code>{nodes.Text(text)}</code>"


def visit_math(self: Any, node: nodes.Element) -> None:
    """Write a formula in a line."""
    self.body.append(formula(node, block=False))
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.Element) -> None:
    """Write a formula on its own, with its number if it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    self.body.append(formula(node, block=True))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Add the renderer, under the name that ``html_math_renderer`` asks for."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
