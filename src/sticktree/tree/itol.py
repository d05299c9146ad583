"""Trees for iTOL, the interactive tree of life (itol.embl.de): Newick, and files that annotate it.

The tree is uploaded, and the other files are dropped onto it. They name a tip by its label, and a
branch by two tips whose last common ancestor it is. Cells are separated by tabs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

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


def itol_files(
    tree: Shapes, labels: npt.ArrayLike | None = None, names: Sequence[str] | None = None
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
        files["clusters.txt"] = _lines(_strip(groups, tips))
    return files


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


def _strip(groups: list[str], tips: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the colour of every datum's cluster."""
    found = sorted(set(groups), key=lambda group: (len(group), group))
    colour = {group: CLUSTERS[k % len(CLUSTERS)] for k, group in enumerate(found)}
    yield from _head("DATASET_COLORSTRIP", "clusters", CLUSTERS[0])
    if len(found) <= len(CLUSTERS):
        yield from _legend("clusters", ["1"] * len(found), list(colour.values()), found)
    yield ("DATA",)
    for tip, group in zip(tips, groups, strict=True):
        yield tip, colour[group], group


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
