"""Kernels that other kernels call only, made callable from tests."""

import numba

from sticktree.engine.common import random
from sticktree.engine.shared import branches, datum, near, regraft, seats


def compiled(kernel):
    return numba.njit(lambda *arguments: kernel(*arguments))


bound_of_branches = compiled(seats.bound_of_branches)
crosses = compiled(regraft._crosses)
integer = compiled(random.integer)
log_density = compiled(branches.log_density)
measure = compiled(near.measure)
reach = compiled(near.reach)
tail = compiled(seats.tail)
take_out = compiled(datum._take_out)
uniform = compiled(random.uniform)
weigh_leaf = compiled(near.weigh_leaf)
weigh_near = compiled(near.weigh_near)
