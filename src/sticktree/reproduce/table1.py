"""Table 1: test log density, every method on every set, with the paper's own figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sticktree.metrics.paired import Difference, paired_difference, signed
from sticktree.reproduce import paper
from sticktree.reproduce.elsewhere import measured_elsewhere
from sticktree.reproduce.markdown import table
from sticktree.reproduce.methods import OURS
from sticktree.reproduce.remarks import remarks_on
from sticktree.reproduce.results import Result, by_method
from sticktree.reproduce.splits import SETS, title_of

__all__ = ["Line", "density_lines", "lines_of", "markdown"]

PAPERS = {"GMM": "GMM, few components", "DPM": "DPM", "DDT": "DDT", "DFP": "DFP as in the paper"}
"""What the paper's columns correspond to here."""
HERE, ELSEWHERE = "here", "elsewhere"
ABOUT = """\
Mean log density of test rows, natural logarithm, in the units that stand with the set. In each
split a tenth of the rows is tested; splits are the same for all methods, and differences are paired
by split, with a 95 % interval. *{ours}* is `DFPMixture` as it comes, but for the length of its
chains: {sweeps}. The paper does not say how its splits were made, so its figures are for
orientation. Variational mixtures are scored at their point estimate, since what scikit-learn gives
does not integrate to 1; kernels are summed exactly. *DPM, own noise* has full covariances, and
diagonal ones on CCLE, where they are far better. Both sides had looked at these splits: settings of
programs measured elsewhere were tuned on them, and ours came to try trees of 8 and 16 steps after a
diffusion tree had been ahead on split 0 of CCLE with gaps."""
ABOUT_ELSEWHERE = (
    "¹ Measured elsewhere on the same splits, with settings that were tuned on them: "
    "see `elsewhere.csv`."
)


@dataclass(frozen=True)
class Line:
    """One method on one set.

    Attributes
    ----------
    name, method : str
        The prepared set, and what was fitted.
    mean, sd : float
        Of the splits' test log densities.
    train : float
        Mean log density of training rows; NaN if not known.
    n_splits : int
        How many splits there are.
    difference : Difference or None
        Ours less this one, paired by split; None for ours.
    where : {"here", "elsewhere"}
        Where it was measured.
    seconds : float
        Mean time of a fit; NaN if not known.
    """

    name: str
    method: str
    mean: float
    sd: float
    train: float
    n_splits: int
    difference: Difference | None
    where: str
    seconds: float

    @property
    def verdict(self) -> str:
        """How ours does beside this one."""
        return "" if self.difference is None else self.difference.verdict


def density_lines(results: Sequence[Result]) -> list[Line]:
    """Return the lines of all sets, best method first."""
    names = [name for name in SETS if any(result.key.name == name for result in results)]
    return [line for name in names for line in lines_of(name, results)]


def lines_of(name: str, results: Sequence[Result]) -> list[Line]:
    """Return the lines of one set, best method first."""
    here = [result for result in results if result.key.name == name]
    test, train = by_method(here, "test"), by_method(here, "train")
    seconds: dict[str, list[float]] = {}
    for result in here:
        seconds.setdefault(result.key.method, []).append(result.cpu_seconds)
    ours = test.get(OURS, {})
    lines = [
        _line(name, method, values, ours, train[method], seconds[method])
        for method, values in test.items()
    ]
    for method, values in measured_elsewhere(name).items():
        shared = {split: value for split, value in values.items() if split in ours}
        if shared:
            lines.append(_line(name, method, shared, ours, None, None))
    # By how far ours is ahead: some have only some of the splits, and splits differ.
    return sorted(lines, key=lambda line: line.difference.mean if line.difference else 0.0)


def _line(
    name: str,
    method: str,
    values: dict[int, float],
    ours: dict[int, float],
    train: dict[int, float] | None,
    seconds: list[float] | None,
) -> Line:
    found = np.array(list(values.values()))
    comparable = method != OURS and bool(ours.keys() & values.keys())
    return Line(
        name,
        method,
        float(found.mean()),
        float(found.std(ddof=1)) if found.size > 1 else float("nan"),
        float("nan") if train is None else float(np.mean(list(train.values()))),
        found.size,
        paired_difference(ours, values) if comparable else None,
        ELSEWHERE if train is None else HERE,
        float("nan") if seconds is None else float(np.mean(seconds)),
    )


