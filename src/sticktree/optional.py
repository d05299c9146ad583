"""Packages that only some functions need, loaded when such a function is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(module: str, *, extra: str, asker: str) -> Any:
    """Return a module of an optional package; raise ImportError with the remedy if it is missing.

    Parameters
    ----------
    module : str
        What to import, such as "pandas" or "pyarrow.parquet".
    extra : str
        The extra of this library that installs it.
    asker : str
        What needs it, the beginning of the message.

    Examples
    --------
    >>> from sticktree.optional import optional
    >>> optional("no_such_package", extra="frames", asker="to_frame")
    Traceback (most recent call last):
    ImportError: to_frame needs no_such_package: install it with `pip install sticktree[frames]`
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(
            f"{asker} needs {package}: install it with `pip install sticktree[{extra}]`"
        ) from None


def load_pandas() -> Any:
    """Return pandas; raise an error that says how to install it if it is missing."""
    try:
        return import_module("pandas")
    except ImportError:
        raise ImportError(
            "to read tables from files, install pandas: pip install 'sticktree[frames]'"
        ) from None
