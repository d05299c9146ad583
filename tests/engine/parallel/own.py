"""Chains with own noise on a few rows, put where a test wants them and read back."""

import itertools

import numpy as np

from sticktree.engine.columns.hyper import settle
from sticktree.engine.columns.node_split import node_split_sweep
from sticktree.engine.columns.regraft import regraft_sweep
from sticktree.engine.columns.state import FORM, FULL, LOG_PSI
from sticktree.engine.parallel.leaf import Sums
from sticktree.engine.parallel.own_chain import OwnParallelChain
from sticktree.engine.parallel.partition import partition
from sticktree.engine.parallel.rows import (
    Extent,
    Halved,
    Picked,
    Seated,
    ThreadedRows,
    final_labels,
    join_picks,
    merge,
)
from tests.columns import engine


class FixedChain(OwnParallelChain):
    """A chain that keeps all hyper-parameters."""

    def _move_tree(self):
        regrafted = regraft_sweep(self.state, self.words, self.n_moves)
        split = node_split_sweep(self.state, self.words, self.n_moves)
        engine.redraw_phi(self.state, self.words, np.zeros(0, dtype=bool))
        return regrafted, split, self.n_moves


def chain_at(data, setting, rng):
    """Return a chain that keeps the hyper-parameters of a setting."""
    chain = FixedChain(ThreadedRows(partition(data, 0)), engine.model_of(setting), rng)
    chain.state.variance[:] = setting.v
    if chain.state.sizes[FORM] == FULL:
        chain.state.psi[:] = setting.psi
        chain.state.scalars[LOG_PSI] = np.linalg.slogdet(setting.psi)[1]
    settle(chain.state)
    return chain


def replace_rows(chain, tree, shown, complete):
    """Give a chain other rows in the same leaves; ``complete`` is with what is imputed, if any."""
    chain.rows = ThreadedRows(partition(shown, 0))
    chain._set_grids()
    nodes = chain.state.order[tree.leaf]
    index = np.searchsorted(chain.leaves, nodes, sorter=np.argsort(chain.leaves))
    index = np.argsort(chain.leaves)[index]
    chain.sums = Sums.over(complete, index, chain.leaves.size, chain.kind)
    chain._settle()


class PartedRows:
    """Rows in several partitions, each of which makes its passes by itself."""

    def __init__(self, x, cuts, n_threads=1, jitter=None):
        edges = [0, *cuts, len(x)]
        self._first = edges[:-1]
        self.parts = [
            ThreadedRows(partition(x[a:b], a, jitter), n_threads)
            for a, b in itertools.pairwise(edges)
        ]
        each = [rows.extent for rows in self.parts]
        self.extent = Extent(
            sum(e.n for e in each),
            max(e.largest for e in each),
            each[0].dimension,
            any(e.gaps for e in each),
        )
        for rows in self.parts:  # gains are summed on the grid of all rows
            rows.extent = rows.extent._replace(n=self.extent.n)

    def sample(self, salt, limit):
        return join_picks([rows.sample(salt, limit) for rows in self.parts])

    def products(self, grid):
        return sum(rows.products(grid) for rows in self.parts)

    def assign(self, told):
        seated = [rows.assign(told) for rows in self.parts]
        tally = seated[0].tally
        for some in seated[1:]:
            tally = merge(tally, some.tally)
        picked: Picked = join_picks([some.picked for some in seated])
        return Seated(tally, picked)

    def halve(self, units):
        halved = [rows.halve(units) for rows in self.parts]
        tally = halved[0].tally
        for some in halved[1:]:
            tally = merge(tally, some.tally)
        return Halved(tally, sum(some.gain for some in halved))

    def labels(self, of_leaf, of_half):
        out = np.empty(self.extent.n, dtype=np.int32)
        for rows in self.parts:
            final_labels(rows.part, rows.labelled, rows.sided, of_leaf, of_half, out, 0)
        return out
