"""States that kernels take as one address."""

import copy
import pickle
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numba.core.errors import TypingError

from sticktree.engine.common.address import Addressed
from sticktree.jit import jit, linked

PAIR = np.dtype([("n", np.int64), ("x", np.float64)])


@dataclass(frozen=True, eq=False)
class Arrays(Addressed):
    numbers: np.ndarray
    pairs: np.ndarray
    block: np.ndarray


def arrays(n=4):
    pairs = np.zeros(n, dtype=PAIR)
    pairs["n"], pairs["x"] = np.arange(n), 0.5
    return Arrays(np.arange(n), pairs, np.arange(24.0).reshape(2, 3, 4))


@linked
def add_pair(state, k):
    state.pairs[k].n += state.numbers[k]
    state.pairs[k].x += 1.0


@jit
def total(state):
    """Write through all arrays and read all of what has been written."""
    for k in range(state.numbers.size):
        state.numbers[k] += 1
        add_pair(state, k)
    out = 0.0
    for i in range(state.block.shape[0]):
        for j in range(state.block.shape[1]):
            row = state.block[i, j]
            for k in range(row.size):
                row[k] *= 2.0
                out += row[k] * (100 * i + 10 * j + k)
    for k in range(state.pairs.size):
        out += state.pairs[k].n + state.pairs[k].x
    return out


def expected(state):
    numbers = state.numbers + 1
    i, j, k = np.indices(state.block.shape)
    block = (2.0 * state.block * (100 * i + 10 * j + k)).sum()
    return block + (state.pairs["n"] + numbers + state.pairs["x"] + 1.0).sum()


@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_kernel_reads_and_writes_the_arrays_in_place(n):
    state = arrays(n)
    value, block = expected(state), state.block.copy()
    assert total(state) == value
    assert state.numbers.tolist() == list(range(1, n + 1))
    np.testing.assert_array_equal(state.block, 2.0 * block)
    assert len(total.signatures) == 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
def test_a_copy_has_arrays_of_its_own(copied):
    state = arrays()
    total(state)
    other = copied(state)
    before = state.block.copy()
    assert total(other) == expected(state)
    np.testing.assert_array_equal(state.block, before)


def test_a_state_with_another_array_leaves_the_first_as_it_is():
    state = arrays()
    total(state)
    block = np.ones((1, 1, 2))
    other = replace(state, block=block)
    value = expected(other)
    assert total(other) == value
    assert state.block.shape == (2, 3, 4)
    np.testing.assert_array_equal(block, 2.0)


def test_an_array_in_another_order_is_refused():
    with pytest.raises(TypingError, match="block of Arrays is not in the order of C"):
        total(replace(arrays(), block=np.ones((2, 3, 4)).T))


def test_an_array_of_another_type_makes_another_type_of_state():
    state = arrays()
    narrow = replace(state, numbers=state.numbers.astype(np.int32))
    assert narrow._numba_type_ is not state._numba_type_
    assert state._numba_type_ is arrays(9)._numba_type_


def test_a_type_that_is_read_back_is_the_same():
    kind = arrays()._numba_type_
    assert pickle.loads(pickle.dumps(kind)) is kind


PROGRAM = """
import numpy as np
from sticktree.engine.shared.state import empty_state, set_scales
empty_state(np.zeros(({n}, 2)), np.ones(2), np.ones(3), 1.0, 0.0, 1.0)
print(sum(set_scales.stats.cache_hits.values()))
"""


def test_another_process_finds_the_kernel_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    hits = [
        int(subprocess.check_output([sys.executable, "-c", PROGRAM.format(n=n)])) for n in (3, 5)
    ]
    assert hits == [0, 1]
