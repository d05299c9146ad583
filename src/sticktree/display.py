"""The one call upward: how trees, draws and fits look in a notebook.

Jupyter asks an object for ``_repr_html_``, while the HTML is made in ``present``, above everything
that has such a method. So ``present.notebook`` is loaded here by name, when a notebook asks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def html(kind: str, thing: Any) -> str:
    """Return the HTML of a thing, by the function ``html_of_<kind>`` of ``present.notebook``."""
    notebook = import_module("sticktree.present.notebook")
    return str(getattr(notebook, f"html_of_{kind}")(thing))
