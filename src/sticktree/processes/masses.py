"""Mass sequences and the fragmentation operator: the paper's space 𝒮 and its ``Frag``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sticktree.checks import FloatArray, check_masses, check_positive

__all__ = ["Masses", "frag"]


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
        raise ValueError(
            f"parts must hold one Masses per block: {len(masses)} blocks, got {len(parts)}"
        )
    pieces = [mass * part.values for mass, part in zip(masses.values, parts, strict=True)]
    lost = sum(mass * part.remainder for mass, part in zip(masses.values, parts, strict=True))
    return Masses(np.concatenate([*pieces, np.empty(0)]), masses.remainder + float(lost))
