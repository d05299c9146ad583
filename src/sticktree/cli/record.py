"""The record of a run, ``run.json``: how it was made, and in short what was found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sticktree.cli.output import plain
from sticktree.files import write_pieces

FORMAT, VERSION = "sticktree.run", 1
RESULTS = (
    "model",
    "level",
    "levels",
    "strays",
    "clusters_per_level",
    "groups",
    "agree",
    "convergence",
    "verdict",
    "r_hat",
    "ess",
    "sampling",
)
"""What the record has of the summary."""
NUMBER = (int, float)
PARTS: dict[str, Any] = {
    "status": str,
    "command": str,
    "started": str,
    "resumed": int,
    "seconds": NUMBER,
    "options": dict,
    "data": dict,
    "seed": int,
    "data.name": str,
    "data.path": str,
    "data.sha256": str,
    "data.rows": int,
    "columns": dict,
    "columns.fitted": dict,
    "columns.id": (str, type(None)),
    "columns.label": (str, type(None)),
    "environment": dict,
}
"""What a record has, and of what type; a dot leads to what is inside."""
PARTS_OF_RESULT = {"result": dict, "result.levels": int, "finished": str}
"""What it has besides when a run is finished."""
ITEMS: dict[str, tuple[type, Any]] = {
    "columns.fitted": (dict, str),
    "columns.labels": (list, str),
    "columns.conditions": (dict, str),
    "made_by": (list, dict),
    "more_draws": (list, int),
}
"""What it may have, or None in its place, and of what type the items (values of a dict) are."""


def read_record(path: Path) -> dict[str, Any]:
    """Return the content of a record; raise unless it has all that a record has."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"{path} is damaged or not from sticktree fit")
    if record.get("version") != VERSION:
        raise ValueError(
            f"{path} has format version {record.get('version')!r}; this sticktree reads {VERSION}"
        )
    parts = PARTS | (PARTS_OF_RESULT if record.get("status") != "running" else {})
    for name, kind in parts.items():
        found = _part(record, name)
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            problem = f"lacks {name}" if found is ... else f"has {found!r} as {name}"
            raise ValueError(f"{path} is damaged: it {problem[:200]}")
    for name, (outer, kind) in ITEMS.items():
        found = _part(record, name)
        if found in (..., None):
            continue
        items = found.values() if isinstance(found, dict) else found
        if not isinstance(found, outer) or not all(isinstance(item, kind) for item in items):
            raise ValueError(f"{path} is damaged: it {f'has {found!r} as {name}'[:200]}")
    return record


def _part(record: dict[str, Any], name: str) -> Any:
    """Return a part of a record, ``...`` if it is not there; a dot leads to what is inside."""
    found: Any = record
    for key in name.split("."):
        found = found.get(key, ...) if isinstance(found, dict) else ...
    return found


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record; the file appears whole or not at all."""
    head = {"format": FORMAT, "version": VERSION, "safe_csv": True}
    write_pieces(path, [json.dumps(plain(head | dict(record)), indent=1) + "\n"])
