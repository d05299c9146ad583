"""Files that appear whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomically"]


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; rename it when all is written, else remove it."""
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix, delete=False
    ) as file:
        temporary = Path(file.name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
