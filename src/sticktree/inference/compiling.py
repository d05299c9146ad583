"""What a fit will call is compiled before, where nothing is compiled yet, and that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from sticktree.checks import FloatArray
from sticktree.inference.showing import Line, showing
from sticktree.model import Model


def compile_for_fit(
    models: Sequence[Model], data: FloatArray, parallel: bool, show: bool | None
) -> None:
    """Compile what is needed to choose among models and to sample any of them."""
    kinds = sorted({model.leaf_noise for model in models})
    algorithm = "parallel" if parallel else "gibbs"
    tasks = [f"fit {_of(kind, data)} {algorithm}" for kind in kinds]
    if len(models) > 1:
        tasks += [f"choose {_of(kind, data)}" for kind in kinds]
    if any(model.groups is not None for model in models):
        tasks += [f"groups {_of(kind, data)}" for kind in kinds]
        if parallel:
            tasks += [f"groups {_of(kind, data)} parallel" for kind in kinds]
    _compile(tasks, show)


def compile_for_answers(
    models: Sequence[Model], rows: FloatArray, show: bool | None = None
) -> None:
    """Compile what is needed to answer questions about rows."""
    kinds = sorted({model.leaf_noise for model in models})
    _compile([f"answer {_of(kind, rows)}" for kind in kinds], show)


def compile_for_stream(model: Model, rows: FloatArray, show: bool | None) -> None:
    """Compile what is needed to go on with new rows."""
    kind = _of(model.leaf_noise, rows)
    of_groups = [] if model.groups is None else [f"groups {kind} parallel"]
    _compile([f"stream {kind}", *of_groups], show)


def _of(kind: str, data: FloatArray) -> str:
    return f"{kind} gaps" if np.isnan(data).any() else kind


def _compile(tasks: list[str], show: bool | None) -> None:
    from sticktree.jit.ahead import compile_ahead

    with ExitStack() as stack:
        line: Line | None = None
        shown = 0

        def tell(done: int, total: int) -> None:
            nonlocal line, shown
            if line is None:
                line = stack.enter_context(showing(show))
                line.say("compiling kernels, once on this machine", total)
            for _ in range(shown, done):
                line.step()
            shown = done

        compile_ahead(tasks, tell)
