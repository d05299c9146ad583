"""Results kept on disk, one line each, so that an interrupted run goes on where it was."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.folder import ROOT

FILE = ROOT / "benchmarks" / "results" / "density.jsonl"


@dataclass(frozen=True)
class Key:
    """All that a result depends on; ``data`` is a digest of the rows before they are split."""

    name: str
    preprocessing: str
    data: str
    split: int
    method: str
    settings: str


@dataclass(frozen=True)
class Result:
    key: Key
    log_density: float  # mean over the test rows
    seconds: float


def read(file: Path = FILE) -> dict[Key, Result]:
    """Return all results that a file has; a last line cut short is left out."""
    results: dict[Key, Result] = {}
    if not file.exists():
        return results
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            fields = json.loads(line)
            key = Key(**fields["key"])
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
        results[key] = Result(key, fields["log_density"], fields["seconds"])
    return results


def keep(result: Result, file: Path = FILE) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(result), ensure_ascii=False)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(text + "\n")
