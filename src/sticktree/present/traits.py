"""What is typical of a cluster, in words: the few of its markers that are worth them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice

from sticktree.posterior.markers import Marker, Markers
from sticktree.present.table import number, shortened

LEAST_EFFECT = 0.5  # for a column to be worth a word: what Cohen calls a medium effect
LEAST_EVIDENCE = 0.95
MOST_TRAITS = 3  # of a cluster
NAME_LENGTH = 40


@dataclass(frozen=True)
class Trait:
    """A marker of a cluster in words.

    Examples
    --------
    >>> from sticktree.posterior.markers import Marker
    >>> from sticktree.present.traits import Trait
    >>> effect = {"effect_low": -2.5, "effect_high": -1.5, "p_higher": 0.0, "note": ""}
    >>> rest = effect | {"ratio": float("nan"), "rows_inside": 9, "rows_outside": 20}
    >>> trait = Trait(Marker(0, "height", "gaussian", None, 1.5, 1.8, effect=-2.0, **rest))
    >>> trait.brief(), trait.full()
    ('height 1.5 (low)', 'height 1.5 (others 1.8: −2.0 sd)')
    >>> trait = Trait(Marker(0, "sex", "categorical", "f", 0.9, 0.4, effect=1.1, **rest))
    >>> trait.brief(), trait.full()
    ('sex f (90%)', 'sex f (90%, of others 40%)')
    """

    marker: Marker

    @property
    def column(self) -> str:
        """The column, shortened."""
        return shortened(self.marker.column, NAME_LENGTH)

    def brief(self) -> str:
        """Return the column and the value inside."""
        one = self.marker
        if one.category is not None:
            return f"{self.column} {one.category} ({one.inside:.0%})"
        return f"{self.column} {number(one.inside)} ({'low' if one.effect < 0 else 'high'})"

    def full(self) -> str:
        """Return the same with the value outside and the effect."""
        one = self.marker
        if one.category is not None:
            return f"{self.column} {one.category} ({one.inside:.0%}, of others {one.outside:.0%})"
        outside, effect = number(one.outside), effect_text(one.effect)
        return f"{self.column} {number(one.inside)} (others {outside}: {effect} sd)"


def effect_text(effect: float) -> str:
    """Return an effect with its sign.

    Examples
    --------
    >>> from sticktree.present.traits import effect_text
    >>> effect_text(-2.04), effect_text(float("inf"))
    ('−2.0', '+∞')
    """
    if math.isfinite(effect):
        text = f"{round(effect, 1) + 0.0:+.1f}"  # adding 0 makes 0 of −0
    else:
        text = f"{effect:+}".replace("inf", "∞")
    return text.replace("-", "−")


def traits(markers: Markers, k: int) -> list[Trait]:
    """Return what is typical of the ``k``-th cluster: up to three markers.

    A column in which it has one value has no evidence, and counts by its effect.
    """
    telling = (
        Trait(one)
        for one in markers.of(k)
        if abs(one.effect) >= LEAST_EFFECT and not one.evidence < LEAST_EVIDENCE
    )
    return list(islice(telling, MOST_TRAITS))
