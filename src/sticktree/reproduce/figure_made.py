"""What making a figure of the paper gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sticktree.reproduce.figure_shape import Parsimony

__all__ = ["Made"]


@dataclass(frozen=True, eq=False)
class Made:
    """A figure of the paper made anew, and what to write below it.

    Attributes
    ----------
    title : str
        A few words for a heading.
    caption : str
        What is to be seen, and how it was made.
    figures : list of (str, matplotlib Figure)
        Pictures, each with a name for its file.
    parsimony : mapping of str to Parsimony
        Of Figure 4: by the name of the model, how its trees branch over all draws.
    """

    title: str
    caption: str
    figures: list[tuple[str, Figure]]
    parsimony: Mapping[str, Parsimony] = field(default_factory=dict)
