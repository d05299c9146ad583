"""Whether a batch is what was predicted: a record of each, and a warning where one is far off.

A batch is scored by the posterior before it: its rows have a mean log predictive density
L. The posterior also says what L should be, were the batch drawn from itself: rows are drawn from
many of its draws, and scored in the same way. The difference, over its standard error, is z. The
error has two parts: that of a mean over the rows of the batch, and the spread between draws, since
all rows of a batch come from one truth.

If rows belong to groups, all is said of rows of the same groups. Rows of one group go together, the
more so the less is known of it: at each of L levels the sticks of a group with n rows before are
Dirichlet with γ + n rows' worth, so that two of its rows are correlated by L/(1 + γ + n), about, or
less. The error has that as a third part.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.data.scaling import Scaling
from sticktree.posterior.predictive import PosteriorPredictive

Z_LIMIT = 3.89  # two-sided rate of false alarms: 1 in 10,000 batches that are like those before
MOST_DRAWS = 40  # by which a batch is scored
MOST_ROWS = 5_000  # of a batch that are scored
MOST_GROUPS = 50  # whose rows are
SIMULATED = 50  # rows of each draw
MOST_NAMED = 8  # batches, in words

HEADINGS = {
    "batch": "batch",
    "rows": "rows",
    "log_density": "log density",
    "expected": "expected",
    "error": "error",
    "z": "z",
    "leaves_before": "leaves before",
    "leaves_after": "after",
    "new_share": "in new leaves",
}


class DriftWarning(UserWarning):
    """A batch is not what the posterior before it predicted."""


@dataclass(frozen=True)
class BatchScore:
    """How well a batch was predicted.

    Attributes
    ----------
    log_density : float
        Mean log predictive density of its rows.
    expected, error : float
        What the posterior expects that to be, and the standard error of the difference.
    """

    log_density: float
    expected: float
    error: float

    @property
    def z(self) -> float:
        """The difference in units of its error."""
        return (self.log_density - self.expected) / self.error


def score_batch(
    x: FloatArray,
    predictive: PosteriorPredictive,
    scaling: Scaling,
    groups: IntArray | None = None,
) -> BatchScore:
    """Score a standardised batch by draws that have not seen it.

    What is missing in the batch is left out of rows drawn for comparison, too. It takes at most
    5,000 rows, of 50 groups, and 40 draws, spread evenly. ``groups`` are those of the rows, if
    there are any; numbers below 0 are of new ones, as in `Groups.asked`.
    """
    rng = np.random.default_rng(0)  # only for which rows stand for all
    used = predictive.thinned(MOST_DRAWS)
    n_used = len(used.draws)
    if groups is not None:
        known = np.unique(groups)
        if known.size > MOST_GROUPS:
            some = np.isin(groups, rng.choice(known, MOST_GROUPS, replace=False))
            x, groups = x[some], groups[some]
    if len(x) > MOST_ROWS:
        some = np.sort(rng.choice(len(x), MOST_ROWS, replace=False))
        x, groups = x[some], None if groups is None else groups[some]
    of_row = np.zeros(len(x), dtype=np.int32) if groups is None else groups
    # Rows for comparison are of groups in proportion, the same for all draws.
    evenly = (np.arange(SIMULATED) + 0.5) * len(x) / SIMULATED
    places = np.sort(of_row)[evenly.astype(np.int64)]
    simulated = np.empty((n_used, SIMULATED, x.shape[1]))
    for group in np.unique(places).tolist():
        here = places == group
        for k, of_draw in enumerate(_of(used, groups, group).each()):
            simulated[k, here] = of_draw.sample(int(here.sum()), rng)
    rows = simulated.reshape(-1, x.shape[1])
    missing = np.isnan(x)[rng.integers(len(x), size=len(rows))]
    both = np.concatenate([x, np.where(missing, np.nan, rows)])
    of_both, scores = np.concatenate([of_row, np.tile(places, n_used)]), np.empty(len(both))
    for group in np.unique(of_row).tolist():
        here = of_both == group
        scores[here] = _of(used, groups, group).log_density(both[here])
    scores += scaling.log_units(both)
    mine, its = scores[: len(x)], scores[len(x) :].reshape(n_used, SIMULATED)
    within = float(its.var(axis=1, ddof=1).mean())
    between = 0.0
    if n_used > 1:
        between = max(float(its.mean(axis=1).var(ddof=1)) - within / SIMULATED, 0.0)
    # Where the model does not fit, rows may vary more than it thinks.
    of_rows = max(within, float(mine.var(ddof=1)) if len(x) > 1 else 0.0)
    together = 0.0 if groups is None else of_rows * _together(used, groups)
    error = math.sqrt(
        of_rows / len(x) + together + between + between / n_used + within / its.size + 1e-300
    )
    return BatchScore(float(mine.mean()), float(its.mean()), error)


def _of(used: PosteriorPredictive, groups: IntArray | None, group: int) -> PosteriorPredictive:
    """Return what is expected of rows of a group; a number below 0 is a new one."""
    return used if groups is None else used.of_group(group)


def _together(used: PosteriorPredictive, groups: IntArray) -> float:
    """Return the variance of the mean of rows that go together in groups, if that of a row is 1."""
    found, n = np.unique(groups, return_counts=True)
    draws = [numbered.draw.parameters for numbered in used.draws]
    seated = [known["sums_seated"].sum(axis=0) for known in draws if "sums_seated" in known]
    before = np.zeros(found.size)
    if seated:
        before[found >= 0] = np.mean(seated, axis=0)[found[found >= 0]]
    elif used.model.groups is not None:
        of_row = used.model.groups.of_row
        before[found >= 0] = np.bincount(of_row, minlength=found.max() + 1)[found[found >= 0]]
    gamma = float(np.mean([known["group_concentration"] for known in draws]))
    correlation = np.minimum(used.model.depth / (1.0 + gamma + before), 1.0)
    return float((correlation * n * (n - 1.0)).sum() / groups.size**2)


@dataclass(frozen=True)
class Batch:
    """What happened with one batch.

    Attributes
    ----------
    batch, rows : int
        Its number from 0, and how many rows it has.
    log_density : float
        Mean log predictive density of its rows before they were seen, in the user's units; NaN of
        the first batch.
    expected, error : float
        What the posterior expected that to be, and the standard error of the difference.
    z : float
        The difference in units of its error. Far below 0 rows are where none were predicted; far
        above 0 they are crowded where many were.
    leaves_before, leaves_after : float
        Mean number of leaves of the draws before the batch and after it.
    new_share : float
        Share of its rows in leaves that hold no row of a batch before.
    """

    batch: int
    rows: int
    log_density: float
    expected: float
    error: float
    z: float
    leaves_before: float
    leaves_after: float
    new_share: float

    @property
    def drifted(self) -> bool:
        """Whether it was far from what was predicted: by more than 3.89 standard errors."""
        return abs(self.z) > Z_LIMIT

    def warning(self) -> str:
        """Return what there is to warn of."""
        return (
            f"batch {self.batch} is not what the batches before it predicted: its mean log density "
            f"is {self.log_density:.3f}, {self.expected:.3f} was expected, z = {self.z:.1f}. "
            f"{self.new_share:.0%} of its rows are in new leaves; see stream_"
        )


@dataclass(frozen=True)
class Stream:
    """All batches that a mixture has seen: print it.

    Attributes
    ----------
    batches : tuple of Batch
        In the order they came.

    Examples
    --------
    >>> from sticktree.inference.drift import Batch, Stream
    >>> nan = float("nan")
    >>> print(Stream((
    ...     Batch(0, 500, nan, nan, nan, nan, nan, 4.0, 1.0),
    ...     Batch(1, 500, -2.51, -2.5, 0.05, -0.2, 4.0, 4.1, 0.0),
    ...     Batch(2, 500, -3.5, -2.5, 0.05, -20.0, 4.1, 5.0, 0.08),
    ... )))
    batch  rows  log density  expected  error      z  leaves before  after  in new leaves
        0   500                                                        4.0         100.0%
        1   500       -2.510    -2.500  0.050   -0.2            4.0    4.1           0.0%
        2   500       -3.500    -2.500  0.050  -20.0            4.1    5.0           8.0%  drift
    """

    batches: tuple[Batch, ...]

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self.batches)

    def __getitem__(self, batch: int) -> Batch:
        """Return a batch by its number."""
        return self.batches[batch]

    @property
    def n_rows(self) -> int:
        """Number of rows of all batches."""
        return sum(batch.rows for batch in self.batches)

    @property
    def drifted(self) -> list[int]:
        """Numbers of the batches that were far from what was predicted."""
        return [batch.batch for batch in self.batches if batch.drifted]

    def words(self) -> str:
        """Return how many batches there were, and which were not as predicted.

        Examples
        --------
        >>> from sticktree.inference.drift import Batch, Stream
        >>> nan = float("nan")
        >>> Stream((
        ...     Batch(0, 500, nan, nan, nan, nan, nan, 4.0, 1.0),
        ...     Batch(1, 500, -3.5, -2.5, 0.05, -20.0, 4.1, 5.0, 0.08),
        ... )).words().split(". ")[1]
        'Batch 1 was not what those before it predicted (z = -20.0): see stream_.'
        """
        batches = "1 batch" if len(self) == 1 else f"{len(self):,} batches"
        text = f"{batches} with {self.n_rows:,} rows in all; this is of the newest."
        far = [batch for batch in self.batches if batch.drifted]
        if len(far) == 1:
            text += (
                f" Batch {far[0].batch} was not what those before it predicted (z = {far[0].z:.1f})"
            )
        elif far:
            named = ", ".join(str(batch.batch) for batch in far[-MOST_NAMED:])
            if len(far) > MOST_NAMED:
                named = f"the last of them {named}"
            text += f" {len(far)} batches were not what those before them predicted ({named})"
        return f"{text}: see stream_." if far else text

    def plus(self, batch: Batch) -> Stream:
        """Return the stream with one more batch."""
        return Stream((*self.batches, batch))

    def __str__(self) -> str:
        """Return the batches as a table."""
        cells = [[_cell(name, getattr(b, name)) for name in HEADINGS] for b in self.batches]
        lines = [list(HEADINGS.values()), *cells]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        ]
        marks = ["", *("  drift" if batch.drifted else "" for batch in self.batches)]
        return "\n".join((text + mark).rstrip() for text, mark in zip(texts, marks, strict=True))

    def to_frame(self) -> Any:
        """Return the batches as a pandas DataFrame, one in a row."""
        from sticktree.optional import optional

        names = [field.name for field in fields(Batch)]
        table = optional("pandas", extra="frames", asker="to_frame").DataFrame(
            list(map(astuple, self.batches)), columns=names
        )
        table["drifted"] = [batch.drifted for batch in self.batches]
        return table.set_index("batch")


def _cell(name: str, value: float) -> str:
    if math.isnan(value):
        return ""
    if name in ("batch", "rows"):
        return f"{value:,}"
    if name == "new_share":
        return f"{value:.1%}"
    return f"{value:.1f}" if name in ("z", "leaves_before", "leaves_after") else f"{value:.3f}"
