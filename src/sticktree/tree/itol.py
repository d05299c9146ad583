"""Trees for iTOL, the interactive tree of life (itol.embl.de): Newick, and files that annotate it.

The tree is uploaded, and the other files are dropped onto it. They name a tip by its label, and a
branch by two tips whose last common ancestor it is. Cells are separated by tabs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, as_numbers
from sticktree.errors import ParameterError
from sticktree.palette import CLUSTERS
from sticktree.tree.newick import newick_pieces
from sticktree.tree.shapes import Shapes
from sticktree.tree.structure import SUPPORT_KINDS, SupportKind
from sticktree.tree.validation import check_names

IDENTIFIER = re.compile(r"[A-Za-z0-9_.-]+")  # what iTOL takes for a name without any doubt
CIRCLE, LARGEST = 2, 12  # a symbol and its size in pixels, at a support of 1
STEPS = (0.5, 0.7, 1.0)  # of the legend
LOOKS: dict[SupportKind, tuple[str, str, str]] = {
    "support": ("exact_support.txt", "exact support: share of draws with these rows", "#D55E00"),
    "transfer": ("transfer_support.txt", "transfer support: 1 - share of rows to move", "#0072B2"),
}


HEAT = ("#2166AC", "#F7F7F7", "#B2182B", "#A0A0A0")  # low, middle, high and missing
GRADIENT = ("#440154", "#21918C", "#FDE725")
MOST_SDS = 3.0  # standard deviations at the ends of the heat map's colours
MOST_GROUPS = 40  # groups up to which a strip has a legend
FEW_NUMBERS = 12  # distinct ones, up to which numbers are groups


def itol_files(
    tree: Shapes,
    labels: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
    annotations: Mapping[str, Sequence[Any]] | None = None,
    data: Any = None,
    columns: Sequence[str] | None = None,
) -> dict[str, Iterable[str]]:
    """Return the text of every file piece by piece; see :meth:`Tree.to_itol`."""
    known = tree.names if names is None else check_names(names, tree.n_data)
    groups = None if labels is None else _checked(labels, tree.n_data)
    plain = tree.pruned().compressed()  # every branch has tips on two sides
    named = _identifiers(known)
    tips = [str(i) for i in range(tree.n_data)] if named is None else named
    # The one support of the tree's labels, without comments, is read as bootstrap values are; an
    # underscore is one for iTOL, with or without quotes.
    kind = plain.support_kind
    text = newick_pieces(plain, support=kind or False, names=tips, bare=True)
    files: dict[str, Iterable[str]] = {"tree.nwk": chain(text, "\n")}
    if named is None and known is not None:
        lines = [("LABELS",), ("SEPARATOR TAB",), ("DATA",)]
        files["names.txt"] = _lines([*lines, *zip(tips, map(_cell, known), strict=True)])
    for kind in SUPPORT_KINDS:
        if plain.supports_of(kind) is not None:
            files[LOOKS[kind][0]] = _lines(_symbols(plain, kind, tips))
    if groups is not None:
        files["clusters.txt"] = _lines(_strip("clusters", groups, tips))
    for name, values in (annotations or {}).items():
        file = _file_name(str(name), files)
        files[file] = _lines(_annotation(str(name), _of_data(name, values, tree.n_data), tips))
    if data is not None:
        files["heatmap.txt"] = _lines(_heatmap(*_checked_data(data, columns, tree.n_data), tips))
    return files


def _of_data(name: str, values: Sequence[Any], n_data: int) -> list[Any]:
    listed = list(values)
    if len(listed) != n_data:
        expected = f"one value for each of {n_data} data"
        raise ParameterError(f"annotations[{name!r}]", len(listed), expected, verb="have")
    return listed


def _checked_data(
    data: Any, columns: Sequence[str] | None, n_data: int
) -> tuple[FloatArray, list[str]]:
    """Return columns in standard deviations from their means, and what they are called."""
    if columns is None and hasattr(data, "columns"):
        columns = [str(name) for name in data.columns]
    values = as_numbers("data", data)
    if values.ndim != 2 or len(values) != n_data:
        expected = f"a row for each of {n_data} data"
        raise ParameterError("data", data, expected, verb="have", shown=f"shape {values.shape}")
    called = [f"x{k}" for k in range(values.shape[1])] if columns is None else list(columns)
    if len(called) != values.shape[1]:
        raise ParameterError("columns", columns, f"{values.shape[1]} names, one for each column")
    seen = np.isfinite(values)
    count = np.maximum(seen.sum(axis=0), 1)
    away = np.where(seen, values - np.where(seen, values, 0.0).sum(axis=0) / count, 0.0)
    spread = np.sqrt((away**2).sum(axis=0) / count)
    scaled = away / np.where(spread > 0, spread, 1.0)
    return np.where(seen, scaled, np.nan), [_cell(str(name)) for name in called]


def _file_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return a file for an annotation, which no other has."""
    base = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "annotation"
    k, found = 1, f"annotation_{base}.txt"
    while found in taken:
        k += 1
        found = f"annotation_{base}_{k}.txt"
    return found


