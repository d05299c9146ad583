"""Trees as JSON: plain arrays, with a format name and version."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.tree import Tree

__all__ = ["tree_from_json", "tree_to_json"]

FORMAT = "sticktree.tree"
VERSION = 1


def tree_to_json(
    tree: Tree,
    *,
    locations: FloatArray | None = None,
    provenance: dict[str, Any] | None = None,
) -> str:
    """Write a tree, and if given its node locations and how it came to be.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.tree.json import tree_from_json, tree_to_json
    >>> tree = Tree.from_paths([(1, 1), (2, 1)])
    >>> tree_from_json(tree_to_json(tree)) == tree
    True
    """
    record: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if provenance is not None:
        record["provenance"] = provenance
    for name in ("parent", "level", "count", "leaf"):
        record[name] = getattr(tree, name).tolist()
    if locations is not None:
        record["locations"] = np.asarray(locations).tolist()
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def tree_from_json(text: str) -> Tree:
    """Read a tree; say what is wrong with a text that holds none."""
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"text is not JSON: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f'text is not a tree: its "format" must be {FORMAT!r}')
    if record.get("version") != VERSION:
        raise ValueError(
            f"the tree has format version {record.get('version')!r}; this sticktree reads {VERSION}"
        )
    missing = {"parent", "level", "count", "leaf"} - record.keys()
    if missing:
        raise ValueError(f"the tree lacks {', '.join(sorted(missing))}")
    return Tree(record["parent"], record["leaf"], level=record["level"], count=record["count"])
