"""Reading Newick text: which tips and inner nodes it has, and where it goes wrong."""

from __future__ import annotations

import math
import re
from typing import NamedTuple, NoReturn

from sticktree.tree.arrays import NULL

__all__ = ["NUMBER", "Entry", "entries_of", "refuse"]

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<comment>\[[^\]]*\])|(?P<mark>[(),;:])"
    r"|(?P<quoted>'(?:[^']|'')*')|(?P<plain>[^\s()\[\]',:;][^()\[\]',:;]*)"
)


class Entry(NamedTuple):
    """What the text says of one tip or inner node; ``at`` is where it says so."""

    parent: int
    is_tip: bool
    label: str | None
    is_quoted: bool
    length: str | None
    notes: dict[str, float]
    at: int


def entries_of(text: str) -> list[Entry]:
    """Return the tips and inner nodes of a text; parents come before their children."""
    return _Reader(text).entries()


class _Reader:
    """Reads a text from left to right; parents come before their children in what it returns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.done: list[Entry | None] = []
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
        self.done[self.current] = Entry(
            parent, self.is_tip, self.label, self.is_quoted, self.length, self.notes, self.began
        )

    def entries(self) -> list[Entry]:
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
        """Do what a bracket, comma, colon or semicolon says; tell whether the tree is complete."""
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
            refuse(
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
            refuse(self.text, at, "expected nothing after the semicolon: only one tree is read")

    def _expect(self, what: str) -> NoReturn:
        rest = self.text[self.at : self.at + 12]
        refuse(self.text, self.at, f"expected {what}, got {rest!r}")

    def _refuse_character(self) -> NoReturn:
        open_end = {"'": "a quote that closes this one", "[": "a bracket ] that closes this one"}
        if self.at >= len(self.text):
            self._expect("a semicolon at the end" if not self.opened else "a closing bracket")
        self._expect(open_end.get(self.text[self.at], "an opening bracket [ before this one"))


def refuse(text: str, at: int, reason: str) -> NoReturn:
    """Say where a text goes wrong, and why."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    raise ValueError(f"text is no Newick tree: line {line}, column {column}: {reason}")
