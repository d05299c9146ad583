"""Whether to trust a fit, in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

__all__ = ["R_HAT_LIMIT", "Verdict", "scalar_name", "verdict"]

R_HAT_LIMIT = 1.05
R_HAT_FAR = 1.2
FEW = 100  # effective draws, with fewer of which averages are rough

NAMES = {
    "log_joint": "log joint density",
    "concentration": "concentration c",
    "discount": "discount d",
    "meeting_level": "mean level at which rows meet",
}


@dataclass(frozen=True)
class Verdict:
    """Whether the chains agree, as one sentence and one word."""

    tone: Literal["good", "doubtful", "bad"]
    text: str


def scalar_name(label: str) -> str:
    """Return a scalar's name in words.

    Examples
    --------
    >>> from sticktree.present.verdict import scalar_name
    >>> scalar_name("nodes[1]"), scalar_name("concentration")
    ('branches at level 2', 'concentration c')
    """
    level = re.fullmatch(r"nodes\[(\d+)\]", label)
    if level:
        return f"branches at level {int(level[1]) + 1}"
    column = re.fullmatch(r"hyper\[(\d+)\]", label)
    if column:
        return f"hyper-parameter {int(column[1]) + 1} of the leaves"
    return NAMES.get(label, label.replace("_", " "))


def verdict(estimator: Any) -> Verdict:
    """Judge the chains of a fit."""
    diagnosis = getattr(estimator, "diagnosis_", None)
    r_hat: dict[str, float] = {} if diagnosis is None else dict(diagnosis.r_hat)
    ess: dict[str, float] = {} if diagnosis is None else dict(diagnosis.ess)
    posterior = getattr(estimator, "posterior_", None)
    if not r_hat:
        if posterior is not None and posterior.n_chains == 1:
            return Verdict(
                "doubtful",
                "There is one chain only, so nothing tells whether it has converged: it takes "
                "several, such as four, to find out.",
            )
        return Verdict(
            "doubtful",
            "There are too few draws, or nothing varies between them: convergence cannot be "
            "judged. Fit with more draws to find out.",
        )
    finite = {name: value for name, value in r_hat.items() if not np.isnan(value)}
    worst = max(finite, key=lambda name: finite[name], default=None)
    if worst is not None and finite[worst] > R_HAT_LIMIT:
        value = finite[worst]
        bad = sum(x > R_HAT_LIMIT for x in finite.values())
        shown = "infinite" if np.isinf(value) else f"{value:.2f}"
        text = (
            f"Run longer: R-hat of {scalar_name(worst)} is {shown}, and should be at most "
            f"{R_HAT_LIMIT}; {bad} of {len(r_hat)} scalars are above it. "
        )
        if value > R_HAT_FAR:
            return Verdict("bad", text + "The chains disagree: do not rely on this tree yet.")
        return Verdict("doubtful", text + "The chains nearly agree: details may still change.")
    smallest = min(ess, key=lambda name: ess[name], default=None)
    text = "The chains agree"
    if worst is not None:
        text += f": the largest R-hat is {finite[worst]:.2f} ({scalar_name(worst)})"
    text += "."
    if smallest is not None:
        text += (
            f" The smallest effective sample size is {ess[smallest]:.0f} ({scalar_name(smallest)})."
        )
        if ess[smallest] < FEW:
            text += " That is little: averages are rough, and more draws would help."
            return Verdict("doubtful", text)
    return Verdict("good", text)
