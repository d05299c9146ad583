"""Chains with own noise on a few rows, put where a test wants them and read back."""

import numpy as np

from sticktree.engine.bulk.own import OwnBulkChain
from sticktree.engine.bulk.partition import partition
from sticktree.engine.bulk.placement import ThreadPlacement
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.sums import Sums
from sticktree.engine.chain import Move
from sticktree.engine.common.franchise import franchise_move
from sticktree.engine.own.hyper import settle
from sticktree.engine.own.state import FORM, FULL, LOG_PSI
from tests.support.own import engine


class FixedChain(OwnBulkChain):
    """A chain that keeps all hyper-parameters."""

    def _moves_of_tree(self):
        moves = super()._moves_of_tree()
        return [*(move for move in moves if move.name != "parameters"), Move("phi", self._redraw)]

    def _redraw(self, count):
        engine.redraw_phi(self.state, self.words, np.zeros(0, dtype=bool))
        if self.grouped:  # sticks alone: nothing is learned
            franchise_move(self.state, self.words, *self._learned(), *self._learned_of_groups())
        return count


def chain_at(data, setting, rng, groups=None):
    """Return a chain that keeps the hyper-parameters of a setting, and those of groups."""
    part = partition(data, 0, None, None if groups is None else groups.of_row)
    model = engine.model_of(setting, groups=groups)
    chain = FixedChain(Rows(ThreadPlacement(part)), model, rng)
    chain.n_rounds = 1
    chain.state.variance[:] = setting.v
    if chain.state.sizes[FORM] == FULL:
        chain.state.psi[:] = setting.psi
        chain.state.scalars[LOG_PSI] = np.linalg.slogdet(setting.psi)[1]
    settle(chain.state)
    return chain


def replace_rows(chain, tree, shown, complete):
    """Give a chain other rows in the same leaves; ``complete`` is with what is imputed, if any."""
    chain.rows = Rows(ThreadPlacement(partition(shown, 0)))
    chain._set_grids()
    nodes = chain.state.order[tree.leaf]
    index = np.searchsorted(chain.leaves, nodes, sorter=np.argsort(chain.leaves))
    index = np.argsort(chain.leaves)[index]
    chain.sums = Sums.over(complete, index, chain.leaves.size, chain.kind)
    chain._settle()
