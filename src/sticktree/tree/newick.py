"""Trees as Newick text, which most programs for trees read.

Newick knows tips and inner nodes with labels and lengths, and nothing else. A tree fits in like
this:

- every datum is a tip;
- a tip with a length is a node, a tip without one is a datum of the node above it;
- a node without data and children is a tip with a length and without a name;
- the label of an inner node is its support;
- lengths are differences of times, with a decimal point or exponent, or of levels, without.

What has no place there goes into a comment before the length: ``[&time=…]`` where no length leads
to the time, ``[&support=…]`` where a tip's support is not 1. Neither is met with in practice.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.tree.arrays import NULL, data_lists
from sticktree.tree.assembly import assembled
from sticktree.tree.newick_reader import NUMBER, Entry, entries_of, refuse
from sticktree.tree.tree import Tree
from sticktree.tree.validation import check_names

__all__ = ["newick_pieces", "tree_from_newick", "tree_to_newick"]

SAFE = re.compile(r"[A-Za-z0-9.-]+")  # needs no quotes; an unquoted underscore means a blank
INTEGER = re.compile(r"[+-]?[0-9]+")
ORDINAL = re.compile(r"0|[1-9][0-9]*")


# ---- writing -------------------------------------------------------------------------------------


def tree_to_newick(
    tree: Tree, *, support: bool = True, lengths: bool = True, names: Sequence[str] | None = None
) -> str:
    """Write a tree; see :meth:`Tree.to_newick`."""
    return "".join(newick_pieces(tree, support=support, lengths=lengths, names=names))


def newick_pieces(
    tree: Tree, *, support: bool = True, lengths: bool = True, names: Sequence[str] | None = None
) -> Iterator[str]:
    """Yield the same text piece by piece, so that a large tree can be written as it goes."""
    known = tree.names if names is None else check_names(names, tree.n_data)
    called = (
        [str(i) for i in range(tree.n_data)] if known is None else [_quoted(name) for name in known]
    )
    data = [[called[i] for i in own] for own in data_lists(tree.leaf, tree.n_nodes)]
    is_tip = (tree.n_children == 0) & (tree.own_count <= 1)
    label, notes = [""] * tree.n_nodes, [""] * tree.n_nodes
    if support and tree.support is not None:
        label, notes = _support_texts(tree.support, is_tip.tolist())
    length = [""] * tree.n_nodes
    if lengths:
        length, timed = _length_texts(tree)
        notes = [a + b for a, b in zip(notes, timed, strict=True)]
        if tree.n_nodes > 1 and float(length[0][1:]) == 0:
            length[0] = ""
    tip, end = is_tip.tolist(), [f"{a}{b}{c}" for a, b, c in zip(label, notes, length, strict=True)]
    yield from _walk(tree, data, tip, end)
    yield ";"


def _walk(tree: Tree, data: list[list[str]], tip: list[bool], end: list[str]) -> Iterator[str]:
    """Yield the text piece by piece; a stack holds what is still to come."""
    children = tree._children.lists()
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
    """Return a name as a label; one of digits only is quoted, to tell it from a datum's number."""
    if SAFE.fullmatch(name) and not name.isdigit():
        return name
    return "'" + name.replace("'", "''") + "'"


def _support_texts(support: FloatArray, tip: list[bool]) -> tuple[list[str], list[str]]:
    """Return labels and comments that give the supports."""
    values = support.tolist()
    label = [
        "" if own or math.isnan(value) else repr(value)
        for value, own in zip(values, tip, strict=True)
    ]
    notes = [
        f"[&support={value!r}]" if own and value != 1 else ""
        for value, own in zip(values, tip, strict=True)
    ]
    if not any(label) and not any(notes):  # that the tree has supports must show somewhere
        notes[0] = f"[&support={values[0]!r}]"
    return label, notes


def _length_texts(tree: Tree) -> tuple[list[str], list[str]]:
    """Return lengths that lead from the root to every time exactly, and comments where none do."""
    above = np.maximum(tree.parent, 0)
    notes = [""] * tree.n_nodes
    if not tree.has_times:
        steps = tree.level - tree.level[above]
        return [f":{step}" for step in steps.tolist()], notes
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
        notes[w] = f"[&time={float(goal[w])!r}]"
    return [f":{value!r}" for value in best.tolist()], notes


# ---- reading -------------------------------------------------------------------------------------


