"""How many clusters there are, and how sure that is.

The number of clusters is a fact of the walk over all draws, and no parameter of the model; what can
be told of its uncertainty is how it differs between parts of the draws. It is found anew from each
chain alone, and from halves of all draws at random. The shares of the numbers found are P(k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sticktree.engine.draw import Draw
from sticktree.posterior.clusterings import spread
from sticktree.posterior.cutting import longest_lasting
from sticktree.posterior.walk import Part, Walk

N_PARTS = 16  # of the draws, that the number is found from
FEWEST = 8  # draws of a part
MOST = 30  # draws of a part: more change next to nothing


@dataclass(frozen=True)
class NumberOfClusters:
    """The number of clusters in parts of the draws.

    Attributes
    ----------
    found : list of int
        The number found from each part.
    n_chains : int
        How many of the parts, the first ones, are single chains; the others are random halves of
        all draws.
    """

    found: list[int]
    n_chains: int

    @property
    def probability(self) -> dict[int, float]:
        """The share of parts with each number of clusters, P(k)."""
        number, count = np.unique(self.found, return_counts=True)
        return dict(zip(number.tolist(), (count / len(self.found)).tolist(), strict=True))

    @property
    def mode(self) -> int:
        """The number that is found most often."""
        probability = self.probability
        return max(probability, key=lambda k: probability[k])

    def __repr__(self) -> str:
        """Return P(k), the likeliest first."""
        likely = sorted(self.probability.items(), key=lambda pair: -pair[1])
        return f"NumberOfClusters({', '.join(f'P({k}) = {share:.2f}' for k, share in likely)})"

    def __str__(self) -> str:
        """Return P(k) in words, and how it was obtained.

        Examples
        --------
        >>> print(NumberOfClusters([3, 3, 3, 2], 4))
        P(2) = 0.25, P(3) = 0.75: numbers of clusters found from 4 single chains.
        """
        shares = ", ".join(f"P({k}) = {share:.2f}" for k, share in self.probability.items())
        halves = len(self.found) - self.n_chains
        parts = [f"{self.n_chains} single chain{'s' * (self.n_chains != 1)}"] * (self.n_chains > 0)
        parts += [f"{halves} random hal{'ves' if halves != 1 else 'f'}"] * (halves > 0)
        text = f"{shares}: numbers of clusters found from {' and '.join(parts)}"
        return f"{text} of all draws." if halves else f"{text}."


def number_of_clusters(
    chains: Sequence[Sequence[Draw]], stepped: Sequence[Part], rng: np.random.Generator
) -> NumberOfClusters:
    """Find the number of clusters from each chain alone, and from random halves of all draws.

    Parameters
    ----------
    chains : sequence of sequences of Draw
        The draws of each chain; those without labels do not count.
    stepped : sequence of Part
        What the walk steps in: the model's own draws, in whose place some of them are put, and
        those of models beside it, which stay.
    rng : numpy.random.Generator
        What chooses the halves.
    """
    known = [[draw for draw in chain if draw.labelled] for chain in chains]
    every = [draw for chain in known for draw in chain]
    alone = [chain for chain in known if len(chain) >= FEWEST] if len(known) > 1 else []
    some = [spread(chain, MOST) for chain in alone[:N_PARTS]]
    half = min(max(len(every) // 2, 1), MOST)
    while len(some) < N_PARTS:
        chosen = np.sort(rng.choice(len(every), half, replace=False))
        some.append([every[k] for k in chosen])
    own, *others = stepped
    walks = (Walk.of_parts([replace(own, draws=draws), *others], MOST) for draws in some)
    found = [longest_lasting(walk).n_clusters for walk in walks]
    return NumberOfClusters(found, min(len(alone), N_PARTS))
