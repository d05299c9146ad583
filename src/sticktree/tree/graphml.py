"""Trees as GraphML, which graph programs read: Gephi, Cytoscape, yEd, igraph, networkx.

GraphML has no lists, and XML has no place for most control characters. So lists are JSON, in which
names of any kind are told apart and characters that XML lacks are escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from sticktree.tree.formats import graph_of
from sticktree.tree.structure import Structure

UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML has no place for, or should not have."""


def graphml_pieces(tree: Structure) -> Iterator[str]:
    """Yield the text of a tree, line by line; see :meth:`Tree.to_graphml`."""
    graph = graph_of(tree)  # raises with what to install if there is no networkx
    for _, attributes in graph.nodes(data=True):
        names = attributes.get("names", [])
        for key, value in list(attributes.items()):
            if isinstance(value, list):
                attributes[key] = as_json(value)
        if len(names) == 1:
            attributes["name"] = UNFIT.sub("\ufffd", names[0])
    for line in import_module("networkx").generate_graphml(graph):
        yield f"{line}\n"


def as_json(value: list[Any]) -> str:
    r"""Return a list as JSON that XML may hold.

    Examples
    --------
    >>> from sticktree.tree.graphml import as_json
    >>> as_json(["a, b", "c\x01"])
    '["a, b", "c\\u0001"]'
    """
    text = json.dumps(value, ensure_ascii=False)
    return UNFIT.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
