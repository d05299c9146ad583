"""Results: computed several at a time, kept on disk one line each, and shown as tables.

What is done is kept at once, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Key:
    """All that a result depends on.

    Attributes
    ----------
    part : {"density", "purity", "evidence", "clusters"}
        What was measured.
    name : str
        The prepared set.
    rows : str
        A digest of its rows, before they are split.
    split : int
        The split, or the seed where all rows are used.
    method, settings : str
        What was fitted, and everything about it that could change the result.
    """

    part: str
    name: str
    rows: str
    split: int
    method: str
    settings: str


@dataclass(frozen=True)
class Result:
    """What came out, and how long it took: on the clock, and of one core."""

    key: Key
    values: dict[str, float]
    seconds: float
    cpu_seconds: float


class ResultsFile:
    """A file of results, one JSON object a line; lines are only ever added.

    Parameters
    ----------
    path : path
        The file. It need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[Key, Result]:
        """Return all results; of two with one key the later counts.

        A line that was cut short by a crash is left out.
        """
        found: dict[Key, Result] = {}
        if not self.path.exists():
            return found
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                fields = json.loads(line)
                key = Key(**fields.pop("key"))
                found[key] = Result(key, **fields)
            except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
                continue
        return found

    def keep(self, result: Result) -> None:
        """Add a result."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(result), ensure_ascii=False)
        whole = not self.path.exists() or self.path.read_bytes()[-1:] in (b"", b"\n")
        with self.path.open("a", encoding="utf-8") as lines:
            # After a line that was cut short, a new one begins.
            lines.write(("" if whole else "\n") + text + "\n")


def by_method(results: Iterable[Result], value: str) -> dict[str, dict[int, float]]:
    """Return one value of each method's results by split."""
    found: dict[str, dict[int, float]] = {}
    for result in results:
        if value in result.values:
            found.setdefault(result.key.method, {})[result.key.split] = result.values[value]
    return found


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; its columns are as wide as what is in them, so that text reads well too.

    Examples
    --------
    >>> print(table(["set", "rows"], [["R15", "600"]]))
    | set | rows |
    | --- | ---- |
    | R15 | 600  |
    """
    cells = [[_cell(text) for text in row] for row in (header, *rows)]
    widths = [max(3, *(len(row[k]) for row in cells)) for k in range(len(header))]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
