"""A digest of the library's code, so that results of other code are never taken for its own."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

import sticktree

__all__ = ["code_digest"]

NO_PART_IN_RESULTS = {
    "cli",
    "datasets",  # rows have a digest of their own
    "io",
    "metrics",  # and so have these two, see below
    "peers",
    "plotting",
    "present",
    "report",
    "reproduce",
}


@cache
def code_digest(part: str | None = None) -> str:
    """Return a digest of all code that a fit may run; comments and docstrings do not count.

    ``part`` is the name of a package of ours, to take only its code.
    """
    folder = Path(sticktree.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder)
        if place.parts[0] == part or (part is None and place.parts[0] not in NO_PART_IN_RESULTS):
            digest.update(place.as_posix().encode())
            digest.update(meaning(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:12]


def meaning(source: str) -> str:
    """Return the syntax tree of some code without its docstrings, as text."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return ast.dump(tree)
