"""How sampling went: the looks that were taken at the answer, and what followed from each.

What comes next is a function of the looks so far, which depend on draws alone. So the same seed
gives the same result on any machine, and a run that was stopped goes on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any, NamedTuple

FIRST_LENGTH = 100  # sweeps of each chain before the first look
USUAL_CHAINS = 4
MOST_CHAINS = 8
LONGEST = 800  # sweeps of a chain, of as many chains as usual
LONGEST_OF_MORE = 400  # of more
# More chains beat longer ones where modes do not mix: on Glass 8 × 150 sweeps are 0.16 nats a row
# ahead of 4 × 600, and where eight disagree too, more sweeps of them cost more than they gain.
# Chains of 100 sweeps may disagree only since they are short.
LENGTH_OF_MORE = 200


@dataclass(frozen=True)
class Look:
    """One look at the answer.

    Attributes
    ----------
    n_sweeps : int
        Sweeps of each chain by then.
    chains : tuple of int
        Numbers of the chains that were looked at.
    stuck : tuple of int
        Those of them that predict so much worse than the best that they are dropped. All else is of
        the others.
    elpd : float
        Log density of a row given the others.
    change : float
        By how much that differs from what earlier draws say.
    difference : float
        By how much it differs between two halves of the chains.
    tolerance : float
        How much is too small to matter.
    agreement : float
        How well two halves of the chains agree on the tree of clusters, 1 if fully.
    settled : bool
        Whether the answer is stable.
    agreed : bool
        Whether two halves of the chains agree, on densities and on clusters.
    """

    n_sweeps: int
    chains: tuple[int, ...]
    stuck: tuple[int, ...]
    elpd: float
    change: float
    difference: float
    tolerance: float
    agreement: float
    settled: bool
    agreed: bool

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Look:
        """Return a look from its fields as JSON has them."""
        numbers = {name: tuple(fields[name]) for name in ("chains", "stuck")}
        return cls(**fields | numbers)

    @property
    def left(self) -> tuple[int, ...]:
        """Numbers of the chains that are not dropped."""
        return tuple(k for k in self.chains if k not in self.stuck)


class Aim(NamedTuple):
    """Chains that there are to be, dropped ones included, and the length of each.

    The length is in sweeps, if every sweep is a draw; where draws are ``thin`` sweeps apart, a
    chain has so many times more.
    """

    n_chains: int
    length: int


@dataclass(frozen=True)
class Course:
    """How sampling went.

    Attributes
    ----------
    looks : tuple of Look
        The looks that were taken at the answer.
    max_time : float or None
        The seconds that sampling was to take at most.
    out_of_time : bool
        Whether it ended by that: then the result depends on the speed of the machine.
    """

    looks: tuple[Look, ...] = ()
    max_time: float | None = None
    out_of_time: bool = False

    def __repr__(self) -> str:
        """Return what people should know of it."""
        said = " ".join(self.words()).rstrip(".")
        return f"Course({said or 'as long as was asked for'}; {len(self.looks)} looks)"

    def plus(self, look: Look) -> Course:
        """Return the course with one more look."""
        return replace(self, looks=(*self.looks, look))

    @property
    def settled(self) -> bool:
        """Whether the answer was stable at the end."""
        return bool(self.looks) and self.looks[-1].settled and not self.out_of_time

    @property
    def stuck(self) -> dict[int, int]:
        """The chains that were dropped, and sweeps of each by then."""
        return {k: look.n_sweeps for look in self.looks for k in look.stuck}

    def numbers(self, n_runs: int) -> list[int]:
        """Return the numbers of the chains that are left, of which there are so many.

        Where sampling ended within a round, some may have begun after the last look.
        """
        stuck = self.stuck
        return list(islice((k for k in count() if k not in stuck), n_runs))

    def aims(self, n_chains: int | None) -> list[Aim | None]:
        """Return what was to be done before every look, and what is to be done now.

        None is nothing more. The number of chains may be fixed.
        """
        aims: list[Aim | None] = [Aim(n_chains or USUAL_CHAINS, FIRST_LENGTH)]
        for look in self.looks:
            last = aims[-1]
            if last is None:  # looks after the end, when more draws were asked for
                break
            aims.append(_next(last, look, more=n_chains is None))
        return aims

    def words(self) -> Sequence[str]:
        """Return what people should know of it, one sentence each."""
        said = []
        if self.looks:
            last = self.looks[-1]
            what = f"{len(last.left)} chains of {last.n_sweeps} sweeps"
            if last.settled:
                said.append(f"Mean density and clusters were stable after {what}.")
            else:
                said.append(f"Mean density and clusters were not stable after {what}.")
        for k, n_sweeps in self.stuck.items():
            said.append(
                f"Chain {k + 1} was stuck: after {n_sweeps} sweeps it predicted far worse than the "
                "best, and was dropped."
            )
        if self.out_of_time:
            said.append(
                f"Sampling ended after max_time = {self.max_time:g} s: another machine may find "
                "something else."
            )
        return said


def _next(aim: Aim, look: Look, more: bool) -> Aim | None:
    """Return what follows from a look."""
    if look.settled:
        return None
    alone = len(look.left) < 2
    return _after(aim, alone or (not look.agreed and aim.length >= LENGTH_OF_MORE), more)


def _after(aim: Aim, apart: bool, more: bool) -> Aim | None:
    """Return what follows where the answer is not stable; there may be more chains if apart."""
    if more and apart:
        wider = Aim(2 * aim.n_chains, aim.length)
        return wider if wider.n_chains <= MOST_CHAINS and wider.length <= LONGEST_OF_MORE else None
    longer = Aim(aim.n_chains, 2 * aim.length)
    most = LONGEST if aim.n_chains <= USUAL_CHAINS else LONGEST_OF_MORE
    return longer if longer.length <= most else None


def most_left(aim: Aim, more: bool) -> int:
    """Return the most sweeps, of all chains, that may follow when an aim is reached.

    Examples
    --------
    >>> from sticktree.inference.course import Aim, most_left
    >>> most_left(Aim(4, 400), more=False)
    1600
    """
    costs = [0]
    for apart in (False, True):
        then = _after(aim, apart, more)
        if then is not None:
            cost = then.n_chains * then.length - aim.n_chains * aim.length
            costs.append(cost + most_left(then, more))
    return max(costs)
