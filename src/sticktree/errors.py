"""The error for a bad parameter, and warnings that point at the line that called the library."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

HERE = str(Path(__file__).parent)


class ParameterError(ValueError):
    """A parameter has a value that it cannot have.

    Who calls it by another name, such as a command-line option, asks for :meth:`renamed`, or builds
    a text of their own from the attributes: the text is for people, and no code reads it.

    Parameters
    ----------
    name : str
        The parameter, or a part of it, such as ``scale_prior[0]``.
    got : object
        Its value.
    expected : str
        What it must be: the words after "must be".
    remedy : str, optional
        What to do about it.
    verb : str, default="be"
        The word after "must", such as "have".
    shown : str, optional
        The value in words, where its ``repr`` would say too much or too little.

    Examples
    --------
    >>> from sticktree.errors import ParameterError
    >>> error = ParameterError("depth", 0, "an integer of at least 1")
    >>> print(error)
    depth must be an integer of at least 1, got 0
    >>> print(error.renamed("--depth"))
    --depth must be an integer of at least 1, got 0
    """

    def __init__(
        self,
        name: str,
        got: Any,
        expected: str,
        remedy: str | None = None,
        *,
        verb: str = "be",
        shown: str | None = None,
    ) -> None:
        super().__init__(name, got, expected, remedy)  # as pickle will call it
        self.name = name
        self.got = got
        self.expected = expected
        self.remedy = remedy
        self.verb = verb
        self.shown = shown

    def __str__(self) -> str:
        """Return what is wrong, and what to do about it."""
        shown = repr(self.got) if self.shown is None else self.shown
        text = f"{self.name} must {self.verb} {self.expected}, got {shown}"
        return text if self.remedy is None else f"{text}; {self.remedy}"

    def renamed(self, name: str) -> ParameterError:
        """Return the same error for a parameter of another name."""
        return ParameterError(
            name, self.got, self.expected, self.remedy, verb=self.verb, shown=self.shown
        )


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the library, however deep in the library this is raised."""
    level = 1
    frame = sys._getframe(level)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)
