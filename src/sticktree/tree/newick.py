"""Trees as Newick text, which most programs for trees read.

Newick knows tips and inner nodes with labels and lengths, and nothing else. A tree fits in like
this:

- every datum is a tip;
- a tip with a length is a node, a tip without one is a datum of the node above it;
- a node without data and children is a tip with a length and without a name;
- the label of an inner node is its support;
- lengths are differences of times, with a decimal point or exponent, or of levels, without.

What has no place there goes into a comment before the length, as BEAST and MrBayes write them and
FigTree, iTOL and DendroPy read them: ``[&transfer=…]`` at inner nodes, if there are transfer
supports. Not met with in practice are ``time`` where no length leads to it, and supports of tips
that are not 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from sticktree.checks import FloatArray
from sticktree.tree.arrays import data_lists
from sticktree.tree.structure import Structure, SupportKind, check_support_kind
from sticktree.tree.validation import check_names

SAFE = re.compile(r"[A-Za-z0-9.-]+")  # needs no quotes; an unquoted underscore means a blank


def newick_pieces(
    tree: Structure,
    *,
    support: bool | SupportKind = True,
    lengths: bool = True,
    names: Sequence[str] | None = None,
    bare: bool = False,
) -> Iterator[str]:
    """Yield the text of a tree piece by piece; see :meth:`Tree.to_newick`.

    ``bare`` names are written without quotes, whatever is in them.
    """
    check_support_kind("support", support, True, False)
    known: Sequence[str] | None = tree.names
    if names is not None:
        known = check_names(names, tree.n_data)
    if known is None:
        known, bare = [str(i) for i in range(tree.n_data)], True
    called = known if bare else [_quoted(name) for name in known]
    data = [[called[i] for i in own] for own in data_lists(tree.leaf, tree.n_nodes)]
    is_tip = (tree.n_children == 0) & (tree.own_count <= 1)
    tip = is_tip.tolist()
    label = length = [""] * tree.n_nodes
    notes: dict[int, list[str]] = {}
    labels: SupportKind | None = "support" if support is True else support or None
    if (supports := tree.supports_of(labels)) is not None:
        label = _support_labels(supports, tip, labels, notes)
    if support is True and tree.transfer is not None:
        _note_transfer(tree.transfer, tip, notes)
    if lengths:
        length = _length_texts(tree, notes)
        if tree.n_nodes > 1 and float(length[0][1:]) == 0:
            length[0] = ""
    comment = [""] * tree.n_nodes
    for w, said in notes.items():
        comment[w] = f"[&{','.join(said)}]"
    end = [f"{a}{b}{c}" for a, b, c in zip(label, comment, length, strict=True)]
    yield from _walk(tree, data, tip, end)
    yield ";"


def _walk(tree: Structure, data: list[list[str]], tip: list[bool], end: list[str]) -> Iterator[str]:
    """Yield the text piece by piece; a stack holds what is still to come."""
    children = tree.child_table.lists()
    pending: list[int] = [0]
    first = True
    while pending:
        w = pending.pop()
        if w < 0:  # all below node ~w is written
            yield ")" + end[~w]
            first = False
            continue
        if not first:
            yield ","
        if tip[w]:
            yield (data[w][0] if data[w] else "") + end[w]
            first = False
        else:
            yield "(" + ",".join(data[w])
            first = not data[w]
            pending.append(~w)
            pending += reversed(children[w])


def _quoted(name: str) -> str:
    """Return a name as a label; one of digits only is quoted, unlike a datum's number."""
    if SAFE.fullmatch(name) and not name.isdigit():
        return name
    return "'" + name.replace("'", "''") + "'"


def _support_labels(
    supports: FloatArray, tip: list[bool], kind: SupportKind | None, notes: dict[int, list[str]]
) -> list[str]:
    """Return labels that give the supports of inner nodes; note those of tips if they are not 1."""
    label = [""] * len(tip)
    for w, value in enumerate(supports.tolist()):
        if not tip[w] and not math.isnan(value):
            label[w] = repr(value)
        elif tip[w] and value != 1:
            notes.setdefault(w, []).append(f"{kind}={value!r}")
    if not any(label) and not notes:  # that the tree has supports must show somewhere
        notes[0] = [f"{kind}={float(supports[0])!r}"]
    return label


def _note_transfer(transfer: FloatArray, tip: list[bool], notes: dict[int, list[str]]) -> None:
    """Note what is not what a reader takes it for: inner nodes not known, tips 1."""
    values = transfer.tolist()
    noted = [w for w, value in enumerate(values) if (value != 1 if tip[w] else value == value)]
    for w in noted or [0]:
        notes.setdefault(w, []).append(f"transfer={values[w]!r}")


def _length_texts(tree: Structure, notes: dict[int, list[str]]) -> list[str]:
    """Return lengths that lead from the root to every time exactly; note times where none do."""
    above = np.maximum(tree.parent, 0)
    if not tree.has_times:
        steps = tree.level - tree.level[above]
        return [f":{step}" for step in steps.tolist()]
    start, goal = tree.time[above], tree.time + 0.0
    start[0] = 0.0
    with np.errstate(over="ignore"):
        exact = np.clip(goal - start, 0.0, np.finfo(np.float64).max) + 0.0
        best = exact.copy()
        missed = np.ones(tree.n_nodes, dtype=np.bool_)
        # The shorter first. Where a sum with the difference itself is rounded to another time, so
        # are those with its neighbours: tried on 16-bit floats.
        distinct, which = np.unique(exact, return_inverse=True)  # mostly they are few
        rounded = np.array([float(f"{value:.15g}") for value in distinct.tolist()])[which]
        for candidate in (rounded, exact):
            hit = missed & (start + candidate == goal) & np.isfinite(candidate)
            best[hit] = candidate[hit]
            missed &= ~hit
    for w in np.flatnonzero(missed).tolist():
        notes.setdefault(w, []).append(f"time={float(goal[w])!r}")
    return [f":{value!r}" for value in best.tolist()]
