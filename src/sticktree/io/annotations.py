"""Whether a value is what an annotation says: objects from a file are made of the right parts."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """Return the annotations of a dataclass; none of what is known to type checkers alone."""
    if not is_dataclass(kind):
        return {}
    try:
        return get_type_hints(kind)
    except NameError:
        return {}


def check_parts(kind: type, parts: Mapping[str, Any]) -> None:
    """Raise unless the parts that an instance of a class is made from are of its types.

    Examples
    --------
    >>> from sticktree.inference.runner import Schedule
    >>> from sticktree.io.annotations import check_parts
    >>> check_parts(Schedule, {"n_warmup": 10, "n_draws": "many"})
    Traceback (most recent call last):
    ...
    ValueError: n_draws of Schedule must be int, got 'many'
    """
    hints = hints_of(kind)
    for name, value in parts.items():
        if name in hints and not fits(value, hints[name]):
            expected = getattr(hints[name], "__name__", str(hints[name]))
            raise ValueError(
                f"{name} of {kind.__name__} must be {expected}, got {repr(value)[:60]}"
            )


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a type; of what is not known here, it is."""
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    if type(value) is hint:
        return True
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _fits_array(value, arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(fits(item, arguments[0]) for item in value)
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if origin in (list, Sequence):
        return isinstance(value, list | tuple) and all(fits(one, arguments[0]) for one in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(
            fits(key, arguments[0]) and fits(item, arguments[1]) for key, item in value.items()
        )
    if origin is Callable or origin is not None or not isinstance(hint, type):
        return True
    return _fits_class(value, hint)


def _fits_array(value: np.ndarray[Any, Any], arguments: tuple[Any, ...]) -> bool:
    """Return whether an array has the kind of numbers that it should have, of any size."""
    entries = get_args(arguments[1]) if len(arguments) == 2 else ()
    if not entries or not isinstance(entries[0], type):
        return True
    wanted = entries[0]
    for kind in (np.floating, np.integer, np.bool_):
        if issubclass(wanted, kind):
            return np.issubdtype(value.dtype, kind)
    return True


def _fits_class(value: Any, hint: type) -> bool:
    if hint in (float, int):
        if isinstance(value, bool) or not isinstance(value, Real if hint is float else Integral):
            return False
        # Kernels have no larger integers.
        return not isinstance(value, Integral) or abs(int(value)) < 2**63
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if getattr(hint, "_is_protocol", False) or typing.is_typeddict(hint):
        return True
    return isinstance(value, hint)
