"""Do the estimator's defaults converge, and how long do they take?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from benchmarks.folder import TITLES, on_data
from benchmarks.table import Row, Target, duration, verdict
from benchmarks.timing import seconds_of
from sticktree import DFPMixture
from sticktree.checks import FloatArray

R_HAT = Target(1.05)
SECONDS = Target(120, "s")


def rows(quick: bool = False) -> Iterator[Row]:
    shorter = {"n_warmup": 20, "n_draws": 20} if quick else {}
    for name in ("r15", "aggregation", "glass"):
        what = f"four chains of DFPMixture(), largest R-hat, {TITLES[name]}"

        def measure(data: FloatArray, what: str = what) -> Iterator[Row]:
            yield converge(what, data, **shorter)

        yield from on_data(name, what, measure)


def converge(what: str, data: FloatArray, **parameters: Any) -> Row:
    mixture = DFPMixture(random_state=0, progress=False, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        DFPMixture(n_chains=1, n_warmup=2, n_draws=4, progress=False).fit(data[:50])  # compiles
        seconds = seconds_of(lambda: mixture.fit(data))
    r_hat = mixture.diagnosis_.r_hat
    worst = max(r_hat, key=lambda scalar: r_hat[scalar])
    return Row(
        what,
        ours=duration(seconds),
        figure=f"{r_hat[worst]:.3f} ({worst})",
        target=f"{R_HAT}, {SECONDS}",
        verdict=verdict(R_HAT.met(r_hat[worst]) and SECONDS.met(seconds)),
    )
