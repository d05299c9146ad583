"""What arrays from a file must be, before a kernel sees them.

Kernels take indices and sizes as they come: a wrong one reads or writes outside an array. So all
arrays of a file are looked at when it is read. The tables here say of each its axes and what its
entries must satisfy.

A new parameter of draws, or array of a chain's snapshot, gets a line in `DRAW` or `CHAIN`. One that
has none is read if its numbers are finite: then its shape is for the engine to check.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.engine.own.kinds import LIKELIHOODS
from sticktree.engine.points import used_sticks
from sticktree.model import Column, Model

Arrays = Mapping[str, npt.NDArray[Any]]
Sizes = dict[str, tuple[int, ...]]
Law = Literal["finite", "positive", "at least 0", "at least 1", "any"]

LARGEST = 1e150
"""Of all numbers that a model has, and the inverse of the smallest: squares stay numbers."""


class Entry(NamedTuple):
    """What is known of one array.

    Attributes
    ----------
    axes : tuple of str or None
        Names of sizes, each of which stands for any number of axes; see :func:`sizes_of`. None is
        left to the chain that takes the array over.
    law : str
        What its entries must be.
    kind : str
        The letter of its type: f for floats, i for signed and u for unsigned integers.
    bytes : int
        How many an entry has at least.
    """

    axes: tuple[str, ...] | None
    law: Law = "finite"
    kind: str = "f"
    bytes: int = 8


SUMS = {
    "sums_n": Entry(("leaves",), "at least 1"),
    "sums_seen": Entry(("leaves", "columns"), "at least 0"),
    "sums_total": Entry(("leaves", "columns")),
    "sums_second": Entry(("leaves", "second")),
    "sums_seated": Entry(("leaves", "groups"), "at least 0", "i"),
}
OF_LEVELS = {
    "variance": Entry(("levels", "coordinates"), "positive"),
    "hyper": Entry(("three", "columns"), "positive"),
    "psi": Entry(("together", "together")),
}
STICKS = {
    "stick": Entry(("nodes", "levels"), "at least 0"),
    "rest": Entry(("nodes", "levels"), "at least 0"),
}
OF_PARENTS = {  # logs, of which `check_sticks` looks at those that are used
    "theta": Entry(("nodes", "levels", "parents"), "any"),
    "theta_rest": Entry(("nodes", "levels", "parents"), "any"),
}
PARENTS_OF_DRAWS = {  # those that are used, and no others
    "theta": Entry(("edges", "parents"), "any", bytes=4),
    "theta_rest": Entry(("points", "parents"), "any", bytes=4),
}
DRAW = {
    # shared noise
    "scales": Entry(("levels and root",), "positive"),
    "factor": Entry(("form",)),
    "noise": Entry((), "positive"),
    "rates": Entry(("rates",), "positive"),
    "imputed": Entry(("gaps",)),
    # own noise
    "phi": Entry(("inner", "coordinates")),
    **OF_LEVELS,
    # many rows
    **SUMS,
    # groups
    "group_concentration": Entry((), "positive"),
    **STICKS,
    "kinship": Entry((), "positive"),
    **PARENTS_OF_DRAWS,
}
"""The parameters of draws."""

CHAIN = {
    "nodes": Entry(("nodes",), "any", "V"),
    "sizes": Entry(None, "any", "i"),
    "levels": Entry(("levels and root",), "any", "V"),
    "scalars": Entry(None),
    "words": Entry(("four",), "any", "u"),
    "effort": Entry(("two",), "at least 0", "i"),
    "leaf": Entry(("rows",), "at least 0", "i"),
    "leaves": Entry(("leaves",), "at least 0", "i"),
    "imputed": Entry(("gaps",)),
    # shared noise
    "total": Entry(("nodes", "columns"), "any"),
    "factor": Entry(None),  # of which older ones are matrices in any form
    "rates": Entry(("rates",), "positive"),
    "slots": Entry(("leaves",), "at least 0", "i"),
    "products": Entry(("columns", "columns")),
    # own noise
    "coordinates": Entry(("nodes", "coordinates", "three"), "any"),
    **OF_LEVELS,
    # many rows
    "parallel": Entry(None, "any", "u"),
    "rank": Entry(("leaves",), "any", "u"),
    "anchor": Entry(("leaves",), "any", "u"),
    **SUMS,
    # groups
    "seated": Entry(("nodes", "groups and none"), "at least 0", "i"),
    "gamma": Entry(("one",), "positive"),
    **STICKS,
    "kappa": Entry(("one",), "positive"),
    **OF_PARENTS,
    # rows that have left memory
    "stream_number": Entry(("blocks",), "any", "u"),
    "stream_n": Entry(("blocks",), "at least 1", "i"),
    "stream_seen": Entry(("blocks", "columns"), "at least 0", "i"),
    "stream_total": Entry(("blocks", "columns")),
    "stream_second": Entry(("blocks", "other sums")),
    "stream_seated": Entry(("blocks", "groups"), "at least 0", "i"),
    "stream_lost": Entry(("blocks",), "at least 0"),
    "stream_products": Entry(("columns", "columns")),
    "stream_largest": Entry((), "at least 0"),
    "stream_words": Entry(("two",), "any", "u"),
}
"""The arrays of a chain's snapshot."""

