"""A chain that moves data one by one and hyper-parameters, but no subtrees and no clusters."""

from __future__ import annotations

from sticktree.engine.shared.chain import Chain, SweepInfo
from sticktree.engine.shared.datum import datum_sweep


class DatumOnly(Chain):
    def sweep(self) -> SweepInfo:
        moved = datum_sweep(self.state, self.words)
        self.move_concentration()
        self.move_scales()
        return SweepInfo(moved)
