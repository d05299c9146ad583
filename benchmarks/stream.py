"""How far a stream is from a fit to all rows at once, and how reliably drift is detected.

Batches come one after another, and rows before the newest are kept as blocks. Held-out rows are
scored by the stream, by a fit to all rows, and by a fit to the first batch alone; the truth is
known, and the table has what each loses to it, in nats per row. There are four streams: batches
that are all alike; a quarter of the clusters only from the middle on; clusters whose means move by
up to two standard deviations of the noise from the first batch to the last, scored on rows of the
last; and clusters of which some overlap. In all others centres are at least four standard
deviations apart.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from benchmarks.measure import Row, Target, duration, verdict
from sticktree import DFPMixture
from sticktree.checks import FloatArray
from sticktree.inference.drift import Z_LIMIT

N_CLUSTERS, NOISE, WIDTH = 30, 0.25, 2.0
MOVED = 2.0  # standard deviations of the noise, from the first batch to the last
BEHIND = Target(0.02, "nats")
HELD_OUT = 5_000
KINDS = ("alike", "new clusters", "moving", "overlapping")
APART = 4.0  # standard deviations of the noise, between centres


class Source(NamedTuple):
    """A mixture that may change from batch to batch."""

    centres: FloatArray
    moves: FloatArray
    kind: str
    n_batches: int

    @classmethod
    def of(cls, kind: str, dimension: int, n_batches: int, seed: int) -> Source:
        rng = np.random.default_rng([seed, dimension])
        centres = WIDTH * rng.standard_normal((1, dimension))
        while len(centres) < N_CLUSTERS:
            new = WIDTH * rng.standard_normal(dimension)
            nearest = np.linalg.norm(centres - new, axis=1).min()
            if kind == "overlapping" or nearest > APART * NOISE:
                centres = np.concatenate([centres, [new]])
        moves = rng.standard_normal(centres.shape)
        moves *= MOVED * NOISE / np.linalg.norm(moves, axis=1, keepdims=True)
        return cls(centres, moves, kind, n_batches)

    def at(self, batch: int) -> FloatArray:
        """Return the centres of a batch."""
        late = batch >= self.n_batches // 2
        if self.kind == "new clusters" and not late:
            return self.centres[: 3 * N_CLUSTERS // 4]
        if self.kind == "moving":
            return self.centres + self.moves * batch / (self.n_batches - 1)
        return self.centres

    def draw(self, batch: int, n: int, rng: np.random.Generator) -> FloatArray:
        centres = self.at(batch)
        which = rng.integers(len(centres), size=n)
        return centres[which] + NOISE * rng.standard_normal((n, centres.shape[1]))

    def log_density(self, batch: int, x: FloatArray) -> FloatArray:
        centres = self.at(batch)
        logs = [multivariate_normal(c, NOISE**2).logpdf(x) for c in centres]
        return np.asarray(logsumexp(logs, axis=0) - np.log(len(centres)))


def mixture(n_warmup: int, n_draws: int) -> DFPMixture:
    return DFPMixture(
        covariance_type="full",
        leaf_noise="shared",
        n_chains=2,
        n_warmup=n_warmup,
        n_draws=n_draws,
        random_state=0,
        progress=False,
        algorithm="parallel",
    )


def stream(quick: bool = False) -> Iterator[Row]:
    n_batches, n_rows = (4, 500) if quick else (20, 5_000)
    for dimension in (2, 5):
        for kind in KINDS:
            yield from compare(kind, dimension, n_batches, n_rows)
    yield false_alarms(3 if quick else 40, 300 if quick else 1_000)


def compare(kind: str, dimension: int, n_batches: int, n_rows: int) -> Iterator[Row]:
    source = Source.of(kind, dimension, n_batches, 0)
    rng = np.random.default_rng(1)
    batches = [source.draw(batch, n_rows, rng) for batch in range(n_batches)]
    held = source.draw(n_batches - 1, HELD_OUT, rng)
    truth = source.log_density(n_batches - 1, held).mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        stream = mixture(100, 50)
        for k, batch in enumerate(batches):
            stream.partial_fit(batch)
            if k == 0:
                lost_first = truth - stream.score(held)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        whole = mixture(100, 50).fit(np.concatenate(batches))
        seconds_whole = time.perf_counter() - start
    lost, lost_whole = truth - stream.score(held), truth - whole.score(held)
    drifted = [batch.batch for batch in stream.stream_.batches if batch.drifted]
    blocks = [run.chain.rows.squashed.blocks.n.size for run in stream.fit_.sampled.runs]
    leaves = stream.stream_[-1].leaves_after
    judged = {} if kind in ("moving", "overlapping") else {"target": str(BEHIND)}
    if judged:
        judged["verdict"] = verdict(BEHIND.met(lost - lost_whole))
    yield Row(
        f"stream of {n_batches} × {n_rows:,} rows, {kind}, {dimension} columns, {N_CLUSTERS} "
        f"clusters: held-out density below the truth, and of a fit to all rows; first batch alone "
        f"{lost_first:.3f}; {leaves:.0f} leaves, at most {max(blocks)} blocks; drift in "
        f"{_span(drifted)}; {duration(seconds)}, all rows {duration(seconds_whole)}",
        f"{lost:.3f} nats",
        f"{lost_whole:.3f} nats",
        f"{lost - lost_whole:.3f}",
        **judged,
    )


def _span(batches: list[int]) -> str:
    if not batches:
        return "no batch"
    return "batch " + ", ".join(map(str, batches))


def z_scores(n_streams: int, n_rows: int) -> npt.NDArray[np.float64]:
    """Return z of second batches that are like the first, of fresh sources each."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(n_streams):
            source = Source.of("alike", 2, 2, seed)
            rng = np.random.default_rng([2, seed])
            stream = mixture(60, 20)
            for batch in range(2):
                stream.partial_fit(source.draw(batch, n_rows, rng), n_warmup=1, n_draws=1)
            found.append(stream.stream_[1].z)
    return np.array(found)


def false_alarms(n_streams: int, n_rows: int) -> Row:
    z = z_scores(n_streams, n_rows)
    alarms = int((np.abs(z) > Z_LIMIT).sum())
    limit = Target(0)
    return Row(
        f"z of {n_streams} second batches of {n_rows:,} rows like the first: false alarms",
        f"mean {z.mean():.2f}, standard deviation {z.std(ddof=1):.2f}",
        figure=str(alarms),
        target=str(limit),
        verdict=verdict(limit.met(alarms)),
    )
