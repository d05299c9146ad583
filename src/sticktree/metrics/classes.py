"""Labels of any kind as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sticktree.checks import IntArray
from sticktree.tree import NULL

__all__ = ["class_codes"]


def class_codes(name: str, labels: Iterable[Any], length: int | None = None) -> IntArray:
    """Return the number of each label's class, from 0 in order of appearance; NULL if missing.

    Missing are None, NaN, and what compares to nothing, such as pandas' NA.

    Examples
    --------
    >>> class_codes("labels", ["b", "a", None, "b"])
    array([ 0,  1, -1,  0], dtype=int32)
    """
    if isinstance(labels, str):
        raise ValueError(f"{name} must be a sequence of labels, one for each datum, got {labels!r}")
    shape = getattr(labels, "shape", (0,))
    if len(shape) != 1:
        raise ValueError(
            f"{name} must be one-dimensional, got shape {getattr(labels, 'shape', ())}"
        )
    number: dict[Any, int] = {}
    codes: list[int] = []
    # Lists of Python's own values are walked far faster; of dates, numpy would make numbers.
    plain = isinstance(labels, np.ndarray) and labels.dtype.kind not in "mM"
    for i, label in enumerate(labels.tolist() if plain else labels):  # type: ignore[attr-defined]
        try:
            codes.append(NULL if _missing(label) else number.setdefault(label, len(number)))
        except TypeError:
            raise ValueError(
                f"{name}[{i}] must be a text, a number or the like, got {label!r}"
            ) from None
    if length is not None and len(codes) != length:
        raise ValueError(f"{name} must have one entry for each of {length} data, got {len(codes)}")
    return np.array(codes, dtype=np.int32)


def _missing(label: Any) -> bool:
    if label is None:
        return True
    if isinstance(label, (str, int)):
        return False
    hash(label)
    try:
        return bool(label != label)  # NaN and NaT differ from themselves
    except TypeError:
        return True  # pandas' NA will not say
