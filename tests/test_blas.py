import sys
import threading
import types

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from sticktree.blas import one_thread


class Blas:
    """A BLAS of eight threads, with limits as threadpoolctl has them."""

    def __init__(self):
        self.threads = 8

    def limit(self, limits, user_api):
        assert user_api == "blas"
        before, self.threads = self.threads, limits
        return Limits(self, before)


class Limits:
    def __init__(self, blas, before):
        self.blas, self.before = blas, before

    def restore_original_limits(self):
        self.blas.threads = self.before

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.restore_original_limits()


@pytest.fixture
def blas(monkeypatch):
    blas = Blas()
    monkeypatch.setattr("sticktree.blas._found", (-1, None))
    monkeypatch.setattr("threadpoolctl.ThreadpoolController", lambda: blas)
    return blas


def test_blas_has_one_thread_while_the_context_is_open():
    np.linalg.inv(np.eye(3))  # only a library that is loaded can be asked
    with one_thread():
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        assert {pool["num_threads"] for pool in pools} <= {1}


def test_contexts_may_be_nested(blas):
    with one_thread():
        with one_thread():
            assert blas.threads == 1
        assert blas.threads == 1
    assert blas.threads == 8


def test_contexts_of_two_threads_that_overlap_leave_blas_as_it_was(blas):
    first_is_open, second_is_open, first_is_closed = (threading.Event() for _ in range(3))
    seen = []

    def first():
        with one_thread():
            first_is_open.set()
            assert second_is_open.wait(10)
        seen.append(blas.threads)  # the other one still needs the limit
        first_is_closed.set()

    def second():
        assert first_is_open.wait(10)
        with one_thread():
            second_is_open.set()
            assert first_is_closed.wait(10)

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1]
    assert blas.threads == 8


def test_an_error_inside_the_context_restores_the_threads(blas):
    with pytest.raises(RuntimeError, match="inside"), one_thread():
        raise RuntimeError("inside")
    assert blas.threads == 8


def test_libraries_are_looked_for_again_when_a_module_came(monkeypatch):
    found = []
    monkeypatch.setattr("sticktree.blas._found", (-1, None))
    monkeypatch.setattr(
        "threadpoolctl.ThreadpoolController", lambda: found.append(Blas()) or found[-1]
    )
    for n in (1, 1, 2, 2):
        if n > 1:
            monkeypatch.setitem(sys.modules, "a_module_with_blas", types.ModuleType("it"))
        with one_thread():
            assert [blas.threads for blas in found] == [8] * (n - 1) + [1]
        assert len(found) == n
    assert [blas.threads for blas in found] == [8, 8]