def markdown(results: Sequence[Result], sweeps: str) -> Iterator[str]:
    """Yield the part of the page that has Table 1."""
    lines = density_lines(results)
    names = list(dict.fromkeys(line.name for line in lines))
    yield "## Test log density (the paper's Table 1)"
    yield ABOUT.format(ours=OURS, sweeps=sweeps)
    yield "### In short"
    yield from _short(names, lines)
    yield "### In the paper's form"
    yield from _as_the_paper(names, lines)
    yield "### Set by set"
    for name in names:
        yield from _set(name, [line for line in lines if line.name == name])
    if any(line.where == ELSEWHERE for line in lines):
        yield ABOUT_ELSEWHERE


def _short(names: Sequence[str], lines: Sequence[Line]) -> Iterator[str]:
    """Yield ours beside the best of all others, set by set."""
    rows = []
    for name in names:
        of_set = [line for line in lines if line.name == name]
        ours = [line for line in of_set if line.method == OURS]
        others = [line for line in of_set if line.difference is not None]
        if ours and others:
            best = min(others, key=lambda line: line.difference.mean if line.difference else 0.0)
            cells = [_number(ours[0].mean), best.method + _mark(best), str(best.difference)]
            rows.append([_title(name), *cells, best.verdict])
    if rows:
        yield table(["", OURS, "best of all others", "ours − that", "ours is"], rows)


def _as_the_paper(names: Sequence[str], lines: Sequence[Line]) -> Iterator[str]:
    found = {(line.name, line.method): line for line in lines}
    here = [OURS, *dict.fromkeys(line.method for line in lines if line.where == HERE)]
    columns = [m for m in dict.fromkeys((*PAPERS.values(), "GMM by BIC", "KDE", OURS)) if m in here]
    rows = []
    for name in (*names, *(name for name in paper.DENSITY if name not in names)):
        means = [_mean_and_sd(found.get((name, method))) for method in columns]
        rows.append([_title(name) if name in names else f"{_title(name)} (not here)", *means])
        told = paper.DENSITY.get(name)
        if told:
            cells = {PAPERS[m]: f"{signed(mean)} ± {sd:.3f}" for m, (mean, sd) in told.items()}
            rows.append(["*the paper*", *(cells.get(method, "") for method in columns)])
    yield table(["", *columns], rows)


def _set(name: str, lines: Sequence[Line]) -> Iterator[str]:
    yield f"#### {title_of(SETS[name].dataset)}: {SETS[name].words}"
    rows = [
        [
            f"**{line.method}**" if line.method == OURS else line.method + _mark(line),
            _number(line.mean),
            "" if np.isnan(line.sd) else f"{line.sd:.3f}",
            "" if np.isnan(line.train) else _number(line.train),
            "" if line.difference is None else str(line.difference),
            line.verdict,
            str(line.n_splits),
            "" if np.isnan(line.seconds) else f"{line.seconds:.1f}",
        ]
        for line in lines
    ]
    header = ["method", "test", "sd", "training", "ours − method", "ours is", "splits", "s per fit"]
    yield table(header, rows)
    yield from remarks_on(name, lines)


def _title(name: str) -> str:
    form = ", dequantised" if name.endswith("-dequantised") else ""
    return title_of(SETS[name].dataset) + form


def _mark(line: Line) -> str:
    return " ¹" if line.where == ELSEWHERE else ""


def _mean_and_sd(line: Line | None) -> str:
    if line is None:
        return ""
    spread = "" if np.isnan(line.sd) else f" ± {line.sd:.3f}"
    text = f"{_number(line.mean)}{spread}"
    return f"**{text}**" if line.method == OURS else text


def _number(value: float) -> str:
    """Return a log density in few letters; what no model of worth reaches, in fewer."""
    return signed(value) if abs(value) < 1000 else f"{value:.1e}".replace("-", "−")
