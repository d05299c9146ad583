"""Questions about more rows than fit into memory, asked a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

__all__ = ["chunkwise"]

Method = TypeVar("Method", bound=Callable[..., Any])


def chunkwise(method: Method) -> Method:
    """Have a method that answers about each row of ``X`` asked a chunk of rows at a time.

    So it is for a table that is read in chunks, and for a memory map with many rows. Rows of a
    table with names come as data frames if the estimator was fitted to names.
    """

    @wraps(method)
    def asked(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:  # noqa: N803
        from sticktree.data.sources.formats import open_table
        from sticktree.data.sources.tables import CHUNK_ROWS, ChunkedTable, map_table

        if isinstance(X, np.memmap):
            if X.ndim != 2 or len(X) <= CHUNK_ROWS or X.dtype.kind not in "fiu":
                return method(self, X, *arguments, **options)
        elif not isinstance(X, ChunkedTable):
            return method(self, X, *arguments, **options)
        names = getattr(X, "names", None)
        if names is None or not hasattr(self, "feature_names_in_"):
            return map_table(open_table(X), lambda rows: method(self, rows, *arguments, **options))
        from sticktree.data.sources.files import load_pandas

        frame = load_pandas().DataFrame
        return map_table(
            X, lambda rows: method(self, frame(rows, columns=list(names)), *arguments, **options)
        )

    return asked  # type: ignore[return-value]
