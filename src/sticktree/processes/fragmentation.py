"""Fragmentation chains: mass fragmentation over discrete steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sticktree.checks import (
    FloatArray,
    check_fraction,
    check_generator,
    check_integer,
    check_positive,
    is_integer,
)
from sticktree.errors import ParameterError
from sticktree.processes.dislocation import Dislocation, Masses
from sticktree.processes.mass_tree import MassTree, break_recursively


@dataclass(frozen=True, eq=False)
class Fragmentation:
    """One realisation of a fragmentation chain.

    Attributes
    ----------
    mass_tree : MassTree
        Every piece with its genealogy; level k holds the pieces after k splits.
    times : float array, shape (n_steps,)
        When the splits happen.
    """

    mass_tree: MassTree
    times: FloatArray

    def masses(self, step: int) -> Masses:
        """Return π after ``step`` splits."""
        if not is_integer(step) or not 0 <= step <= self.times.size:
            raise ParameterError("step", step, f"an integer between 0 and {self.times.size}")
        return self.mass_tree.masses(step)

    def at(self, time: float) -> Masses:
        """Return π(t): the masses after all splits up to and including ``time``."""
        check_positive("time", time, zero=True, infinite=True)
        return self.masses(int(np.searchsorted(self.times, time, side="right")))


class FragmentationChain:
    """A mass fragmentation in which all sticks split at the same, given times.

    Parameters
    ----------
    dislocation : Dislocation or sequence of Dislocation
        How a stick breaks: one law for all steps, or one per step.
    splitting_times : callable or array, optional
        The deterministic function of the paper: ``splitting_times(k)`` is the time of the k-th
        split, k = 1, 2, …; by default k itself. An array lists the times.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes import FixedSplit, FragmentationChain
    >>> chain = FragmentationChain(FixedSplit([0.5, 0.5]), splitting_times=lambda k: 1 - 2.0**-k)
    >>> halving = chain.sample(3, np.random.default_rng(0))
    >>> halving.at(0.8)
    Masses([0.25, 0.25, 0.25, 0.25], n_blocks=4, remainder=0)
    """

    def __init__(
        self,
        dislocation: Dislocation | Sequence[Dislocation],
        splitting_times: Callable[[int], float] | npt.ArrayLike | None = None,
    ) -> None:
        laws = list(dislocation) if isinstance(dislocation, Sequence) else [dislocation]
        if not laws:
            raise ParameterError(
                "dislocation",
                dislocation,
                "at least one law",
                verb="hold",
                shown="an empty sequence",
            )
        for law in laws:
            if not isinstance(law, Dislocation):
                raise ParameterError("dislocation", law, "a Dislocation or a list of them")
        self.dislocation = laws if isinstance(dislocation, Sequence) else dislocation
        self.splitting_times = splitting_times

    def sample(
        self, n_steps: int, rng: np.random.Generator, truncation: float = 1e-4
    ) -> Fragmentation:
        """Start from the unit stick and split ``n_steps`` times.

        All blocks of at least ``truncation`` have their exact law; the mass of the others is in
        the remainder.
        """
        n_steps = check_integer("n_steps", n_steps, minimum=1)
        check_generator(rng)
        check_fraction("truncation", truncation)
        times = self._times(n_steps)
        return Fragmentation(break_recursively(self._laws(n_steps), rng, truncation), times)

    def _laws(self, n_steps: int) -> list[Dislocation]:
        if isinstance(self.dislocation, Dislocation):
            return [self.dislocation] * n_steps
        if len(self.dislocation) < n_steps:
            raise ParameterError(
                "n_steps",
                n_steps,
                f"at most {len(self.dislocation)}, the number of dislocation laws",
                shown=f"{n_steps}",
            )
        return list(self.dislocation[:n_steps])

    def _times(self, n_steps: int) -> FloatArray:
        times: Any = self.splitting_times
        if times is None:
            times = range(1, n_steps + 1)
        elif callable(times):
            times = [times(k) for k in range(1, n_steps + 1)]
        try:
            times = np.array(times, dtype=np.float64)[:n_steps]
            increasing = bool((np.diff(times, prepend=0.0) > 0).all())
        except (TypeError, ValueError, IndexError):
            increasing = False
        if not increasing or times.shape != (n_steps,):
            raise ValueError(
                f"splitting_times must give {n_steps} increasing times above 0, got {times}"
            )
        return cast("FloatArray", times)
