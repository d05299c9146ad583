"""Going on where a fit ended, with ``warm_start=True``: the same model of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sticktree.data.groups import labels_of
from sticktree.data.parents import Kin, join_kin
from sticktree.data.training import TrainingData
from sticktree.errors import ParameterError
from sticktree.fit import Fit


def check_same(last: Fit, training: TrainingData, parameters: dict[str, str]) -> None:
    """Raise an error, before work starts, unless a fit can go on with these."""
    for name, text in parameters.items():
        if text != last.parameters[name]:
            same = f"that of the last fit, {last.parameters[name]}, when warm_start=True goes on"
            raise ParameterError(name, text, same, shown=text)
    if training.digest != last.training.digest:
        raise _other(last, _what_differs(last.training, training))


def groups_of_last(last: Fit, given: Any, n_rows: int) -> Any:
    """Return groups that are given for the rows of the last batch of a stream, as it knows them.

    Others, which have no rows in it, keep their numbers then. Without a stream, groups are as they
    are given.
    """
    known = last.training.groups
    if last.stream is None or known is None or given is None or n_rows != last.training.n_rows:
        return given
    parameter, groups, parents = "groups", given, None
    if isinstance(given, Kin):
        parameter, groups, parents = given.parameter, given.groups, given.parents
    names = labels_of(groups, n_rows, parameter)
    if parameter != known.parameter or names != last.training.groups_of_rows():
        raise _other(last, f"{parameter} must be those")
    if parents is not None:
        if known.parents is None:
            raise _other(last, "parents must be those")
        everyone = np.ones(known.number, dtype=np.int64)
        join_kin(known, everyone, groups, parents, n_rows)  # raises if they are others
    return known


def _what_differs(before: TrainingData, now: TrainingData) -> str:
    if before.groups is None and now.groups is None:
        return "X must be the data"
    if not (before.in_memory and now.in_memory):
        return "X must be the data and groups"
    if not np.array_equal(before.standardised, now.standardised, equal_nan=True):
        return "X must be the data"
    if before.groups is None or now.groups is None:
        there = [one.groups.parameter for one in (before, now) if one.groups is not None]
        return f"{there[0]} must be those"
    same = np.array_equal(before.groups.of_data, now.groups.of_data)
    if same and before.groups.in_order == now.groups.in_order:
        return "parents must be those"
    return f"{now.groups.parameter} must be those"


def _other(last: Fit, what: str) -> ValueError:
    """Return an error; ``what`` says what must be as it was."""
    text = f"{what} of the last fit when warm_start=True goes on"
    if last.stream is not None and len(last.stream) > 1:
        text = (
            f"{what} of the last batch when warm_start=True goes on; partial_fit takes further ones"
        )
    return ValueError(text)
