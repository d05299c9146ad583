"""Kernels that only kernels call."""

import math

import numpy as np
import pytest

from sticktree.jit import inlined, inner, jit, linked


def kernels():
    @inlined
    def half(x):
        return 0.5 * x

    @linked
    def logs(values):
        out = np.empty(values.size)
        for k in range(values.size):
            out[k] = math.log(half(values[k]))
        return out

    @jit
    def total(values):
        out = 0.0
        for value in logs(values):
            out += half(value)
        return out

    return logs, total


VALUES = np.array([2.0, 4.0, 6.0])
EXPECTED = 0.5 * (math.log(2.0) + math.log(3.0))


def library_of(kernel):
    (overload,) = kernel.compiled.overloads.values()
    return overload.library


@pytest.fixture
def forgotten():
    """Let the pipeline be made anew, and again afterwards."""
    inner.inner_pipeline.cache_clear()
    yield
    inner.inner_pipeline.cache_clear()


def test_inner_kernels_are_linked_and_not_compiled_on_their_own():
    logs, total = kernels()
    assert total(VALUES) == pytest.approx(EXPECTED, rel=1e-15)
    assert type(library_of(logs)).__name__ == "InnerLibrary"
    entry = library_of(logs)._codegen._engine
    (overload,) = logs.compiled.overloads.values()
    assert not entry.is_symbol_defined(overload.fndesc.llvm_cpython_wrapper_name)


class Refused:
    def __init__(self, *arguments):
        raise TypeError("another number of arguments")


@pytest.mark.parametrize("made", [None, Refused])
def test_where_numba_is_not_as_expected_its_own_pipeline_serves(made, monkeypatch, forgotten):
    def make():
        if made is None:
            raise ImportError("cannot import name 'JITCodeLibrary'")
        return made

    monkeypatch.setattr(inner, "_make_pipeline", make)
    assert inner.inner_pipeline() is None
    logs, total = kernels()
    assert total(VALUES) == pytest.approx(EXPECTED, rel=1e-15)
    assert type(library_of(logs)).__name__ == "JITCodeLibrary"


def test_a_pipeline_that_gives_wrong_answers_is_not_used(monkeypatch, forgotten):
    from numba.core.compiler import Compiler

    class Wrong(Compiler):
        def compile_extra(self, function):
            return super().compile_extra(lambda x: x)

    monkeypatch.setattr(inner, "_make_pipeline", lambda: Wrong)
    assert inner.inner_pipeline() is None