NEEDED = {
    "shared": ("scales", "factor", "noise"),
    "own": ("phi", "variance", "hyper", "psi"),
}
"""Parameters without which draws of a model predict nothing, by its noise."""
NEEDED_OF_GROUPS = ("group_concentration", "stick", "rest")
"""Those that are needed besides if rows belong to groups."""
NEEDED_OF_PARENTS = ("kinship", "theta", "theta_rest")
"""Those that are needed besides if groups have parents."""


def sizes_of(model: Model, data: npt.NDArray[Any], n_rows: int, parallel: bool) -> Sizes:
    """Return the sizes that a model and its rows determine.

    ``data`` are the rows that are in memory, and ``n_rows`` how many there are in all.
    """
    n_columns = data.shape[1]
    columns = model.columns or (Column(),) * n_columns
    gaussian = np.array([column.kind == "gaussian" for column in columns])
    own_full = model.leaf_noise == "own" and model.covariance_type == "full"
    together = int(gaussian.sum()) if own_full else 0
    form = {"spherical": (), "diag": (n_columns,), "full": (n_columns, n_columns)}
    n_gaps = 0
    if not parallel and (model.leaf_noise == "shared" or together):
        n_gaps = int(np.isnan(data[:, gaussian] if together else data).sum())
    second: tuple[int, ...] = (0,)
    if model.leaf_noise == "own":
        second = (n_columns, n_columns) if own_full else (n_columns,)
    line = None if model.groups is None else model.groups.line
    others = n_columns * (n_columns + 1) // 2 if len(second) == 2 else second[0]
    n_groups = 0 if model.groups is None else model.groups.number
    return {
        "rows": (n_rows,),
        "columns": (n_columns,),
        "levels": (model.depth,),
        "levels and root": (model.depth + 1,),
        "coordinates": (sum(map(_width, columns)) if model.leaf_noise == "own" else n_columns,),
        "together": (together,),
        "form": form[model.covariance_type],
        "rates": (1 if model.covariance_type == "spherical" else n_columns,),
        "second": second,
        "other sums": (others,),
        "gaps": (n_gaps,),
        "groups": (n_groups,),
        "groups and none": (n_groups + 1 if n_groups else 0,),
        "parents": (0 if line is None else line.elder.size,),
        "one": (1,),
        "two": (2,),
        "three": (3,),
        "four": (4,),
    }


def _width(column: Column) -> int:
    """Return how many coordinates of φ a column has."""
    width = LIKELIHOODS[column.kind].width
    return column.n_categories if width is None else width


def check_law(name: str, array: npt.NDArray[Any], table: Mapping[str, Entry]) -> None:
    """Raise if the entries of an array are not what they must be; of an unknown one, finite."""
    entry = table.get(name)
    kinds = "fiub" if entry is None else {"i": "i", "u": "u", "f": "f", "V": "V"}[entry.kind]
    if array.dtype.kind not in kinds or (entry is not None and array.dtype.itemsize < entry.bytes):
        raise ValueError(f"{name} holds numbers of type {array.dtype}")
    law = "finite" if entry is None else entry.law
    if law == "any" or array.size == 0:
        return
    least = np.minimum.reduce(array, axis=None)  # NaN, if one is
    most = np.maximum.reduce(array, axis=None)
    lowest = {"finite": -LARGEST, "positive": 1 / LARGEST, "at least 0": 0, "at least 1": 1}[law]
    if array.dtype.kind == "f":
        if entry is None:
            right = np.isfinite(least) and np.isfinite(most)
        else:
            right = least >= lowest and most <= LARGEST
        if not right:
            raise ValueError(f"{name} has entries from {least} to {most}, which must be {law}")
    elif least < lowest:
        raise ValueError(f"{name} has the entry {least}, which must be {law}")


def check_sticks(arrays: Arrays, top: npt.NDArray[Any], level: npt.NDArray[Any]) -> None:
    """Raise unless the sticks of nodes are shares; logarithms are taken of them.

    ``top`` is the level of the node above, −1 of the root. Entries of other levels are of no use,
    and draws have none of those of parents.
    """
    both = used_sticks(top, level, arrays["stick"].shape[1])
    used = dict(zip(("stick", "rest"), both, strict=True))
    for name, where in used.items():
        least = arrays[name].min(initial=1.0, where=where)
        most = arrays[name].max(initial=0.0, where=where)
        if not (least > 0 and most < 1.0 + 1e-6):
            raise ValueError(f"{name} has entries from {least} to {most}, which must be shares")
    for name, where in (("theta", used["stick"]), ("theta_rest", used["rest"])):
        if name in arrays:
            logs = arrays[name] if arrays[name].ndim == 2 else arrays[name][where]
            if not (np.isfinite(logs).all() and (logs < 1e-6).all()):
                raise ValueError(f"{name} has entries that are not logs of shares")


def check_shape(name: str, shape: tuple[int, ...], entry: Entry, sizes: Sizes) -> None:
    """Raise if an array has another shape than its axes say."""
    if entry.axes is None:
        return
    expected = tuple(size for axis in entry.axes for size in sizes[axis])
    if shape != expected:
        raise ValueError(f"{name} must have the shape {expected}, got {shape}")
