"""A chain that moves data one by one and hyper-parameters, but no subtrees and no clusters."""

from __future__ import annotations

from sticktree.engine.chain import Chain, SweepInfo
from sticktree.engine.datum import datum_sweep


class DatumOnly(Chain):
    def sweep(self) -> SweepInfo:
        moved = datum_sweep(self.state, self.words)
        self.move_concentration()
        self.move_scales()
        return SweepInfo(moved)
