"""What the page says about figures of the paper that no estimator reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sticktree.metrics.paired import signed
from sticktree.reproduce import paper
from sticktree.reproduce.evidence import N_SPLITS
from sticktree.reproduce.markdown import table
from sticktree.reproduce.methods import OURS
from sticktree.reproduce.results import Result
from sticktree.reproduce.splits import title_of
from sticktree.reproduce.work import CLASS_NORMALS

__all__ = ["markdown"]

ABOUT = """\
### Can the paper's DFP column be reached?

Not as a mean test density, as far as we can see. The best test density of any method on any split,
and of normals that are told the true class of every training row on {n} splits, stand beside the
paper's mean: on D31 and Aggregation not even one split comes there. Training densities do pass it:
with enough components a mixture of normals reaches any figure on the rows it was fitted to, and far
worse ones on others. On Aggregation the paper's spread between splits is a tenth of ours, too small
for 79 test rows. We claim nothing else."""


def markdown(densities: Sequence[Result], bounds: Sequence[Result]) -> Iterator[str]:
    """Yield what can be said on those sets for which it was measured."""
    names = list(dict.fromkeys(result.key.name for result in bounds))
    if not names:
        return
    yield ABOUT.format(n=N_SPLITS)
    header = [
        "",
        "the paper's DFP",
        "best split of any method",
        "sd between splits, ours",
        "classes told, mean and best split",
        "training density, ours",
        "training density passes with",
        "test density then",
    ]
    yield table(header, [_row(name, densities, bounds) for name in names])


def _row(name: str, densities: Sequence[Result], bounds: Sequence[Result]) -> list[str]:
    here = [result for result in densities if result.key.name == name]
    ours = [result.values for result in here if result.key.method == OURS]
    told = {result.key.method: result.values for result in bounds if result.key.name == name}
    classes = told.pop(CLASS_NORMALS)
    goal, spread = paper.DENSITY[name]["DFP"]
    best = max(here, key=lambda result: result.values["test"])
    passing = [(method, values) for method, values in told.items() if values["train"] >= goal]
    first = passing[0] if passing else None
    return [
        title_of(name),
        f"{signed(goal)} ± {spread:.3f}",
        f"{signed(best.values['test'])} ({best.key.method}, split {best.key.split})",
        f"{np.std([values['test'] for values in ours], ddof=1):.3f}" if len(ours) > 1 else "",
        f"{signed(classes['test'])}, {signed(classes['best'])}",
        signed(float(np.mean([values["train"] for values in ours]))) if ours else "",
        "none tried" if first is None else f"{first[0]} ({signed(first[1]['train'])})",
        "" if first is None else signed(first[1]["test"]),
    ]
