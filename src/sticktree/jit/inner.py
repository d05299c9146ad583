"""Kernels that only kernels call: linked into these as they are, and optimised there.

Numba optimises and emits every function that a kernel calls, then links it into the kernel and
does both again. Here the first of the two is left out, which halves what there is to compile. How
is no public interface of numba, so that `inner_pipeline` says None where numba is not as expected.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def inner_pipeline() -> Any:
    """Return the pipeline by which inner kernels are compiled, or None for numba's own."""
    try:
        pipeline = _make_pipeline()
        return pipeline if _works(pipeline) else None
    except Exception:
        return None


def _make_pipeline() -> Any:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    class Codegen:
        """The code generator of a library, but for Python's objects, of which there are none."""

        def __init__(self, codegen: Any) -> None:
            self.codegen = codegen

        def __getattr__(self, name: str) -> Any:
            return getattr(self.codegen, name)

        def set_env(self, name: str, environment: object) -> None:
            pass

    class InnerLibrary(JITCodeLibrary):
        """Code that is never run from where it is."""

        @property
        def codegen(self) -> Any:
            return Codegen(self._codegen)

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

    class InnerCompiler(Compiler):
        """Numba's compiler, with such a library."""

        def compile_extra(self, function: Any) -> Any:
            codegen = self.state.targetctx.codegen()
            self.state.library = InnerLibrary(codegen, function.__qualname__)
            return super().compile_extra(function)

    return InnerCompiler


def _works(pipeline: Any) -> bool:
    """Return whether a kernel calls another, and is called, as it should be."""
    import numba

    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    twice = numba.njit(lambda x: 2.0 * x, pipeline_class=pipeline, **options)
    more = numba.njit(lambda x: twice(x) + 1.0, pipeline_class=pipeline, **options)
    return bool(numba.njit(lambda x: more(x) + twice(x))(3.0) == 13.0)
