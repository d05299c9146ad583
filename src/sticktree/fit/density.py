"""What was fitted: the model, its rows, its draws, and the densities that these predict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.data import Columns
from sticktree.data.training import TrainingData
from sticktree.engine.own.kinds import LIKELIHOODS
from sticktree.inference.drift import Stream
from sticktree.inference.fitting import Sampled
from sticktree.inference.selection import Selection
from sticktree.model import Model
from sticktree.posterior.clusterings import spread
from sticktree.posterior.draws import Posterior
from sticktree.posterior.loo import LeaveOneOut, leave_one_out
from sticktree.posterior.predictive import NumberedDraw, PosteriorPredictive
from sticktree.posterior.stacking import Stack, mixed
from sticktree.tree import NULL

LOO_DRAWS = 100  # of each chain, that leave-one-out densities are computed from
VOTES = 101  # draws that decide on a missing category

Averaging = Literal["stack", "best"]
"""Whether all models that predict well answer about densities, or the best of them alone."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model with its rows and draws, and what it predicts of new rows, in standardised units.

    A row that occurs several times is several data of the draws and one row of the answers.

    Attributes
    ----------
    training : TrainingData
        The rows: scaling, weights, names, digest.
    sampled : Sampled
        The model, what it was chosen from, and the chains to go on with.
    asked_level : int or None
        The level of the draws' trees that clusters are made from; None leaves it to the draws.
    parameters : dict of str
        The parameters, as text, that must stay the same for the chains to go on.
    stream : Stream or None
        The batches that were taken in one by one.
    """

    training: TrainingData
    sampled: Sampled
    asked_level: int | None
    parameters: dict[str, str]
    stream: Stream | None = None

    @property
    def model(self) -> Model:
        """The model."""
        return self.sampled.model

    @property
    def selection(self) -> Selection | None:
        """The models it was chosen from."""
        return self.sampled.selection

    @property
    def columns(self) -> Columns:
        """Names and kinds of the columns."""
        return self.training.scaling.columns

    @property
    def depth(self) -> int:
        """How often the stick breaks."""
        return self.model.depth + self.model.private_step

    @cached_property
    def posterior(self) -> Posterior:
        """All draws."""
        chains = [run.draws for run in self.sampled.runs]
        return Posterior(chains, self.model, self.training)

    # ---- densities ------------------------------------------------------------------------------

    @cached_property
    def stacked(self) -> Stack | None:
        """The model and those beside it as one predictive distribution; None without a choice.

        The model itself answers from all its draws, the others from those that the choice was made
        by. It is alone where these know other rows: where a sample of the rows chose, and after
        further batches. It is so, too, where a run that was resumed out of time has chosen anew.
        """
        if self.selection is None:
            return None
        selection, training = self.selection, self.training
        name = next(k for k, model in selection.models.items() if model is self.model)
        weights, predictives = {name: 1.0}, {name: self.posterior.predictive}
        if name == selection.best and not training.parallel:
            weights = {name: selection.weights[name]}
            for other, draws in selection.draws.items():
                if other != name and draws and draws[0].n_data == training.n_data:
                    numbered = [NumberedDraw(0, k, draw, other) for k, draw in enumerate(draws)]
                    model = selection.models[other]
                    predictives[other] = PosteriorPredictive(
                        numbered, model, training.data, training.factored
                    )
                    weights[other] = selection.weights[other]
        total = sum(weights.values())
        return Stack({k: w / total for k, w in weights.items()}, predictives, training.scaling)

    def predictive(self, averaging: Averaging) -> PosteriorPredictive | Stack:
        """Return the predictive distribution of the next row, in standardised units."""
        if averaging == "best" or self.stacked is None:
            return self.posterior.predictive
        return self.stacked

    def log_density(
        self, x: FloatArray, averaging: Averaging, groups: IntArray | None = None
    ) -> FloatArray:
        """Return the log predictive density of every row, in the user's units.

        ``groups`` are those of the rows; −1, and None for all, is a new one.
        """
        predictive, units = self.predictive(averaging), self.training.scaling.log_units(x)
        if groups is None:
            return predictive.log_density(x) + units
        out = np.empty(len(x))
        for group in np.unique(groups).tolist():
            rows = groups == group
            known = None if group == NULL else group
            out[rows] = predictive.of_group(known).log_density(x[rows])
        return out + units

    def imputed(self, x: FloatArray, averaging: Averaging) -> FloatArray:
        """Return rows without gaps: means, and the likeliest category, by a vote of many draws."""
        predictive = self.predictive(averaging)
        full = predictive.imputed(x)
        codes = [k for k, kind in enumerate(self.columns.kinds) if LIKELIHOODS[kind].has_codes]
        if np.isnan(x[:, codes]).any():
            votes = predictive.sample_imputed(VOTES, x, np.random.default_rng(0))
            for k in codes:
                categories = range(self.columns.n_categories[k])
                counts = [(votes[:, :, k] == category).sum(axis=0) for category in categories]
                full[:, k] = np.argmax(counts, axis=0)
        return full

    def loo(self, averaging: Averaging) -> LeaveOneOut:
        """Return the leave-one-out predictive density of the data, in the user's units."""
        size = min(self.posterior.n_draws, LOO_DRAWS)
        used = [
            NumberedDraw(k, number, chain[number])
            for k, chain in enumerate(self.posterior.chains)
            for number in spread(range(len(chain)), size)
        ]
        training = self.training
        units = training.scaling.log_units(training.standardised)

        def found(predictive: PosteriorPredictive) -> LeaveOneOut:
            return leave_one_out(predictive.leave_one_out()[None] + units)

        own = found(PosteriorPredictive(used, self.model, training.data, training.factored))
        if averaging == "best" or self.stacked is None:
            return own
        name, *others = self.stacked.weights
        results = {other: found(self.stacked.predictives[other]) for other in others}
        return mixed({name: own} | results, self.stacked.weights)

    def stack(self) -> Stack:
        """Return the models of the selection as one density, weighted by how well they predict."""
        if self.stacked is None:
            raise ValueError(
                'stack needs several models: fit with covariance_type="auto", '
                f"got {self.model.covariance_type!r}"
            )
        return self.stacked
