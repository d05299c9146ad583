"""Kernels that other kernels call only, made callable from tests."""

import numba

from sticktree.engine.bulk import partition
from sticktree.engine.common import concentration, random
from sticktree.engine.shared import datum, messages, places, scales, seats, split_leaves, state
from sticktree.engine.shared import regraft as regrafts


def compiled(kernel):
    return numba.njit(lambda *arguments: kernel(*arguments))


attach = compiled(state.attach)
bound_of_branches = compiled(seats.bound_of_branches)
chi_square = compiled(random.chi_square)
complete = compiled(places._complete)
crosses = compiled(regrafts._crosses)
detach = compiled(state.detach)
evidence = compiled(split_leaves._evidence)
find_branch = compiled(places.find_branch)
find_far = compiled(places.find_far)
gamma = compiled(random.gamma)
gumbel = compiled(random.gumbel)
integer = compiled(random.integer)
list_rows = compiled(split_leaves._list_rows)
log_density = compiled(places.log_density)
log_discount = compiled(concentration._log_discount)
log_factor = compiled(concentration._log_factor)
log_scale = compiled(scales._log_scale)
look_outside = compiled(messages.look_outside)
measure = compiled(places.measure)
normal = compiled(random.normal)
other = compiled(split_leaves._other)
push = compiled(partition.push)
reach = compiled(places.reach)
regraft = compiled(regrafts.regraft)
scan = compiled(split_leaves._scan)
tail = compiled(state.tail)
take_out = compiled(datum._take_out)
uniform = compiled(random.uniform)
weigh_leaf = compiled(places.weigh_leaf)
weigh_near = compiled(places.weigh_near)
weights_by_size = compiled(split_leaves._weights_by_size)
