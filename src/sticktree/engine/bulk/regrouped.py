"""Groups that come and go between two batches: rows in other numbers, sticks of other parents."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.engine.common.parents import LEAST, ParentedState
from sticktree.model import Line
from sticktree.tree.arrays import NULL

Places = npt.NDArray[np.int64]


def in_other_groups(seated: Places, place: Places, n_groups: int) -> Places:
    """Return rows of groups, (…, J), if group j is now number ``place[j]`` of ``n_groups``.

    Groups that are gone, or parents without rows from now on, have none.
    """
    out = np.zeros((len(seated), n_groups), dtype=np.int64)
    now = place[: seated.shape[1]]
    kept = (now >= 0) & (now < n_groups)
    out[:, now[kept]] = seated[:, kept]
    return out


def sticks_of_others(
    state: ParentedState, before: Line | None, after: Line | None, place: Places
) -> dict[str, Any]:
    """Return what a state has of parents if they are others now.

    Those that go on keep their sticks. The sticks of one that is new are what is expected of them,
    κ θ_elder + (1 − κ) β; as it has no rows yet, the next pass draws them from their law. A parent
    whose elder is another one now keeps its own: that is a state like any other.
    """
    members = [] if after is None else after.members.tolist()
    old = [] if before is None else place[before.members].tolist()
    kappa, sticks = state.kappa[0], {}
    for name, shared in (("theta", state.stick), ("theta_rest", state.rest)):
        logs = getattr(state, name)
        log_shared = np.log(np.maximum(shared, LEAST))
        mine = np.empty((*shared.shape, len(members)))
        for p, member in enumerate(members):  # elder ones first
            elder = NULL if after is None else int(after.elder[p])
            if member in old:
                mine[..., p] = logs[..., old.index(member)]
            elif elder == NULL:
                mine[..., p] = log_shared
            else:
                by_elder = np.log(kappa) + mine[..., elder]
                mine[..., p] = np.logaddexp(by_elder, np.log1p(-kappa) + log_shared)
        sticks[name] = mine
    if after is None:
        nobody = np.empty(0, dtype=np.int64)
        return {**sticks, "above": nobody, "direct": nobody, "elder": nobody}
    above, direct = np.append(after.above, NULL), np.append(after.direct, 0)
    return {**sticks, "above": above, "direct": direct, "elder": after.elder.copy()}
