"""Exact posteriors of a few rows whose groups have parents, and states that are draws from them."""

import itertools

import numpy as np

from sticktree.processes.groups import group_counts
from sticktree.processes.parents import eldest_first


def all_seatings(tree, groups, parents):
    """Yield all tables that data of groups may have sat at, and those that went to parents."""
    counts = group_counts(tree, groups, len(parents))
    counts[0] = 0
    youngest_first = eldest_first(np.asarray(parents))[::-1]
    shape = counts.shape

    def ways(customers, left):
        """Yield tables and routed ones of groups that are left, at one edge."""
        if not left:
            yield {}
            return
        j, above = left[0], parents[left[0]]
        n = customers[j]
        for m in range(int(n > 0), n + 1):
            for r in range(m + 1 if above >= 0 else 1):
                more = list(customers)
                if above >= 0:
                    more[above] += r
                for others in ways(more, left[1:]):
                    yield {j: (m, r)} | others

    edges = [list(ways(n.tolist(), youngest_first)) for n in counts]
    for chosen in itertools.product(*edges):
        tables, routed = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
        for k, edge in enumerate(chosen):
            for j, (m, r) in edge.items():
                tables[k, j], routed[k, j] = m, r
        yield tables, routed
