"""A chain that moves data one by one and hyper-parameters, but no subtrees and no clusters."""

from __future__ import annotations

from sticktree.engine.chain import Move
from sticktree.engine.shared.chain import Chain


class DatumOnly(Chain):
    def moves(self) -> list[Move]:
        kept = ("datum", "missing", "concentration", "scales")
        return [move for move in super().moves() if move.name in kept]
