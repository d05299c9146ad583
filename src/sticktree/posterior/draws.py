"""Draws of several chains, and whether their answer is settled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import check_integer
from sticktree.data.training import TrainingData
from sticktree.display import html
from sticktree.engine.draw import Draw
from sticktree.model import Model
from sticktree.posterior.convergence import convergence
from sticktree.posterior.cutting import Lasting
from sticktree.posterior.predictive import NumberedDraw, PosteriorPredictive
from sticktree.posterior.settled import Settled, settled
from sticktree.posterior.verdict import Agreement, Verdict, judged

R_HAT_LIMIT = 1.05
"""The largest R-hat of chains that agree."""
R_HAT_FAR = 1.2  # above it chains disagree; between the two they nearly agree

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


ENTRY_DIMENSIONS = {
    "nodes": ("level",),
    "scales": ("level",),
    "variance": ("level", "column"),
    "hyper": ("hyper_parameter", "column"),
}
"""What is counted by the entries of scalars that have several."""


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
        return PosteriorPredictive(numbered, self.model, self.training.data, self.training.factored)

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
        chains = f"{self.n_chains} chain" + "s" * (self.n_chains != 1)
        if not len(self):
            return f"Posterior({chains}, no draws yet)"
        draws = f"{self.n_draws:,} draw" + "s" * (self.n_draws != 1)
        size = f"{self.nbytes_per_draw:,.0f} bytes a draw"
        return f"Posterior({chains} of {draws}, trees of {self.depth} levels, {size})"

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
        """Return the scalars as ArviZ's DataTree (needs arviz-base).

        Dimensions are called by what they count: levels from 1, columns by their names.
        """
        try:
            from arviz_base import from_dict
        except ImportError:
            raise ImportError(
                "to_arviz needs arviz-base: install it with `pip install sticktree[arviz]`"
            ) from None
        scalars = self.scalars()
        dims = {name: self._dimensions(name, values.shape[2:]) for name, values in scalars.items()}
        coords = {dim: labels for known in dims.values() for dim, labels in known.items() if labels}
        return from_dict(
            {"posterior": scalars},
            dims={name: list(known) for name, known in dims.items() if known},
            coords=coords,
        )

    def _dimensions(self, name: str, shape: tuple[int, ...]) -> dict[str, list[Any]]:
        """Return what the entries of a scalar are, dimension by dimension, and how they are called.

        Without labels they are counted from 0.
        """
        columns = [] if self.training is None else list(self.training.scaling.columns.names)
        named: dict[str, list[Any]] = {
            "level": list(range(1, self.depth + 1)),
            "column": list(map(str, columns)),
            "hyper_parameter": ["kappa", "shape", "scale"],
        }
        result: dict[str, list[Any]] = {}
        for dim, size in zip(
            ENTRY_DIMENSIONS.get(name, ("entry", "second_entry")), shape, strict=False
        ):
            fits = len(named.get(dim, [])) == size and len(set(named[dim])) == size
            # Kinds with several coordinates a column, and levels of other models, are counted.
            result[dim if fits else f"{name}_{dim}"] = named[dim] if fits else []
        return result


class ConvergenceWarning(UserWarning):
    """The chains of a fit do not agree."""


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Whether the answer is settled; R-hat and effective sample size of every scalar that varies.

    Attributes
    ----------
    r_hat, ess : dict of float
        R-hat and effective sample size of each scalar.
    settled : Settled or None
        How far two halves of the chains agree on density, clusters and details of the tree.
    """

    r_hat: dict[str, float]
    ess: dict[str, float]
    settled: Settled | None = None

    def __repr__(self) -> str:
        """Return the verdict, and the scalar that is worst."""
        judged = self.verdict()
        text = f"Diagnosis({judged.agreement}: {judged.text}"
        if self.r_hat:
            worst = max(self.r_hat, key=lambda name: self.r_hat[name])
            fewest = min(self.ess, key=lambda name: self.ess[name])
            text += (
                f" Largest R-hat {r_hat_text(self.r_hat[worst])}: {scalar_name(worst)}; fewest "
                f"effective draws {self.ess[fewest]:,.0f}: {scalar_name(fewest)}."
            )
        return text + ")"

    def _repr_html_(self) -> str:
        """Return how it looks in a notebook."""
        return html("diagnosis", self)

    def verdict(self) -> Verdict:
        """Judge whether chains agree on the clusters, on the tree and on the density.

        R-hats have no say: chains may differ in a hyper-parameter and give the same answer.

        Examples
        --------
        >>> from sticktree.posterior.draws import Diagnosis
        >>> from sticktree.posterior.settled import Settled
        >>> found = Settled(4, 0.001, 0.05, 0.02, 0.98, 1.0, 0.89)
        >>> [(part.about, part.answer) for part in Diagnosis({}, {}, found).verdict().parts]
        [('clusters', 'yes'), ('tree', 'nearly'), ('density', 'yes')]
        """
        return judged(self.settled)

    def advice(self) -> str | None:
        """Return what :meth:`verdict` says and what to do, or None if the chains agree."""
        found = self.verdict()
        if found.agreement == "agree":
            return None
        if found.agreement == "disagree":
            return (
                f"{found.text} More chains (n_chains) help where each finds something else, longer "
                "ones (n_warmup, n_draws) where they are short; more_draws() goes on with these"
            )
        if found.tree is False or any("support" in advice for advice in found.advice()):
            return f"{found.text} tree_.collapsed(0.5) has the branches that have support"
        return found.text


def diagnose(posterior: Posterior, lasting: Lasting | None = None) -> Diagnosis:
    """Compare what two halves of the chains say, and compute R-hats and effective sample sizes.

    R-hat needs two chains. ``lasting`` is how many clusters there are, if they are to be compared.
    """
    r_hat, ess = convergence(posterior.columns() if posterior.n_draws >= 4 else {})
    if not posterior.n_draws:
        return Diagnosis(r_hat, ess)
    found = settled(posterior.chains, posterior.model, posterior.training, lasting)
    return Diagnosis(r_hat, ess, found)


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
