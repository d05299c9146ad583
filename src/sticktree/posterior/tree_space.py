"""Do the chains agree on the tree? Distances of trees within chains and between them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sticktree.checks import FloatArray, check_integer
from sticktree.engine.draw import Draw
from sticktree.errors import ParameterError
from sticktree.posterior.clusterings import spread
from sticktree.posterior.convergence import convergence
from sticktree.posterior.draws import R_HAT_LIMIT, Posterior, agreement, r_hat_text

N_REFERENCES = 20
"""Draws to which the distances of all draws are followed."""


@dataclass(frozen=True)
class TreeSpace:
    """How far apart the trees of the chains are.

    The distance of two trees is the root mean square difference of the levels at which a sample of
    pairs of data meets, divided by the depth: between 0 and 1, as in
    :func:`sticktree.metrics.meeting_distance`.

    Attributes
    ----------
    within : float
        Mean distance of two draws of one chain.
    between : float
        Mean distance of two draws of different chains; NaN for a single chain.
    ratio : float
        √(mean squared distance of any two draws / the same within chains). Like R-hat, it is near 1
        if the chains agree; NaN for a single chain.
    r_hat : float
        R-hat of the distance to a reference draw, the worst of twenty that are spread over the
        chains; NaN for a single chain, or if there are too few draws.
    ess : float
        Effective sample size of the same, the median; NaN if there are too few draws.
    n_chains, n_draws : int
        Chains, and draws of each that were compared.
    """

    within: float
    between: float
    ratio: float
    r_hat: float
    ess: float
    n_chains: int
    n_draws: int

    def agrees(self, limit: float = R_HAT_LIMIT) -> bool | None:
        """Return whether the chains agree on the tree; None if there is nothing to compare."""
        if math.isnan(self.ratio):
            return None
        return self.ratio <= limit and not self.r_hat > limit

    def in_words(self, limit: float = R_HAT_LIMIT) -> str:
        """Return a sentence that says whether the chains agree, and what to do if not."""
        if math.isnan(self.ratio):
            few = "one chain only" if self.n_chains < 2 else "too few draws"
            return (
                f"{few}: whether chains agree on the tree cannot be judged "
                f"(two draws of a chain are {self.within:.3f} apart)"
            )
        numbers = f"ratio {r_hat_text(self.ratio, limit)}"
        if not math.isnan(self.r_hat):
            numbers += f", R-hat {r_hat_text(self.r_hat, limit)}"
        judged = agreement(np.fmax(self.ratio, self.r_hat), limit)
        if judged == "agree":
            return (
                "chains agree: trees of different chains are as near to each other as those of one "
                f"({numbers})"
            )
        return (
            f"chains {judged}: trees of different chains differ more than those of one "
            f"({numbers}, where at most {limit:g} would be fine); run longer"
        )


def tree_space(posterior: Posterior, n_draws: int = 100, *, n_pairs: int = 2_000) -> TreeSpace:
    """Compare the trees of a posterior within chains and between them.

    Parameters
    ----------
    posterior : Posterior
        Draws of one or several chains.
    n_draws : int
        Draws of each chain that are compared, spread evenly; only those that have labels.
    n_pairs : int
        Pairs of data whose meetings are compared, a fixed random sample.

    Returns
    -------
    TreeSpace
        Distances, and a sentence about them.
    """
    n_draws = check_integer("n_draws", n_draws, minimum=2)
    if posterior.n_draws < 1:
        raise ParameterError(
            "posterior", posterior, "at least one draw of every chain", verb="have", shown="none"
        )
    chains = [[draw for draw in chain if draw.labelled] for chain in posterior.chains]
    n_known = min(map(len, chains))
    if n_known < 1:
        expected = "a draw of every chain that has kept the labels of the rows"
        raise ParameterError("posterior", posterior, expected, verb="have", shown="a chain without")
    chains = [spread(chain[:n_known], min(n_draws, n_known)) for chain in chains]
    levels = _meeting_levels(chains, posterior.depth, n_pairs)
    n_chains, n_draws, _ = levels.shape
    squared = _squared_distances(levels.reshape(n_chains * n_draws, -1))
    chain = np.repeat(np.arange(n_chains), n_draws)
    two = ~np.eye(chain.size, dtype=bool)
    same = (chain[:, None] == chain) & two
    distance = np.sqrt(squared)
    ratio = math.nan
    if n_chains > 1 and n_draws > 1:
        ratio = _ratio(float(squared[two].mean()), float(squared[same].mean()))
    r_hat, ess = _of_distances(distance.reshape(-1, n_chains, n_draws))
    return TreeSpace(
        within=float(distance[same].mean()) if n_draws > 1 else math.nan,
        between=float(distance[two & ~same].mean()) if n_chains > 1 else math.nan,
        ratio=ratio,
        r_hat=r_hat,
        ess=ess,
        n_chains=n_chains,
        n_draws=n_draws,
    )


def _meeting_levels(chains: list[list[Draw]], depth: int, n_pairs: int) -> FloatArray:
    """Return where a sample of pairs meets in every draw, by depth: chains × draws × pairs."""
    from sticktree.tree.walk import meeting_nodes

    n_draws, n_data = len(chains[0]), chains[0][0].n_data
    if n_data < 2:
        return np.zeros((len(chains), n_draws, 1))
    rng = np.random.default_rng(0)
    i = rng.integers(n_data, size=n_pairs)
    j = (i + rng.integers(1, n_data, size=n_pairs)) % n_data
    levels = np.empty((len(chains), n_draws, n_pairs))
    for c, chain in enumerate(chains):
        for s, draw in enumerate(chain):
            first, second = (draw.leaf[rows].astype(np.int32) for rows in (i, j))
            levels[c, s] = draw.level[meeting_nodes(draw.parent.astype(np.int32), first, second)]
    return levels / max(depth, 1)


def _squared_distances(points: FloatArray) -> FloatArray:
    """Return the mean squared differences between all rows."""
    centred = points - points.mean(axis=0)
    product = centred @ centred.T / points.shape[1]
    norm = np.diag(product)
    squared: FloatArray = np.maximum(norm[:, None] + norm - 2.0 * product, 0.0)
    squared[squared < 1e-14] = 0.0  # rounding, where trees are the same
    return squared


def _ratio(every: float, within: float) -> float:
    if within == 0.0:
        return 1.0 if every == 0.0 else math.inf
    return math.sqrt(every / within)


def _of_distances(distance: FloatArray) -> tuple[float, float]:
    """Return R-hat and effective sample size of distances to reference draws."""
    if distance.shape[2] < 4:
        return math.nan, math.nan
    r_hat, ess = convergence(dict(enumerate(spread(list(distance), N_REFERENCES))))
    # A chain that is apart shows best in the distances to its own draws.
    worst = max((value for value in r_hat.values() if not math.isnan(value)), default=math.nan)
    return worst, float(np.median(list(ess.values()))) if ess else math.nan