def _checked(labels: npt.ArrayLike, n_data: int) -> list[str]:
    array = np.asarray(labels)
    if array.shape != (n_data,):
        expected = f"one label for each of {n_data} data"
        raise ParameterError("labels", labels, expected, verb="have", shown=f"shape {array.shape}")
    return [_cell(str(label)) for label in array.tolist()]


def _identifiers(names: Sequence[str] | None) -> list[str] | None:
    """Return the names, if each says without doubt which datum it is."""
    if names is None or len(set(names)) < len(names):
        return None
    return list(names) if all(map(IDENTIFIER.fullmatch, names)) else None


def _symbols(tree: Shapes, kind: SupportKind, tips: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield a circle for each branch of several data, as wide as its support."""
    supports = tree.supports_of(kind)
    assert supports is not None
    shown = np.flatnonzero((tree.count > 1) & (tree.count < tree.n_data) & (supports >= 0))
    _, title, colour = LOOKS[kind]
    largest = float(supports[shown].max(initial=0.0)) or 1.0
    yield from _head("DATASET_SYMBOL", title, colour)
    # iTOL gives the largest circle this size, and others theirs in proportion.
    yield "MAXIMUM_SIZE", f"{LARGEST * largest:.3g}"
    yield from _legend(title, [str(CIRCLE)] * 3, [colour] * 3, [str(step) for step in STEPS])
    yield "LEGEND_SHAPE_SCALES", *map(str, STEPS)
    yield ("DATA",)
    first = tree.data_order[tree.data_start[shown]].tolist()
    last = tree.data_order[(tree.data_start + tree.count - 1)[shown]].tolist()
    for a, b, value in zip(first, last, supports[shown].tolist(), strict=True):
        branch, written = f"{tips[a]}|{tips[b]}", f"{value:.3g}"
        yield branch, str(CIRCLE), written, colour, "1", "0.5", written


def _strip(title: str, groups: Sequence[str | None], tips: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the colour of every datum's group; those of none are left out."""
    found = sorted({group for group in groups if group is not None}, key=lambda g: (len(g), g))
    colour = {group: CLUSTERS[k % len(CLUSTERS)] for k, group in enumerate(found)}
    yield from _head("DATASET_COLORSTRIP", title, CLUSTERS[0])
    if found and len(found) <= MOST_GROUPS:
        yield from _legend(title, ["1"] * len(found), list(colour.values()), found)
    yield ("DATA",)
    for tip, group in zip(tips, groups, strict=True):
        if group is not None:
            yield tip, colour[group], group


def _annotation(name: str, values: list[Any], tips: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield a strip of colours or, of many distinct numbers, a strip of their sizes."""
    title = _cell(name) or "annotation"
    numbers = [_number(value) for value in values]
    known = [value for value in numbers if value is not None and not math.isnan(value)]
    if None in numbers or len(set(known)) <= FEW_NUMBERS:
        groups = [None if _is_missing(value) else _cell(str(value)) or None for value in values]
        yield from _strip(title, groups, tips)
        return
    yield from _head("DATASET_GRADIENT", title, GRADIENT[1])
    yield from _colours(GRADIENT)
    yield ("DATA",)
    for tip, value in zip(tips, numbers, strict=True):
        if value is not None and not math.isnan(value):
            yield tip, f"{value:.6g}"


def _heatmap(values: FloatArray, columns: list[str], tips: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the data, in standard deviations from the mean of each column."""
    yield from _head("DATASET_HEATMAP", "data, standard deviations from the mean", HEAT[2])
    yield "FIELD_LABELS", *columns
    yield from _colours(HEAT[:3])
    yield "COLOR_NAN", HEAT[3]
    for name, value in (("MIN", -MOST_SDS), ("MID", 0.0), ("MAX", MOST_SDS)):
        yield f"USER_{name}_VALUE", f"{value:g}"
    yield ("DATA",)
    for tip, row in zip(tips, values.tolist(), strict=True):
        yield tip, *("X" if math.isnan(value) else f"{value:.4g}" for value in row)


def _colours(colours: Sequence[str]) -> Iterator[tuple[str, ...]]:
    low, middle, high = colours
    yield "COLOR_MIN", low
    yield "COLOR_MAX", high
    yield "USE_MID_COLOR", "1"
    yield "COLOR_MID", middle


def _number(value: Any) -> float | None:
    """Return a value as a number, NaN where it is missing, None if it is something else."""
    if _is_missing(value):
        return math.nan
    if isinstance(value, bool | np.bool_):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value or value == ""


def _head(kind: str, title: str, colour: str) -> Iterator[tuple[str, ...]]:
    yield (kind,)
    yield ("SEPARATOR TAB",)
    yield "DATASET_LABEL", title
    yield "COLOR", colour


def _legend(
    title: str, shapes: list[str], colours: list[str], words: list[str]
) -> Iterator[tuple[str, ...]]:
    yield "LEGEND_TITLE", title
    yield "LEGEND_SHAPES", *shapes
    yield "LEGEND_COLORS", *colours
    yield "LEGEND_LABELS", *words


def _lines(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for cells in rows:
        yield "\t".join(cells) + "\n"


def _cell(text: str) -> str:
    """Return a text on one line and in one cell."""
    return " ".join(text.split())
