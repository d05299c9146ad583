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
from typing import Any, NamedTuple, NoReturn

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.errors import ParameterError
from sticktree.tree.arrays import NULL, data_lists
from sticktree.tree.structure import Structure
from sticktree.tree.validation import assembled, check_names

SAFE = re.compile(r"[A-Za-z0-9.-]+")  # needs no quotes; an unquoted underscore means a blank
INTEGER = re.compile(r"[+-]?[0-9]+")
ORDINAL = re.compile(r"0|[1-9][0-9]*")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<comment>\[[^\]]*\])|(?P<mark>[(),;:])"
    r"|(?P<quoted>'(?:[^']|'')*')|(?P<plain>[^\s()\[\]',:;][^()\[\]',:;]*)"
)


# ---- writing -------------------------------------------------------------------------------------


def newick_pieces(
    tree: Structure,
    *,
    support: bool = True,
    lengths: bool = True,
    names: Sequence[str] | None = None,
) -> Iterator[str]:
    """Yield the text of a tree piece by piece; see :meth:`Tree.to_newick`."""
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


def _length_texts(tree: Structure) -> tuple[list[str], list[str]]:
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


def read_newick(
    text: str,
    *,
    names: Sequence[str] | None = None,
    support: bool = True,
    keep_underscores: bool = False,
) -> dict[str, Any]:
    """Return the arguments of a tree; see :meth:`Tree.from_newick`."""
    if not isinstance(text, str):
        raise ParameterError("text", text, "a Newick text")
    entries = _Reader(text).entries()
    has_lengths = any(entry.length is not None for entry in entries)
    is_node = [not (e.is_tip and e.length is None and has_lengths) for e in entries]
    number = (np.cumsum(is_node) - 1).tolist()
    nodes = [e for e, is_one in zip(entries, is_node, strict=True) if is_one]
    parent = [NULL if e.parent == NULL else number[e.parent] for e in nodes]
    tips = [k for k, e in enumerate(entries) if e.is_tip and not (is_node[k] and e.label is None)]
    for k in tips:
        if entries[k].label is None:
            _refuse(text, entries[k].at, "a tip needs a name or a length; '' is an empty name")
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
    tips: list[_Entry], names: Sequence[str] | None, keep_underscores: bool
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


def _name(tip: _Entry, keep_underscores: bool) -> str:
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


def _places(nodes: list[_Entry], parent: list[int]) -> FloatArray | IntArray:
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


def _supports(text: str, nodes: list[_Entry]) -> FloatArray | None:
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
            _refuse(
                text,
                nodes[w].at,
                f"an inner node's label {nodes[w].label} is no support, which lies between 0 and 1 "
                "or between 0 and 100 per cent; support=False ignores such labels",
            )
    if labelled and values[labelled].max() > 1:
        values[labelled] /= 100
    values[noted] = [nodes[w].notes["support"] for w in noted]
    return values


# ---- the tips and inner nodes of a text -------------------------------------------------------


class _Entry(NamedTuple):
    """One tip or inner node of the text, which begins at ``at``."""

    parent: int
    is_tip: bool
    label: str | None
    is_quoted: bool
    length: str | None
    notes: dict[str, float]
    at: int


