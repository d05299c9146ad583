"""Looking whether an answer is stable, by draws alone; see `sticktree.posterior.settled`."""

from __future__ import annotations

from collections.abc import Mapping

from sticktree.engine.draw import Draw
from sticktree.inference.course import Look
from sticktree.inference.runner import in_threads
from sticktree.inference.selection import clearly_worse
from sticktree.model import Model
from sticktree.posterior.clusterings import spread
from sticktree.posterior.settled import (
    LOOKED_AT,
    Yardstick,
    cluster_agreement,
    clusters_agree,
    elpd_agrees,
    halves,
    tolerance,
)


def look_at(
    pairs: Mapping[int, tuple[list[Draw], list[Draw]]],
    n_sweeps: int,
    model: Model,
    yardstick: Yardstick,
    n_jobs: int,
) -> Look:
    """Look at the draws of chains, by their numbers: those before, and those now."""
    used = [spread(part, LOOKED_AT) for pair in pairs.values() for part in pair]
    found = in_threads(n_jobs, yardstick.densities, used)
    yardstick.forget([draw for draws in used for draw in draws])
    before = dict(zip(pairs, found[::2], strict=True))
    now = dict(zip(pairs, found[1::2], strict=True))
    alone = {str(k): yardstick.pooled([densities]) for k, densities in now.items()}
    stuck = {int(k) for k in clearly_worse(alone)}
    left = [k for k in pairs if k not in stuck]
    whole = yardstick.pooled([now[k] for k in left])
    n_rows = whole.pointwise.size
    a, b = (yardstick.pooled(half).elpd / n_rows for half in halves([list(now[k]) for k in left]))
    earlier = yardstick.pooled([before[k] for k in left]).elpd / n_rows
    r = cluster_agreement(*halves([pairs[k][1] for k in left]), model.depth)
    limit, change, difference = tolerance(whole), whole.elpd / n_rows - earlier, a - b
    agreed = elpd_agrees(difference, limit) and clusters_agree(r)
    return Look(
        n_sweeps=n_sweeps,
        chains=tuple(pairs),
        stuck=tuple(sorted(stuck)),
        elpd=whole.elpd / n_rows,
        change=change,
        difference=difference,
        tolerance=limit,
        agreement=r,
        settled=bool(abs(change) < limit and agreed),
        agreed=bool(agreed),
    )
