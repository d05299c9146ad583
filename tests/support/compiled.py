"""Kernels that other kernels call only, made callable from tests."""

import numba

from sticktree.engine.common import random
from sticktree.engine.shared import datum, places, regraft, seats, state


def compiled(kernel):
    return numba.njit(lambda *arguments: kernel(*arguments))


bound_of_branches = compiled(seats.bound_of_branches)
crosses = compiled(regraft._crosses)
integer = compiled(random.integer)
log_density = compiled(places.log_density)
measure = compiled(places.measure)
reach = compiled(places.reach)
tail = compiled(state.tail)
take_out = compiled(datum._take_out)
uniform = compiled(random.uniform)
weigh_leaf = compiled(places.weigh_leaf)
weigh_near = compiled(places.weigh_near)
