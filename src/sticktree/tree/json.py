"""Trees as JSON: plain arrays, with a format name and version.

Version 2 added times, supports and names. What is not a number is null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.errors import ParameterError
from sticktree.tree.structure import Structure

FORMAT = "sticktree.tree"
VERSION = 2
READABLE = (1, 2)


def json_pieces(
    tree: Structure,
    *,
    locations: FloatArray | None = None,
    provenance: dict[str, Any] | None = None,
) -> Iterator[str]:
    """Yield the text of a tree, one array at a time; see :meth:`Tree.to_json`."""
    record: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if provenance is not None:
        record["provenance"] = provenance
    for name in ("parent", "level", "count", "leaf"):
        record[name] = getattr(tree, name)
    if tree.has_times:
        record["time"] = tree.time
    if tree.support is not None:
        record["support"] = tree.support
    if tree.names is not None:
        record["names"] = tree.names
    if locations is not None:
        record["locations"] = np.asarray(locations, dtype=np.float64)
    lead = "{\n"
    for key, value in record.items():
        plain = value
        if isinstance(value, np.ndarray):
            plain = _with_null(value) if value.dtype.kind == "f" else value.tolist()
        yield f"{lead}  {json.dumps(key)}: {json.dumps(plain, allow_nan=False)}"
        lead = ",\n"
    yield "\n}\n"


def read_json(text: str | bytes) -> dict[str, Any]:
    """Return the arguments of a tree; see :meth:`Tree.from_json`."""
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"text is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("text is not a tree: its lists are nested too deeply") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f'text is not a tree: its "format" must be {FORMAT!r}')
    if record.get("version") not in READABLE:
        raise ValueError(
            f"the tree has format version {record.get('version')!r}; this sticktree reads "
            f"{' and '.join(map(str, READABLE))}"
        )
    missing = {"parent", "level", "count", "leaf"} - record.keys()
    if missing:
        raise ValueError(f"the tree lacks {', '.join(sorted(missing))}")
    time, names = record.get("time"), record.get("names")
    if names is not None and not isinstance(names, list):
        raise ParameterError("names", names, "a list of strings")
    return {
        "parent": record["parent"],
        "leaf": record["leaf"],
        "level": record["level"] if time is None else None,  # with times, levels are counted
        "count": record["count"],
        "time": time,
        "support": record.get("support"),
        "names": names,
    }


def _with_null(values: FloatArray) -> list[Any]:
    """Return numbers as lists, with None in place of NaN, which JSON does not have."""
    if np.isfinite(values).all():
        return list(values.tolist())
    listed = values.astype(object)
    listed[~np.isfinite(values)] = None
    return list(listed.tolist())
