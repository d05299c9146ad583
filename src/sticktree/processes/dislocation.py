"""Mass sequences, and dislocation laws: how one stick breaks.

Mass sequences are the paper's space 𝒮, with its operator ``Frag``.

A law breaks many sticks at once. Sticks that would break into infinitely many pieces are broken
until what is left of them weighs less than ``truncation``; what is left is kept and reported. As
no piece of it can outweigh it, every piece of at least that mass is there, with its exact law.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import (
    FloatArray,
    IntArray,
    check_discount,
    check_fraction,
    check_generator,
    check_integer,
    check_masses,
    check_positive,
    is_real,
)
from sticktree.errors import ParameterError


@dataclass(frozen=True, eq=False, init=False)
class Masses:
    """A decreasing sequence of block masses that, with its remainder, sums to one.

    Parameters
    ----------
    values : sequence of float
        Masses of the blocks, in any order; blocks of mass zero are dropped.
    remainder : float, default=0
        Mass that is not resolved into blocks: what truncation left over, and dust.

    Examples
    --------
    >>> from sticktree.processes import Masses
    >>> Masses([0.2, 0.5], remainder=0.3).values
    array([0.5, 0.2])
    """

    values: FloatArray
    remainder: float

    def __init__(self, values: Sequence[float] | FloatArray, remainder: float = 0.0) -> None:
        remainder = check_positive("remainder", remainder, zero=True)
        blocks = check_masses("values", values, total=1 - remainder)
        blocks = -np.sort(-blocks[blocks > 0])
        blocks.setflags(write=False)
        object.__setattr__(self, "values", blocks)
        object.__setattr__(self, "remainder", remainder)

    @classmethod
    def unit(cls) -> Masses:
        """Return (1, 0, 0, …), where every fragmentation starts."""
        return cls([1.0])

    def __len__(self) -> int:
        """Return the number of blocks."""
        return self.values.size

    def __repr__(self) -> str:
        """Show the largest blocks and the remainder."""
        largest = ", ".join(f"{value:.4g}" for value in self.values[:4])
        dots = ", …" if len(self) > 4 else ""
        return f"Masses([{largest}{dots}], n_blocks={len(self)}, remainder={self.remainder:.4g})"


def frag(masses: Masses, parts: Sequence[Masses]) -> Masses:
    """Break block i of ``masses`` into the proportions ``parts[i]``: the paper's ``Frag``.

    Examples
    --------
    >>> from sticktree.processes import Masses, frag
    >>> halves = Masses([0.5, 0.5])
    >>> frag(Masses([0.6, 0.4]), [halves, Masses.unit()])
    Masses([0.4, 0.3, 0.3], n_blocks=3, remainder=0)
    """
    if len(parts) != len(masses):
        raise ParameterError(
            "parts",
            parts,
            f"one Masses per block: {len(masses)} blocks",
            verb="hold",
            shown=f"{len(parts)}",
        )
    pieces = [mass * part.values for mass, part in zip(masses.values, parts, strict=True)]
    lost = sum(mass * part.remainder for mass, part in zip(masses.values, parts, strict=True))
    return Masses(np.concatenate([*pieces, np.empty(0)]), masses.remainder + float(lost))


@dataclass(frozen=True, eq=False)
class Pieces:
    """What sticks broke into.

    Attributes
    ----------
    stick : int array, shape (P,)
        The stick each piece came from; pieces of one stick are contiguous and in the order in
        which they were broken off.
    mass : float array, shape (P,)
        Mass of each piece.
    unbroken : float array, shape (S,)
        What is left of each stick. Pieces and rest add up to the stick.
    """

    stick: IntArray
    mass: FloatArray
    unbroken: FloatArray


class Dislocation(ABC):
    """A law by which a stick breaks into pieces; sticks break independently of each other."""

    @abstractmethod
    def break_sticks(
        self, masses: FloatArray, rng: np.random.Generator, truncation: float
    ) -> Pieces:
        """Break every stick of the given masses."""

    def sample(self, rng: np.random.Generator, truncation: float = 1e-6) -> Masses:
        """Break one stick of mass 1.

        Examples
        --------
        >>> import numpy as np
        >>> from sticktree.processes import PoissonDirichlet
        >>> masses = PoissonDirichlet(1.0).sample(np.random.default_rng(0))
        >>> bool(masses.remainder < 1e-6)
        True
        """
        check_generator(rng)
        check_fraction("truncation", truncation)
        pieces = self.break_sticks(np.ones(1), rng, truncation)
        return Masses(pieces.mass, float(pieces.unbroken[0]))


class PoissonDirichlet(Dislocation):
    """The Poisson–Dirichlet law, by stick breaking: ν_k ~ Beta(1 − d, α + k d).

    This is the dislocation law of the Dirichlet fragmentation process. Pieces come off in
    size-biased order.

    Parameters
    ----------
    concentration : float
        α > −d. Infinity is allowed and turns the stick to dust: it stays whole in ``unbroken``.
    discount : float, default=0
        d in [0, 1); above 0 this is the two-parameter law of Pitman and Yor.
    max_pieces : int, default=10_000
        At most about this many pieces come off one stick. With a large discount what is left of a
        stick shrinks so slowly that no truncation would be reached; it is then larger than asked
        for, and reported as it is.
    """

    def __init__(
        self, concentration: float, discount: float = 0.0, *, max_pieces: int = 10_000
    ) -> None:
        self.discount = check_discount(discount)
        if self.discount == 0:
            self.concentration = check_positive("concentration", concentration, infinite=True)
        elif is_real(concentration) and concentration > -self.discount:
            self.concentration = float(concentration)
        else:
            raise ParameterError(
                "concentration",
                concentration,
                f"a number greater than {-self.discount:g}, the discount below 0",
            )
        self.max_pieces = check_integer("max_pieces", max_pieces, minimum=1)

    def break_sticks(
        self, masses: FloatArray, rng: np.random.Generator, truncation: float
    ) -> Pieces:
        """Break every stick of the given masses."""
        left = masses.copy()
        stick = [np.empty(0, dtype=np.int32)]
        mass = [np.empty(0)]
        active = np.flatnonzero(left >= truncation).astype(np.int32)
        if np.isinf(self.concentration):
            active = active[:0]
        done, width = 0, 4
        while active.size and done < self.max_pieces:
            # `width` breaks of every active stick at once; those past truncation are not used.
            k = np.arange(done + 1, done + width + 1)
            size = (active.size, width)
            fraction = rng.beta(1 - self.discount, self.concentration + k * self.discount, size)
            after = left[active, None] * np.cumprod(1 - fraction, axis=1)
            before = np.concatenate([left[active, None], after[:, :-1]], axis=1)
            used = before >= truncation
            stick.append(np.broadcast_to(active[:, None], size)[used])
            mass.append((before - after)[used])
            left[active] = np.take_along_axis(after, used.sum(axis=1, keepdims=True) - 1, 1)[:, 0]
            active = active[left[active] >= truncation]
            done, width = done + width, min(2 * width, 1024)
        owner, pieces = np.concatenate(stick), np.concatenate(mass)
        order = np.argsort(owner, kind="stable")
        return Pieces(owner[order], pieces[order], left)


class BetaSplit(Dislocation):
    """Binary splits with a symmetric Beta(a, a) fraction, as in Aldous' beta-splitting trees.

    Parameters
    ----------
    shape : float
        a > 0: 1 splits uniformly, large values split in halves, small ones chip.
    """

    def __init__(self, shape: float) -> None:
        self.shape = check_positive("shape", shape)

    def break_sticks(
        self, masses: FloatArray, rng: np.random.Generator, truncation: float
    ) -> Pieces:
        """Break every stick of the given masses."""
        fraction = rng.beta(self.shape, self.shape, masses.size)
        first = masses * fraction
        mass = np.stack([first, masses - first], axis=1).ravel()
        stick = np.repeat(np.arange(masses.size, dtype=np.int32), 2)
        return Pieces(stick, mass, np.zeros(masses.size))


class FixedSplit(Dislocation):
    """Every stick breaks in the same given proportions; what they leave of 1 stays unbroken."""

    def __init__(self, proportions: npt.ArrayLike) -> None:
        self.proportions = check_masses("proportions", proportions, total=None)

    def break_sticks(
        self, masses: FloatArray, rng: np.random.Generator, truncation: float
    ) -> Pieces:
        """Break every stick of the given masses."""
        mass = masses[:, None] * self.proportions
        stick = np.repeat(np.arange(masses.size, dtype=np.int32), self.proportions.size)
        return Pieces(stick, mass.ravel(), np.maximum(masses - mass.sum(axis=1), 0.0))


class CallableSplit(Dislocation):
    """A law of the user's: ``proportions(rng)`` returns masses that sum to at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes import CallableSplit
    >>> thirds = CallableSplit(lambda rng: rng.dirichlet([1, 1, 1]))
    >>> len(thirds.sample(np.random.default_rng(0)))
    3
    """

    def __init__(self, proportions: Callable[[np.random.Generator], npt.ArrayLike]) -> None:
        if not callable(proportions):
            raise ParameterError(
                "proportions", proportions, "a callable that takes a numpy Generator"
            )
        self.proportions = proportions

    def break_sticks(
        self, masses: FloatArray, rng: np.random.Generator, truncation: float
    ) -> Pieces:
        """Break every stick of the given masses."""
        parts = [
            mass * check_masses("proportions(rng)", self.proportions(rng), total=None)
            for mass in masses
        ]
        stick = np.repeat(np.arange(masses.size, dtype=np.int32), [part.size for part in parts])
        unbroken = masses - np.array([part.sum() for part in parts])
        return Pieces(stick, np.concatenate([*parts, np.empty(0)]), np.maximum(unbroken, 0.0))
