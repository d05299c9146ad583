"""The kernels that Python calls, with the types they are called with, and when they are needed.

``entries.json`` is written by ``make kernels`` from what short fits call. It is a means of being
quick alone: a kernel that is not in it is compiled when it is first called, and a line that no
longer holds is passed over.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("entries.json")
SCALARS = {"int64": 0, "float64": 0.0, "bool": False, "none": None}


@dataclass(frozen=True)
class Entry:
    """A kernel with the types of its arguments.

    Attributes
    ----------
    module, name : str
        Where the kernel is.
    arguments : list
        Descriptions of its arguments; see `describe`.
    size : int
        About how large its code is, in kB: the larger, the longer it takes to compile.
    needed : frozenset of str
        The tasks that call it.
    """

    module: str
    name: str
    arguments: list[Any]
    size: int
    needed: frozenset[str]

    @property
    def kernel(self) -> Any:
        """The kernel; its module is imported now."""
        return getattr(import_module(self.module), self.name)

    def signature(self, records: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the types of the arguments, as numba has them."""
        import numba

        return tuple(numba.typeof(example(argument, records)) for argument in self.arguments)


@dataclass(frozen=True)
class Entries:
    """All entries, and what is common to many of them.

    Attributes
    ----------
    known : list of Entry
        The kernels.
    records : dict
        Descriptions of classes and of the dtypes of records, by name.
    """

    known: list[Entry]
    records: dict[str, Any]

    def needed(self, tasks: Iterable[str]) -> list[Entry]:
        """Return what any of the tasks calls, the largest first."""
        wanted = set(tasks)
        found = [entry for entry in self.known if entry.needed & wanted]
        return sorted(found, key=lambda entry: -entry.size)

    @property
    def tasks(self) -> set[str]:
        """All tasks."""
        return {task for entry in self.known for task in entry.needed}


@functools.cache
def entries() -> Entries:
    """Return what ``entries.json`` has."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    tasks = content["tasks"]
    known = [
        Entry(
            line["kernel"].partition(":")[0],
            line["kernel"].partition(":")[2],
            line["arguments"],
            line["size"],
            frozenset(tasks[k] for k in line["needed"]),
        )
        for line in content["entries"]
    ]
    return Entries(known, content["records"])


def write(found: Entries, path: Path = FILE) -> None:
    """Write ``entries.json``, one entry a line."""
    tasks = sorted(found.tasks)
    lines = [
        json.dumps(
            {
                "kernel": f"{entry.module}:{entry.name}",
                "arguments": entry.arguments,
                "size": entry.size,
                "needed": sorted(tasks.index(task) for task in entry.needed),
            }
        )
        for entry in found.known
    ]
    lines.sort()
    records = [f"{json.dumps(name)}: {json.dumps(found.records[name])}" for name in found.records]
    path.write_text(
        f'{{"tasks": {json.dumps(tasks, indent=0)},\n'
        + '"records": {\n' + ",\n".join(sorted(records)) + "},\n"
        + '"entries": [\n' + ",\n".join(lines) + "]}\n",
        encoding="utf-8",
    )  # fmt: skip


# ---- arguments in words --------------------------------------------------------------------------


def describe(value: Any, records: dict[str, Any]) -> Any:
    """Return a description from which an argument of the same type can be made.

    Arrays are "dtype ndim layout", and "readonly" where they are. States and the dtypes of records
    go into ``records``, and stand for themselves by a name.
    """
    import numba

    if isinstance(value, np.ndarray):
        kind = numba.typeof(value)
        dtype = value.dtype.str if value.dtype.names is None else _dtype(value.dtype, records)
        return f"{dtype} {kind.ndim} {kind.layout}" + ("" if kind.mutable else " readonly")
    if is_dataclass(value) or hasattr(value, "_fields"):
        names = [f.name for f in fields(value)] if is_dataclass(value) else value._fields
        described = {name: describe(getattr(value, name), records) for name in names}
        place = f"{type(value).__module__}:{type(value).__qualname__}"
        return _named(type(value).__name__, {"class": place, "fields": described}, records)
    if isinstance(value, tuple):
        return [describe(item, records) for item in value]
    kind = str(numba.typeof(value))
    if kind not in SCALARS and not hasattr(np, kind):
        raise TypeError(f"cannot describe {kind}")
    return kind


def _dtype(dtype: np.dtype[Any], records: dict[str, Any]) -> str:
    described = [list(part) for part in dtype.descr]
    if np.dtype([tuple(part) for part in described]) != dtype:
        raise TypeError(f"cannot describe {dtype}")
    return _named("record", {"dtype": described}, records)


def _named(name: str, what: Any, records: dict[str, Any]) -> str:
    """Return the name of a description, which becomes known if it is not."""
    what = json.loads(json.dumps(what))
    number = 1
    while records.setdefault(f"{name}-{number}", what) != what:
        number += 1
    return f"{name}-{number}"


def example(description: Any, records: Mapping[str, Any]) -> Any:
    """Return an argument of the type that is described."""
    if isinstance(description, list):
        return tuple(example(part, records) for part in description)
    if description in SCALARS:
        return SCALARS[description]
    if description in records:
        known = records[description]
        module, name = known["class"].split(":")
        made = {field: example(part, records) for field, part in known["fields"].items()}
        return getattr(import_module(module), name)(**made)
    kind, *shape = description.split()
    if not shape:
        return getattr(np, kind)(0)
    return _array(kind, int(shape[0]), shape[1], "readonly" in shape, records)


def _array(kind: str, ndim: int, layout: str, readonly: bool, records: Mapping[str, Any]) -> Any:
    dtype = records[kind]["dtype"] if kind in records else kind
    dtype = np.dtype([tuple(part) for part in dtype] if isinstance(dtype, list) else dtype)
    array = np.zeros((4,) * ndim, dtype=dtype, order="F" if layout == "F" else "C")
    if layout == "A":
        array = array[(slice(None, None, 2),) * ndim]
    array.flags.writeable = not readonly
    return array
