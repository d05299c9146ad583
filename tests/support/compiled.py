"""Kernels that other kernels call only, made callable from tests.

Each has a function of its own, in a file, so that it is compiled once and not by every process.
"""

from sticktree.engine.bulk import partition
from sticktree.engine.common import concentration, random
from sticktree.engine.shared import (
    datum,
    messages,
    missing,
    mixture,
    places,
    scales,
    seats,
    split_leaves,
    state,
)
from sticktree.engine.shared import regraft as regrafts
from sticktree.jit import jit

_attach = state.attach
_bound_of_branches = seats.bound_of_branches
_chi_square = random.chi_square
_complete = places._complete
_crosses = regrafts._crosses
_detach = state.detach
_evidence = split_leaves._evidence
_find_branch = places.find_branch
_find_far = places.find_far
_gamma = random.gamma
_greet = seats.greet
_gumbel = random.gumbel
_integer = random.integer
_leave = missing._leave
_list_rows = split_leaves._list_rows
_log_density = places.log_density
_log_discount = concentration._log_discount
_log_factor = concentration._log_factor
_log_scale = scales._log_scale
_look_outside = messages.look_outside
_measure = places.measure
_normal = random.normal
_other = split_leaves._other
_predictive_mixture = mixture.predictive_mixture
_push = partition.push
_reach = places.reach
_regraft = regrafts.regraft
_scan = split_leaves._scan
_tail = state.tail
_take_out = datum._take_out
_uniform = random.uniform
_weigh_leaf = places.weigh_leaf
_weigh_near = places.weigh_near
_weights_by_size = split_leaves._weights_by_size


@jit
def attach(*arguments):
    return _attach(*arguments)


@jit
def bound_of_branches(*arguments):
    return _bound_of_branches(*arguments)


@jit
def chi_square(*arguments):
    return _chi_square(*arguments)


@jit
def complete(*arguments):
    return _complete(*arguments)


@jit
def crosses(*arguments):
    return _crosses(*arguments)


@jit
def detach(*arguments):
    return _detach(*arguments)


@jit
def evidence(*arguments):
    return _evidence(*arguments)


@jit
def find_branch(*arguments):
    return _find_branch(*arguments)


@jit
def find_far(*arguments):
    return _find_far(*arguments)


@jit
def gamma(*arguments):
    return _gamma(*arguments)


@jit
def gumbel(*arguments):
    return _gumbel(*arguments)


@jit
def integer(*arguments):
    return _integer(*arguments)


@jit
def list_rows(*arguments):
    return _list_rows(*arguments)


@jit
def log_density(*arguments):
    return _log_density(*arguments)


@jit
def log_discount(*arguments):
    return _log_discount(*arguments)


@jit
def log_factor(*arguments):
    return _log_factor(*arguments)


@jit
def log_scale(*arguments):
    return _log_scale(*arguments)


@jit
def look_outside(*arguments):
    return _look_outside(*arguments)


@jit
def measure(*arguments):
    return _measure(*arguments)


@jit
def normal(*arguments):
    return _normal(*arguments)


@jit
def other(*arguments):
    return _other(*arguments)


@jit
def push(*arguments):
    return _push(*arguments)


@jit
def reach(*arguments):
    return _reach(*arguments)


@jit
def regraft(*arguments):
    return _regraft(*arguments)


@jit
def scan(*arguments):
    return _scan(*arguments)


@jit
def tail(*arguments):
    return _tail(*arguments)


@jit
def take_out(*arguments):
    return _take_out(*arguments)


@jit
def uniform(*arguments):
    return _uniform(*arguments)


@jit
def weigh_leaf(*arguments):
    return _weigh_leaf(*arguments)


@jit
def weigh_near(*arguments):
    return _weigh_near(*arguments)


@jit
def weights_by_size(*arguments):
    return _weights_by_size(*arguments)


@jit
def without_row(state, i):
    """Take a datum of a group out of the tree; return what its group is predicted then."""
    _greet(state, state.group[i])
    _leave(state, i)
    return _predictive_mixture(state)
