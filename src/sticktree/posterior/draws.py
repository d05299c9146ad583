"""Draws of several chains, and whether these have converged: R-hat, effective sample sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sticktree.checks import check_integer
from sticktree.data.training import TrainingData
from sticktree.display import html
from sticktree.engine.draw import Draw
from sticktree.model import Model
from sticktree.posterior.convergence import convergence
from sticktree.posterior.predictive import NumberedDraw, PosteriorPredictive

R_HAT_LIMIT = 1.05
"""The largest R-hat of chains that agree."""
R_HAT_FAR = 1.2  # above it chains disagree; between the two they nearly agree
FEW = 100  # effective draws, with fewer of which averages are rough

NAMES = {
    "log_joint": "log joint density",
    "concentration": "concentration c",
    "discount": "discount d",
    "meeting_level": "mean level at which rows meet",
}
ENTRIES = {
    "nodes": "branches at level {}",
    "scales": "scale of level {}",
    "hyper": "hyper-parameter {} of the leaves",
}


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
        n_draws, depth = self.n_draws, self.depth
        kept = [chain[:n_draws] for chain in self.chains]

        def collect(value: Any) -> npt.NDArray[Any]:
            return np.array([[value(draw) for draw in chain] for chain in kept])

        def parameter(name: str) -> npt.NDArray[Any]:
            return collect(lambda draw: draw.parameters[name])

        return {
            "log_joint": collect(lambda draw: draw.log_joint),
            "nodes": collect(lambda draw: draw.nodes_per_level(depth)),
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


class ConvergenceWarning(UserWarning):
    """The chains of a fit do not agree."""


Agreement = Literal["agree", "nearly agree", "disagree", "cannot tell"]


@dataclass(frozen=True)
class Verdict:
    """Whether the chains of a fit agree.

    Attributes
    ----------
    agreement : {"agree", "nearly agree", "disagree", "cannot tell"}
        "cannot tell" is for a single chain, or too few draws.
    tone : {"good", "doubtful", "bad"}
        Whether to trust the fit. Chains that agree are doubtful if effective draws are few.
    text : str
        The same in words, with the figures behind it.
    """

    agreement: Agreement
    tone: Literal["good", "doubtful", "bad"]
    text: str


@dataclass(frozen=True)
class Diagnosis:
    """R-hat and effective sample size of every scalar that varies."""

    r_hat: dict[str, float]
    ess: dict[str, float]

    def verdict(self, limit: float = R_HAT_LIMIT) -> Verdict:
        """Judge whether the chains agree: whether all R-hats are at most ``limit``.

        Examples
        --------
        >>> from sticktree.posterior.draws import Diagnosis
        >>> Diagnosis({"concentration": 1.16}, {"concentration": 40.0}).verdict().agreement
        'nearly agree'
        """
        if not self.r_hat:
            # A scalar that varies has an effective size in any case, an R-hat from two chains on.
            text = (
                "With a single chain, convergence cannot be judged: run several, such as four."
                if self.ess
                else "Convergence cannot be judged: there are too few draws, or nothing varies "
                "between them. Fit with more draws to find out."
            )
            return Verdict("cannot tell", "doubtful", text)
        known = {name: value for name, value in self.r_hat.items() if not np.isnan(value)}
        worst = max(known, key=lambda name: known[name], default=None)
        if worst is not None and known[worst] > limit:
            n_above = sum(value > limit for value in known.values())
            text = (
                f"R-hat of {scalar_name(worst)} is {r_hat_text(known[worst], limit)} and should "
                f"be at most {limit:g}; {n_above} of {len(self.r_hat)} scalars "
                f"{'is' if n_above == 1 else 'are'} above that. Run longer"
            )
            judged = agreement(known[worst], limit)
            if judged == "disagree":
                text = f"The chains disagree: {text}, and do not rely on this tree yet."
                return Verdict(judged, "bad", text)
            text = f"The chains nearly agree: {text}: details may still change."
            return Verdict(judged, "doubtful", text)
        text = "The chains agree"
        if worst is not None:
            text += f": the largest R-hat is {known[worst]:.2f} ({scalar_name(worst)})"
        text += "."
        if not self.ess:
            return Verdict("agree", "good", text)
        least = min(self.ess, key=lambda name: self.ess[name])
        text += f" The smallest effective sample size is {self.ess[least]:.0f}"
        text += f" ({scalar_name(least)})."
        if self.ess[least] >= FEW:
            return Verdict("agree", "good", text)
        text += " That is low: averages are rough, and more draws would help."
        return Verdict("agree", "doubtful", text)

    def advice(self, limit: float = R_HAT_LIMIT) -> str | None:
        """Return what :meth:`verdict` says and what to do, or None if the chains agree."""
        judged = self.verdict(limit)
        if judged.agreement == "agree":
            return None
        if judged.agreement == "cannot tell":
            return judged.text
        return f"{judged.text} Use a larger n_warmup and n_draws, or fit again with warm_start=True"


def diagnose(posterior: Posterior) -> Diagnosis:
    """Compute R-hat (from two chains on) and effective sample sizes of the posterior's scalars."""
    return Diagnosis(*convergence(posterior.columns() if posterior.n_draws >= 4 else {}))


def agreement(r_hat: float, limit: float = R_HAT_LIMIT) -> Agreement:
    """Judge by one R-hat, or a ratio like it, whether chains agree.

    Examples
    --------
    >>> from sticktree.posterior.draws import agreement
    >>> [agreement(r_hat) for r_hat in (1.01, 1.06, 1.21)]
    ['agree', 'nearly agree', 'disagree']
    """
    if not r_hat > limit:
        return "agree"
    return "disagree" if r_hat > R_HAT_FAR else "nearly agree"


def scalar_name(label: str) -> str:
    """Return a scalar's name in words.

    Examples
    --------
    >>> from sticktree.posterior.draws import scalar_name
    >>> scalar_name("nodes[1]"), scalar_name("concentration"), scalar_name("variance[0]")
    ('branches at level 2', 'concentration c', 'variance 1')
    """
    entry = re.fullmatch(r"(\w+)\[(\d+)\]", label)
    if entry is None:
        return NAMES.get(label, label.replace("_", " "))
    return ENTRIES.get(entry[1], f"{entry[1]} {{}}").format(int(entry[2]) + 1)


def r_hat_text(value: float, limit: float = R_HAT_LIMIT, digits: int = 2) -> str:
    """Write an R-hat with as many digits as show that it is above a limit, if it is.

    Examples
    --------
    >>> from sticktree.posterior.draws import r_hat_text
    >>> r_hat_text(1.0496), r_hat_text(1.0504), r_hat_text(1.2504)
    ('1.05', '1.0504', '1.25')
    """
    if np.isinf(value):
        return "infinite"
    while value > limit >= float(f"{value:.{digits}f}"):
        digits += 1
    return f"{value:.{digits}f}"
