"""Rows on the workers of a Dask cluster."""

from __future__ import annotations

import sys


def is_dask(X: object) -> bool:  # noqa: N803
    """Tell whether something is a collection of Dask; Dask is not loaded for that.

    Examples
    --------
    >>> from sticktree.cluster import is_dask
    >>> is_dask([[1.0, 2.0]])
    False
    """
    return "dask" in sys.modules and sys.modules["dask"].is_dask_collection(X)
