"""Which kind a column is: the one by which its cells predict each other best, left out in turn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sticktree.data.columns import read_table
from sticktree.data.contents import Content
from sticktree.data.frames import Raw, read
from sticktree.data.planning import TablePlan, plan_table
from sticktree.data.training import TrainingData
from sticktree.fit import Fit
from sticktree.inference.fitting import Plan, sample_posterior
from sticktree.inference.parameters import PARAMETERS
from sticktree.inference.showing import showing
from sticktree.posterior.clusterings import spread

MOST_ROWS = 500  # of a column, that kinds are compared on
SHORT = {"depth": 2, "covariance_type": "diag", "leaf_noise": "own", "n_chains": 2}
SHORT |= {"n_warmup": 30, "n_draws": 30, "progress": False, "n_jobs": 1}
# A density is no probability: where values are whole numbers, that of a narrow Gaussian of the
# least variance, 1/12, is √(12/2π) times the most that the probability of a value can be.
OF_DENSITY = 0.5 * math.log(12.0 / (2.0 * math.pi))


@dataclass(frozen=True)
class Preferred:
    """The kind that leave-one-out prefers for a column.

    Attributes
    ----------
    kind : str
        The kind.
    elpd : dict of float
        Mean leave-one-out log density of a row by each kind, in nats, in the units of the column;
        of whole numbers as a Gaussian column, less 0.32, which is what a density may be ahead of a
        probability by nature.
    """

    kind: str
    elpd: dict[str, float]

    def words(self) -> str:
        """Return the comparison in words."""
        order = sorted(self.elpd, key=lambda kind: -self.elpd[kind])
        return ", ".join(f"{kind} {self.elpd[kind]:.2f}" for kind in order)


def preferred_kinds(
    X: Any,  # noqa: N803
    plan: TablePlan | None = None,
    *,
    random_state: int = 0,
    progress: bool | None = False,
) -> dict[Any, Preferred]:
    """Compare the kinds that columns in question may be, by leave-one-out densities.

    Each column is fitted by itself, by short chains of a mixture, once as every kind that the plan
    suggests and once as a gaussian one.

    Parameters
    ----------
    X : DataFrame of pandas or polars
        The table.
    plan : TablePlan or None, default=None
        What its columns are; None makes the plan of :func:`sticktree.plan_table`.
    random_state : int, default=0
        The seed of the chains.
    progress : bool or None, default=False
        Whether to say how far it is; None asks the terminal.

    Returns
    -------
    dict of Preferred
        By the names of the columns in question; others are not in it.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sticktree import preferred_kinds
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"dose": rng.lognormal(0, 1.5, 60), "size": rng.normal(0, 1, 60)})
    >>> {name: found.kind for name, found in preferred_kinds(frame).items()}
    {'dose': 'lognormal'}
    """
    plan = plan_table(X) if plan is None else plan
    raws = {raw.name: raw for raw in read(X)[0]}
    found = {}
    with showing(progress) as line:
        line.say(f"comparing kinds of {len(plan.open)} columns", len(plan.open))
        for k, (name, kinds) in enumerate(plan.open.items()):
            seed = np.random.SeedSequence([random_state, k])
            found[name] = _preferred(raws[name], ("gaussian", *kinds), seed)
            line.step()
    return found


def _preferred(raw: Raw, kinds: Sequence[str], seed: np.random.SeedSequence) -> Preferred:
    content = Content.of(raw)
    values = spread(content.present, MOST_ROWS)
    rows = np.asarray(values, dtype=np.float64)[:, None]
    elpd = {kind: _elpd(rows, kind, int(seed.generate_state(1)[0])) for kind in kinds}
    if content.is_whole and any(kind != "lognormal" for kind in kinds[1:]):
        elpd["gaussian"] -= OF_DENSITY
    return Preferred(max(elpd, key=lambda kind: elpd[kind]), elpd)


def _elpd(rows: Any, kind: str, seed: int) -> float:
    """Return the mean leave-one-out log density of rows of one column."""
    usual = {name: parameter.default for name, parameter in PARAMETERS.items()}
    plan = Plan.of(usual | SHORT | {"random_state": seed})
    training = TrainingData.of_table(read_table(rows, [kind]), None, True, "gibbs", None, None)
    sampled = sample_posterior(training, plan, None)
    loo = Fit(training, sampled, None, {}, None).loo("best")
    return loo.elpd / loo.pointwise.size


def with_preferred(plan: TablePlan, found: Mapping[Any, Preferred]) -> TablePlan:
    """Return a plan with the kinds that were preferred."""
    return plan.changed({name: preferred.kind for name, preferred in found.items()})
