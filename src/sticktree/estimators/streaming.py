"""The part of a mixture that goes on with new rows, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_integer, check_not_infinite
from sticktree.data import Table
from sticktree.data.given import label_every
from sticktree.data.sources.dask import is_dask
from sticktree.data.sources.tables import ChunkedTable
from sticktree.data.store import MemoryStore, digest
from sticktree.engine import parallel_chain_of
from sticktree.engine.draw import Draw
from sticktree.errors import warn_caller
from sticktree.estimators.fitting import Fitting
from sticktree.estimators.input import names_of
from sticktree.inference.blas import one_thread
from sticktree.inference.drift import Batch, DriftWarning, Stream, foresee
from sticktree.inference.progress import watching
from sticktree.inference.sampling import Run, Schedule, sample
from sticktree.io.packing import pack_chain, unpack_chain
from sticktree.posterior.diagnostics import diagnose
from sticktree.posterior.draws import Posterior

if TYPE_CHECKING:
    from sticktree.engine.bulk.chain import BulkChain

__all__ = ["Streaming", "first_batch"]

FREE = {"n_warmup", "thin", "algorithm"}  # parameters that may change between batches


class Streaming(Fitting):
    """The part of a mixture that learns in batches."""

    stream_: Stream

    def partial_fit(
        self,
        X: npt.ArrayLike,  # noqa: N803
        y: object = None,
        *,
        n_warmup: int = 20,
        n_draws: int = 50,
    ) -> Self:
        """Go on with new rows, which are not kept beyond the next batch.

        The first batch is fitted by the parallel sampler: it decides on units, columns and the
        model. Of a later batch, every row is seated by its predictive probabilities; then all is
        sampled for a bounded number of sweeps. The rows before are kept as blocks, the sums of
        rows that were in one leaf, a few for each leaf: blocks move as a whole. Given the blocks
        that is exact; that their rows never part again is what approximates.

        ``posterior_`` then has the draws after this batch, and densities and predictions reflect
        all rows that were ever seen. ``tree_``, ``labels_`` and ``confidence_`` are of this batch.
        ``stream_`` has a line for every batch; one that is far from what was foreseen is warned
        of. If a batch fails or is interrupted, the mixture is as before it.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            New rows; NaN is missing.
        y : object
            Not used.
        n_warmup : int, default=20
            Sweeps of each chain after a later batch, before draws are kept.
        n_draws : int, default=50
            Draws of each chain that are kept then. Of the first batch both are those of the
            mixture.

        Warns
        -----
        DriftWarning
            If the mean log density of the batch is more than 3.89 standard errors from what was
            expected, which happens to 1 in 10,000 batches if the model is right.

        Examples
        --------
        >>> import numpy as np
        >>> from sticktree import DFPMixture
        >>> rng = np.random.default_rng(0)
        >>> mixture = DFPMixture(covariance_type="full", leaf_noise="shared", n_chains=2,
        ...                      n_warmup=50, n_draws=50, random_state=0)
        >>> for _ in range(3):
        ...     X = rng.choice([0.0, 8.0], size=(100, 1)) + rng.normal(size=(100, 2))
        ...     mixture = mixture.partial_fit(X)
        >>> mixture.stream_.n_rows, mixture.labels_.size
        (300, 100)
        """
        if not hasattr(self, "posterior_"):
            return self._fit_first(X)
        schedule = Schedule(
            check_integer("n_warmup", n_warmup, minimum=0),
            check_integer("n_draws", n_draws, minimum=1),
            check_integer("thin", self.thin, minimum=1),
        )
        self._check_stream()
        table = self._read_batch(X)
        x = self._preparation.standardised(table.values)
        every = label_every(len(x), n_draws, self.n_chains)
        schedule = replace(schedule, label_every=every)
        with one_thread():
            before = self.posterior_.draws
            foreseen = foresee(x, before, self._data, self._model_, self._preparation)
            runs = self._followed(x)
            with watching(self.progress, len(runs), schedule) as watch:
                finished = sample(runs, schedule, self._threads(), watch)
        if not finished:
            raise KeyboardInterrupt("interrupted: the batch was not taken in")
        known = getattr(self, "stream_", None) or Stream((first_batch(before),))
        after = [draw for run in runs for draw in run.draws]
        batch = Batch(
            batch=len(known),
            rows=len(x),
            log_density=foreseen.log_density,
            expected=foreseen.expected,
            error=foreseen.error,
            z=foreseen.z,
            leaves_before=_n_leaves(before),
            leaves_after=_n_leaves(after),
            new_share=_new_share(after),
        )
        self._runs, self._done, self.stream_ = runs, schedule, known.plus(batch)
        self._data, self._rows, self._outside = x, np.arange(len(x)), x[:0]
        self._digest, self.algorithm_ = digest(x), "parallel"
        self.posterior_ = Posterior([run.draws for run in runs], self._model_.depth)
        self._summarise(names_of(X))
        self.diagnosis_ = diagnose(self.posterior_)
        if batch.drifted:
            warn_caller(batch.warning(), DriftWarning)
        return self

    def _fit_first(self, X: Any) -> Self:  # noqa: N803
        self._fit(X, None, "parallel")
        self.stream_ = Stream((first_batch(self.posterior_.draws),))
        return self

    def _check_stream(self) -> None:
        """Say what is in the way of a further batch."""
        others = sorted(set(self.columns_.kinds) - {"gaussian"})
        if others:
            raise ValueError(
                f"partial_fit is for gaussian and lognormal columns only, got {', '.join(others)}"
            )
        if self._kept is not None:
            raise ValueError(
                "partial_fit must follow a fit to rows in memory, got one to rows that are "
                "elsewhere; call partial_fit from the first batch on"
            )
        for name, text in self._known().items():
            if name not in FREE and text != self._fitted_with[name]:
                raise ValueError(
                    f"{name} must be that of the first batch, {self._fitted_with[name]}, when "
                    f"partial_fit goes on, got {text}"
                )

    def _read_batch(self, X: Any) -> Table:  # noqa: N803
        if is_dask(X) or isinstance(X, ChunkedTable):
            raise TypeError(
                f"X must be rows in memory, got {type(X).__name__}; give its pieces one by one"
            )
        table = self._read(X, reset=False)
        if not len(table.values):
            raise ValueError("X must have at least one row, got none")
        check_not_infinite("X", table.values)
        return table

    def _followed(self, x: FloatArray) -> list[Run]:
        """Return copies of all chains that go on with new rows."""
        from sticktree.engine.online.rows import follow

        old, new = MemoryStore(self._data), MemoryStore(x)
        runs = []
        for run in self._runs:
            jitter = self._model_.jitter(x.shape[1])
            if self.algorithm_ == "gibbs":
                chain = unpack_chain(pack_chain(run.chain), self._data, self._model_)
                chain = parallel_chain_of(self._model_).following(chain, old.rows(1, jitter))
            else:
                chain = unpack_chain(pack_chain(run.chain), old, self._model_)
            rows = new.rows(self._threads_of_chain(), jitter)
            follow(cast("BulkChain", chain), rows)
            runs.append(Run(chain))
        return runs


def first_batch(draws: Sequence[Draw]) -> Batch:
    """Return the record of the batch that a mixture was fitted to."""
    nan = math.nan
    return Batch(0, draws[0].n_data, nan, nan, nan, nan, nan, _n_leaves(draws), 1.0)


def _n_leaves(draws: Sequence[Draw]) -> float:
    """Return the mean number of leaves: nodes that are no parents."""
    return float(np.mean([draw.parent.size - np.unique(draw.parent).size for draw in draws]))


def _new_share(draws: Sequence[Draw]) -> float:
    """Return the mean share of rows in leaves that hold rows of the newest batch only."""
    shares = []
    for draw in draws:
        if draw.labelled:
            here = np.bincount(draw.leaf, minlength=draw.parent.size)
            shares.append(here[(here > 0) & (here == draw.rows_below())].sum() / draw.n_data)
    return float(np.mean(shares))
