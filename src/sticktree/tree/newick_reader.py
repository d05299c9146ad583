"""Newick text of any program, read from left to right into the arrays of a tree."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.errors import ParameterError
from sticktree.tree.arrays import NULL
from sticktree.tree.structure import SUPPORT_KINDS, SupportKind, check_support_kind
from sticktree.tree.validation import assembled, check_names

INTEGER = re.compile(r"[+-]?[0-9]+")
ORDINAL = re.compile(r"0|[1-9][0-9]*")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<comment>\[[^\]]*\])|(?P<mark>[(),;:])"
    r"|(?P<quoted>'(?:[^']|'')*')|(?P<plain>[^\s()\[\]',:;][^()\[\]',:;]*)"
)


def read_newick(
    text: str,
    *,
    names: Sequence[str] | None = None,
    support: bool | SupportKind = True,
    keep_underscores: bool = False,
) -> dict[str, Any]:
    """Return the arguments of a tree; see :meth:`Tree.from_newick`."""
    check_support_kind("support", support, True, False)
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
        names=called,
        **_supports(text, nodes, support),
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


def _supports(
    text: str, nodes: list[_Entry], support: bool | SupportKind
) -> dict[str, FloatArray | None]:
    """Return the supports that labels of inner nodes and comments give, by their kinds."""
    if support is False:
        return {}
    labels: SupportKind = "support" if support is True else support
    found: dict[str, FloatArray | None] = {kind: _noted(nodes, kind) for kind in SUPPORT_KINDS}
    return found | {labels: _labelled(text, nodes, labels)}


def _noted(nodes: list[_Entry], kind: SupportKind) -> FloatArray | None:
    """Return the supports that comments give, if there are any; tips have 1."""
    if not any(kind in entry.notes for entry in nodes):
        return None
    usual = [1.0 if entry.is_tip else np.nan for entry in nodes]
    return np.array([e.notes.get(kind, value) for e, value in zip(nodes, usual, strict=True)])


def _labelled(text: str, nodes: list[_Entry], kind: SupportKind) -> FloatArray | None:
    """Return the supports that labels of inner nodes and comments give, if there are any."""
    noted = _noted(nodes, kind)
    labelled = [
        w for w, e in enumerate(nodes) if not e.is_tip and e.label and NUMBER.fullmatch(e.label)
    ]
    if not labelled:
        return noted
    values = np.array([1.0 if entry.is_tip else np.nan for entry in nodes])
    values[labelled] = [float(nodes[w].label or "") for w in labelled]
    for w in labelled:
        if not 0 <= values[w] <= 100:
            _refuse(
                text,
                nodes[w].at,
                f"an inner node's label {nodes[w].label} is no support, which lies between 0 and 1 "
                "or between 0 and 100 per cent; support=False ignores such labels",
            )
    if values[labelled].max() > 1:
        values[labelled] /= 100
    said = [kind in entry.notes for entry in nodes]
    return values if noted is None else np.where(said, noted, values)


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
        """Keep what is said of times and supports in the form that we write; skip the rest."""
        if not comment.startswith("[&"):
            return
        for part in comment[2:-1].split(","):
            key, _, value = part.strip().partition("=")
            if key in {"time", *SUPPORT_KINDS} and (NUMBER.fullmatch(value) or value == "nan"):
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
