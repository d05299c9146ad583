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

Test = Callable[[Any], bool]


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
    tests = _tests_of(kind)
    for name, value in parts.items():
        if name in tests and not tests[name](value):
            hint = hints_of(kind)[name]
            expected = getattr(hint, "__name__", str(hint))
            raise ValueError(
                f"{name} of {kind.__name__} must be {expected}, got {repr(value)[:60]}"
            )


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a type; of what is not known here, it is."""
    return _test_of(hint)(value)


@cache
def _tests_of(kind: type) -> dict[str, Test]:
    return {name: _test_of(hint) for name, hint in hints_of(kind).items()}


@cache
def _test_of(hint: Any) -> Test:
    """Return what tells whether a value is of a type: types are taken apart once, not per value."""
    if hint is Any:
        return _anything
    if hint is None or hint is type(None):
        return lambda value: value is None
    other = _test_of_others(hint)
    return lambda value: type(value) is hint or other(value)


def _test_of_others(hint: Any) -> Test:
    """Return what tells whether a value whose class is not the hint itself is of that type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        options = [_test_of(one) for one in arguments]
        return lambda value: any(test(value) for test in options)
    if origin is Literal:
        return lambda value: any(type(value) is type(one) and value == one for one in arguments)
    if origin is np.ndarray:
        return lambda value: isinstance(value, np.ndarray) and _fits_array(value, arguments)
    if origin is tuple:
        return _test_of_tuple(arguments)
    if origin in (list, Sequence):
        item = _test_of(arguments[0])
        return lambda value: isinstance(value, list | tuple) and all(map(item, value))
    if origin in (dict, Mapping):
        of_key, of_item = map(_test_of, arguments)
        return lambda value: (
            isinstance(value, dict)
            and all(map(of_key, value))
            and all(map(of_item, value.values()))
        )
    if origin is not None or not isinstance(hint, type):
        return _anything
    return lambda value: _fits_class(value, hint)


def _anything(value: Any) -> bool:
    return True


def _test_of_tuple(arguments: tuple[Any, ...]) -> Test:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        each = _test_of(arguments[0])
        return lambda value: isinstance(value, tuple) and all(map(each, value))
    tests = [_test_of(one) for one in arguments]
    return lambda value: (
        isinstance(value, tuple)
        and len(value) == len(tests)
        and all(test(item) for test, item in zip(tests, value, strict=True))
    )


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
