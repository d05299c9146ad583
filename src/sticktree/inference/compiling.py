"""What a fit will call is compiled before, where nothing is compiled yet, and that is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from sticktree.checks import FloatArray
from sticktree.model import Model

if TYPE_CHECKING:
    from sticktree.jit.ahead import Tell


def compile_for_fit(
    models: Sequence[Model], data: FloatArray, parallel: bool, show: bool | None
) -> None:
    """Compile what is needed to choose among models and to sample any of them."""
    kinds = sorted({model.leaf_noise for model in models})
    algorithm = "parallel" if parallel else "gibbs"
    tasks = [f"fit {_of(kind, data)} {algorithm}" for kind in kinds]
    if len(models) > 1:
        tasks += [f"choose {_of(kind, data)}" for kind in kinds]
    _compile(tasks, show)


def compile_for_answers(model: Model, rows: FloatArray, show: bool | None = None) -> None:
    """Compile what is needed to answer questions about rows."""
    _compile([f"answer {_of(model.leaf_noise, rows)}"], show)


def compile_for_stream(model: Model, rows: FloatArray, show: bool | None) -> None:
    """Compile what is needed to go on with new rows."""
    _compile([f"stream {_of(model.leaf_noise, rows)}"], show)


def _of(kind: str, data: FloatArray) -> str:
    return f"{kind} gaps" if np.isnan(data).any() else kind


def _compile(tasks: list[str], show: bool | None) -> None:
    from sticktree.jit.ahead import compile_ahead

    with _telling(show) as tell:
        compile_ahead(tasks, tell)


@contextmanager
def _telling(show: bool | None) -> Iterator[Tell]:
    """Yield a function that shows how far compilation is; nothing is shown if there is none."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda done, total, name: None
        return
    from rich.console import Console

    status = Console(stderr=True).status("")

    def tell(done: int, total: int, name: str) -> None:
        status.update(f"compiling, once on this machine: {done} of {total} kernels, now {name}")
        status.start()

    try:
        yield tell
    finally:
        status.stop()
