"""Draws of several chains, and the numbers by which their convergence is judged."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import check_integer
from sticktree.data.training import TrainingData
from sticktree.display import html
from sticktree.engine.draw import Draw
from sticktree.model import Model
from sticktree.posterior.predictive import NumberedDraw, PosteriorPredictive


class Posterior:
    """Draws of several chains.

    Parameters
    ----------
    chains : list of list of Draw
        The draws of each chain, equally many.
    model : Model
        The model that they are draws of.
    training : TrainingData or None, default=None
        The rows of the fit; without them there is no predictive distribution.
    """

    def __init__(
        self, chains: list[list[Draw]], model: Model, training: TrainingData | None = None
    ) -> None:
        self.chains = chains
        self.model = model
        self.training = training

    @property
    def depth(self) -> int:
        """Number of levels of the trees below the root."""
        return self.model.depth

    @cached_property
    def predictive(self) -> PosteriorPredictive:
        """The predictive distribution of the next row, in standardised units."""
        if self.training is None:
            raise ValueError("a predictive distribution needs the rows of the fit, got no training")
        numbered = [
            NumberedDraw(k, number, draw)
            for k, chain in enumerate(self.chains)
            for number, draw in enumerate(chain)
        ]
        return PosteriorPredictive(numbered, self.model, self.training.data)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.chains)

    @property
    def n_draws(self) -> int:
        """Number of draws of each chain."""
        return min((len(chain) for chain in self.chains), default=0)

    @property
    def draws(self) -> list[Draw]:
        """All draws, chain after chain."""
        return [draw for chain in self.chains for draw in chain]

    @property
    def labelled(self) -> list[Draw]:
        """The draws that have kept where each row sits, chain after chain; mostly all of them."""
        return [draw for draw in self.draws if draw.labelled]

    @property
    def nbytes_per_draw(self) -> float:
        """Mean size of a draw in memory."""
        return float(np.mean([draw.nbytes for draw in self.draws]))

    def __len__(self) -> int:
        """Return the number of all draws."""
        return sum(len(chain) for chain in self.chains)

    def __repr__(self) -> str:
        """Return the numbers of chains and draws, and their size."""
        size = f"{self.nbytes_per_draw:,.0f} bytes each" if len(self) else "none yet"
        return f"Posterior(n_chains={self.n_chains}, n_draws={self.n_draws}, {size})"

    def scalars(self) -> dict[str, npt.NDArray[Any]]:
        """Return label-free numbers of every draw, each of shape (n_chains, n_draws, …).

        These are what convergence is judged by: log joint, numbers of nodes at each level, c, d,
        the model's own parameters that are traced, and the mean level at which tracked pairs of
        rows meet.
        """
        kept = [chain[: self.n_draws] for chain in self.chains]

        def collect(value: Any) -> npt.NDArray[Any]:
            return np.array([[value(draw) for draw in chain] for chain in kept])

        def parameter(name: str) -> npt.NDArray[Any]:
            return collect(lambda draw: draw.parameters[name])

        return {
            "log_joint": collect(lambda draw: draw.log_joint),
            "nodes": collect(lambda draw: draw.nodes_per_level(self.depth)),
            "concentration": collect(lambda draw: draw.concentration),
            "discount": collect(lambda draw: draw.discount),
            **{name: parameter(name) for name in self.draws[0].traced},
            "meeting_level": collect(lambda draw: draw.tracked_level()),
        }

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the scalars one by one, each of shape (n_chains, n_draws).

        Those that have several entries have as many columns: ``nodes[0]``, ``nodes[1]``, …
        """
        columns = {}
        for name, values in self.scalars().items():
            flat = values.reshape(*values.shape[:2], -1)
            for k in range(flat.shape[2]):
                columns[name if values.ndim == 2 else f"{name}[{k}]"] = flat[:, :, k]
        return columns

    def to_frame(self) -> Any:
        """Return the scalars as a pandas DataFrame: a row a draw, indexed by chain and draw."""
        from sticktree.optional import optional

        pandas = optional("pandas", extra="frames", asker="to_frame")
        index = pandas.MultiIndex.from_product(
            [range(self.n_chains), range(self.n_draws)], names=["chain", "draw"]
        )
        columns = self.columns() if self.n_draws else {}
        return pandas.DataFrame(
            {name: values.reshape(-1) for name, values in columns.items()}, index=index
        )

    def _repr_html_(self) -> str:
        """Return how the draws look in a notebook."""
        return html("posterior", self)

    def labels(self, level: int) -> npt.NDArray[np.int32]:
        """Return the flat clustering at a level of every labelled draw, shape (draws, N)."""
        check_integer("level", level, minimum=0)
        return np.array([draw.tree.cut(level) for draw in self.labelled])

    def to_arviz(self) -> Any:
        """Return the scalars as ArviZ's DataTree (needs arviz-base)."""
        try:
            from arviz_base import from_dict
        except ImportError:
            raise ImportError(
                "to_arviz needs arviz-base: install it with `pip install sticktree[arviz]`"
            ) from None
        return from_dict({"posterior": self.scalars()})