class _Reader:
    """Reads a text from left to right; parents come before their children in what it returns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.done: list[_Entry | None] = []
        self.opened: list[int] = []  # inner nodes whose brackets are open
        self._begin()

    def _begin(self) -> None:
        """Begin a tip, or what turns out to be an inner node."""
        self.current = len(self.done)
        self.done.append(None)
        self._forget()
        self.is_tip, self.began = True, self.at

    def _forget(self) -> None:
        self.label: str | None = None
        self.is_quoted = False
        self.length: str | None = None
        self.notes: dict[str, float] = {}

    def _finish(self) -> None:
        parent = self.opened[-1] if self.opened else NULL
        self.done[self.current] = _Entry(
            parent, self.is_tip, self.label, self.is_quoted, self.length, self.notes, self.began
        )

    def entries(self) -> list[_Entry]:
        """Return all tips and inner nodes in the order of their beginnings."""
        text = self.text
        while True:
            match = TOKEN.match(text, self.at)
            if match is None:
                self._refuse_character()
            kind, token = match.lastgroup, match.group()
            if kind == "comment":
                self._comment(token)
            elif kind == "quoted":
                self._label(token[1:-1].replace("''", "'"), is_quoted=True)
            elif kind == "plain":
                self._label(token.rstrip(), is_quoted=False)
            elif kind == "mark" and self._mark(token):
                self._check_end(match.end())
                return [entry for entry in self.done if entry is not None]
            self.at = max(self.at, match.end())

    def _mark(self, mark: str) -> bool:
        """Handle a bracket, comma, colon or semicolon; return whether the tree is complete."""
        if mark == "(":
            if not self.is_tip or self.label is not None or self.length is not None:
                self._expect(self._what_may_follow())
            self.opened.append(self.current)
            self.at += 1
            self._begin()
        elif mark == ":":
            self._length()
        elif mark == ";":
            if self.opened:
                self._expect("a comma or a closing bracket: not all brackets are closed")
            self._finish()
            return True
        else:
            if not self.opened:
                self._expect("a semicolon: all brackets are closed")
            self._finish()
            if mark == ",":
                self.at += 1
                self._begin()
            else:
                self.current = self.opened.pop()
                self._forget()
                self.is_tip, self.began = False, self.at
        return False

    def _label(self, label: str, *, is_quoted: bool) -> None:
        if self.label is not None or self.length is not None:
            self._expect(self._what_may_follow())
        self.label, self.is_quoted = label, is_quoted

    def _length(self) -> None:
        if self.length is not None:
            self._expect(self._what_may_follow())
        colon = self.at
        self.at += 1
        while (match := TOKEN.match(self.text, self.at)) and match.lastgroup in {
            "space",
            "comment",
        }:
            if match.lastgroup == "comment":
                self._comment(match.group())
            self.at = match.end()
        number = NUMBER.match(self.text, self.at)
        if number is None:
            self._expect("a number after the colon")
        if float(number.group()) < 0 or math.isinf(float(number.group())):
            _refuse(
                self.text,
                colon,
                f"a length must be a finite number of at least 0, got {number.group()}",
            )
        self.length = number.group()
        self.at = number.end()

    def _comment(self, comment: str) -> None:
        """Keep what is said of times and supports in the form of this module; skip the rest."""
        if not comment.startswith("[&"):
            return
        for part in comment[2:-1].split(","):
            key, _, value = part.strip().partition("=")
            if key in {"time", "support"} and (NUMBER.fullmatch(value) or value == "nan"):
                self.notes[key] = float(value)

    def _what_may_follow(self) -> str:
        end = "a comma or a closing bracket" if self.opened else "a semicolon"
        return end if self.length is not None else f"a colon, {end}"

    def _check_end(self, at: int) -> None:
        while match := TOKEN.match(self.text, at):
            if match.lastgroup not in {"space", "comment"}:
                break
            at = match.end()
        if at < len(self.text):
            _refuse(self.text, at, "expected nothing after the semicolon: only one tree is read")

    def _expect(self, what: str) -> NoReturn:
        rest = self.text[self.at : self.at + 12]
        _refuse(self.text, self.at, f"expected {what}, got {rest!r}")

    def _refuse_character(self) -> NoReturn:
        open_end = {"'": "a quote that closes this one", "[": "a bracket ] that closes this one"}
        if self.at >= len(self.text):
            self._expect("a semicolon at the end" if not self.opened else "a closing bracket")
        self._expect(open_end.get(self.text[self.at], "an opening bracket [ before this one"))


def _refuse(text: str, at: int, reason: str) -> NoReturn:
    """Raise the error of a text that goes wrong at a place, with line and column."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    raise ValueError(f"text is no Newick tree: line {line}, column {column}: {reason}")
