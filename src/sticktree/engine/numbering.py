"""Groups of some rows, numbered anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.model import Groups
from sticktree.tree.arrays import NULL


def renumbered(
    of_row: IntArray, parents: IntArray | None
) -> tuple[IntArray, IntArray | None, list[int]]:
    """Return groups of rows without gaps in their numbers, their parents, and what each was before.

    Groups that have none of the rows come last: they may be parents of others.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.engine.numbering import renumbered
    >>> renumbered(np.array([2, 0, 2]), np.array([-1, 0, 1]))
    (array([1, 0, 1], dtype=int32), array([-1,  2,  0], dtype=int32), [0, 2, 1])
    """
    kept, numbers = np.unique(of_row, return_inverse=True)
    if parents is None:
        return numbers.astype(np.int32), None, kept.tolist()
    member = np.concatenate([kept, np.setdiff1d(np.arange(parents.size), kept)])
    place = np.full(member.size + 1, NULL, dtype=np.int32)  # the last is for NULL
    place[member] = np.arange(member.size)
    return numbers.astype(np.int32), place[parents[member]], member.tolist()


def groups_of_some(groups: Groups, of_row: IntArray) -> tuple[Groups, npt.NDArray[np.int64]]:
    """Return the groups that some rows have, and where each parent is in the line of these.

    ``of_row`` are the groups of those rows.
    """
    numbers, parents, member = renumbered(of_row, groups.parents)
    found = replace(groups, of_row=numbers, parents=parents)
    if groups.line is None or found.line is None:
        return found, np.empty(0, dtype=np.int64)
    place = {member[p]: k for k, p in enumerate(found.line.members.tolist())}
    return found, np.array([place[p] for p in groups.line.members.tolist()], dtype=np.int64)
