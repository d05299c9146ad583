"""Have the chains converged? R-hat and effective sample sizes, and what to do about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sticktree.posterior.draws import Posterior

__all__ = ["ConvergenceWarning", "Diagnosis", "diagnose"]


class ConvergenceWarning(UserWarning):
    """The chains of a fit do not agree."""


@dataclass(frozen=True)
class Diagnosis:
    """R-hat and effective sample size of every scalar that varies."""

    r_hat: dict[str, float]
    ess: dict[str, float]

    def advice(self, limit: float = 1.05) -> str | None:
        """Return a sentence that says what disagrees and what to do, or None if all is well."""
        bad = {name: value for name, value in self.r_hat.items() if value > limit}
        if not bad:
            return None
        name = max(bad, key=lambda key: bad[key])
        return (
            f"the chains disagree: R-hat is {bad[name]:.2f} for {name}, more than {limit}, and "
            f"{len(bad)} of {len(self.r_hat)} scalars are like that. Run longer: a larger n_warmup "
            "and n_draws, or fit again with warm_start=True"
        )


def diagnose(posterior: Posterior) -> Diagnosis:
    """Compute R-hat (from two chains on) and effective sample sizes of the posterior's scalars."""
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    statistics: Any = array_stats
    r_hat, ess = {}, {}
    if posterior.n_draws >= 4:
        for name, values in posterior.columns().items():
            column = values.astype(np.float64)
            if np.ptp(column) == 0:
                continue
            ess[name] = float(statistics.ess(column, chain_axis=0, draw_axis=1))
            if posterior.n_chains > 1:
                # Chains that are constant, each at its own value, have an infinite R-hat.
                with np.errstate(divide="ignore", invalid="ignore"):
                    r_hat[name] = float(statistics.rhat(column, chain_axis=0, draw_axis=1))
    return Diagnosis(r_hat, ess)