def tree_from_newick(
    text: str,
    *,
    names: Sequence[str] | None = None,
    support: bool = True,
    keep_underscores: bool = False,
) -> Tree:
    """Read a tree; see :meth:`Tree.from_newick`."""
    if not isinstance(text, str):
        raise ValueError(f"text must be a Newick text, got {text!r}")
    entries = entries_of(text)
    has_lengths = any(entry.length is not None for entry in entries)
    is_node = [not (e.is_tip and e.length is None and has_lengths) for e in entries]
    number = (np.cumsum(is_node) - 1).tolist()
    nodes = [e for e, is_one in zip(entries, is_node, strict=True) if is_one]
    parent = [NULL if e.parent == NULL else number[e.parent] for e in nodes]
    tips = [k for k, e in enumerate(entries) if e.is_tip and not (is_node[k] and e.label is None)]
    for k in tips:
        if entries[k].label is None:
            refuse(text, entries[k].at, "a tip needs a name or a length; '' is an empty name")
    homes = [number[k] if is_node[k] else number[entries[k].parent] for k in tips]
    order, called = _data_order([entries[k] for k in tips], names, keep_underscores)
    return assembled(
        parent,
        [homes[k] for k in order],
        place=_places(nodes, parent) if has_lengths else None,
        support=_supports(text, nodes) if support else None,
        names=called,
    )


def _data_order(
    tips: list[Entry], names: Sequence[str] | None, keep_underscores: bool
) -> tuple[list[int], list[str] | None]:
    """Return which tip each datum is, and the names of the data."""
    labels = [_name(tip, keep_underscores) for tip in tips]
    if names is not None:
        return _order_of_names(labels, names)
    if not any(tip.is_quoted for tip in tips) and all(map(ORDINAL.fullmatch, labels)):
        order = sorted(range(len(tips)), key=lambda k: int(labels[k]))
        if all(int(labels[k]) == i for i, k in enumerate(order)):
            return order, None
    return list(range(len(tips))), labels


def _name(tip: Entry, keep_underscores: bool) -> str:
    label = tip.label or ""
    return label if tip.is_quoted or keep_underscores else label.replace("_", " ")


def _order_of_names(labels: list[str], names: Sequence[str]) -> tuple[list[int], list[str]]:
    called = list(check_names(names, len(names)))
    unknown, missing = Counter(labels) - Counter(called), Counter(called) - Counter(labels)
    if unknown or missing:
        parts = [
            f"{what} {', '.join(map(repr, list(wrong)[:5]))}{' and more' * (len(wrong) > 5)}"
            for what, wrong in (("the tree has", unknown), ("the tree lacks", missing))
            if wrong
        ]
        raise ValueError(f"names must be those of the tree's data: {'; '.join(parts)}")
    where: dict[str, deque[int]] = {}
    for k, label in enumerate(labels):
        where.setdefault(label, deque()).append(k)
    return [where[name].popleft() for name in called], called


def _places(nodes: list[Entry], parent: list[int]) -> FloatArray | IntArray:
    """Return the levels or times to which the lengths lead; a length left out is zero."""
    lengths = [entry.length or "0" for entry in nodes]
    if all(map(INTEGER.fullmatch, lengths)) and not any("time" in e.notes for e in nodes):
        steps = [int(length) for length in lengths]
        levels = steps[:1]
        for w in range(1, len(nodes)):
            levels.append(levels[parent[w]] + steps[w])
        if max(levels) < np.iinfo(np.int32).max:
            return np.array(levels, dtype=np.int32)
    times: list[float] = []
    for w, entry in enumerate(nodes):
        start = times[parent[w]] if w else 0.0
        times.append(entry.notes.get("time", start + float(lengths[w])))
    return np.array(times)


def _supports(text: str, nodes: list[Entry]) -> FloatArray | None:
    """Return the supports that labels of inner nodes and comments give, if there are any."""
    values = np.array([1.0 if entry.is_tip else np.nan for entry in nodes])
    labelled = [
        w for w, e in enumerate(nodes) if not e.is_tip and e.label and NUMBER.fullmatch(e.label)
    ]
    noted = [w for w, entry in enumerate(nodes) if "support" in entry.notes]
    if not labelled and not noted:
        return None
    values[labelled] = [float(nodes[w].label or "") for w in labelled]
    for w in labelled:
        if not 0 <= values[w] <= 100:
            refuse(
                text,
                nodes[w].at,
                f"an inner node's label {nodes[w].label} is no support, which lies between 0 and 1 "
                "or between 0 and 100 per cent; support=False ignores such labels",
            )
    if labelled and values[labelled].max() > 1:
        values[labelled] /= 100
    values[noted] = [nodes[w].notes["support"] for w in noted]
    return values
