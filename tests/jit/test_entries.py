"""The list of kernels that Python calls, and the types in it."""

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
import pytest

from sticktree.engine.common.address import Addressed
from sticktree.jit.entries import Entries, Entry, describe, entries, example, write

RECORD = np.dtype([("n", np.int64), ("mean", np.float64, (2,))])


class Pair(NamedTuple):
    first: np.ndarray
    second: float


@dataclass(frozen=True, eq=False)
class Place(Addressed):
    nodes: np.ndarray
    total: np.ndarray


def readonly():
    array = np.zeros(3)
    array.flags.writeable = False
    return array


VALUES = [
    3,
    2.5,
    True,
    None,
    np.int32(4),
    np.float32(1.0),
    np.zeros(3),
    np.zeros((2, 3), dtype=np.int32),
    np.zeros((2, 3), order="F"),
    np.zeros((4, 6))[:, ::2],
    np.zeros(6, dtype=bool)[::2],
    readonly(),
    np.zeros(2, dtype=RECORD),
    Pair(np.zeros((2, 2)), 1.0),
    Place(np.zeros(2, dtype=RECORD), np.zeros((3, 2))),
    (np.zeros(2), 1, (2.0, np.zeros((1, 1, 1)))),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(numba.typeof(value))[:40])
def test_an_example_is_of_the_type_that_was_described(value):
    records = {}
    described = describe(value, records)
    assert numba.typeof(example(described, records)) == numba.typeof(value)


def test_states_of_the_same_class_and_other_arrays_have_names_of_their_own():
    records = {}
    names = [
        describe(Pair(np.zeros(2, dtype=kind), 1.0), records) for kind in ("f8", "f4", "f8", "i8")
    ]
    assert names == ["Pair-1", "Pair-2", "Pair-1", "Pair-3"]


def test_what_cannot_be_described_is_refused():
    with pytest.raises(TypeError, match="cannot describe unicode_type"):
        describe("word", {})


def test_the_list_is_read_as_it_was_written(tmp_path, monkeypatch):
    from sticktree.jit import entries as room

    records = {}
    arguments = [describe(value, records) for value in VALUES]
    one = Entry("some.module", "kernel", arguments, 12, frozenset({"fit", "look"}))
    two = Entry("some.module", "other", [], 40, frozenset({"look"}))
    write(Entries([one, two], records), tmp_path / "entries.json")
    monkeypatch.setattr(room, "FILE", tmp_path / "entries.json")
    read = entries.__wrapped__()
    assert read.known == [one, two]
    assert read.records == records
    assert read.needed(["look"]) == [two, one]  # the largest first
    assert read.needed(["fit"]) == [one]


def test_every_entry_of_the_library_is_a_kernel_with_such_arguments():
    found = entries()
    assert {"fit shared gibbs", "fit own parallel", "choose own gaps", "answer own"} <= found.tasks
    for entry in found.known:
        kernel = entry.kernel
        assert kernel.__name__ == entry.name
        n_arguments = kernel.py_func.__code__.co_argcount
        assert len(entry.signature(found.records)) == n_arguments, entry.name
