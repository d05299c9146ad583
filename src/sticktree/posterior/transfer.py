"""Transfer support: how nearly the draws have a branch, where few have it exactly.

One row that wanders is enough for no two draws to have a large branch in common. So the draws are
asked how many rows would have to move. For a branch with the rows A, and the trees of S draws with
branches B of any size, single rows and all N rows among them,

    δ_s(A) = min_B |A Δ B|,    support(A) = 1 − (1 / S) ∑_s δ_s(A) / min(|A| − 1, N − |A|).

The divisor is the largest δ there can be: B may be a row of A, or all rows. This is the transfer
bootstrap of Lemoine et al. (Nature 556, 2018) for rooted trees; `docs/mathematics.md` compares the
two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.draw import Draw
from sticktree.tree import NULL, Tree


def transfer_support(tree: Tree, draws: Sequence[Draw]) -> FloatArray:
    """Return, for each node, 1 less the share of its rows that have to move to match a draw's node.

    That is the mean over draws, and the share is of as many rows as it can take at most. It is 1 if
    all draws have the branch, and never less than the share of draws that have it,
    :func:`~sticktree.posterior.consensus.support`. Single data and all data together are branches
    of every draw. Draws without labels are left out.

    Parameters
    ----------
    tree : Tree
        Whose branches to look for; any tree of the same data.
    draws : sequence of Draw
        In whose trees.

    Returns
    -------
    array of float, shape (M,)

    Examples
    --------
    Of five rows that are together, one is elsewhere in the only draw: of at most three moves it
    takes one.

    >>> import numpy as np
    >>> from sticktree import Tree
    >>> from sticktree.engine.draw import Draw
    >>> from sticktree.posterior.transfer import transfer_support
    >>> draw = Draw(
    ...     leaf=np.array([1, 1, 1, 1, 2, 2, 2, 2]), parent=np.array([0, 0, 0]),
    ...     level=np.array([0, 1, 1]), parameters={}, traced=(), concentration=1.0, discount=0.0,
    ...     log_joint=0.0,
    ... )
    >>> transfer_support(Tree([-1, 0, 0], [1, 1, 1, 1, 1, 2, 2, 2]), [draw]).round(3)
    array([1.   , 0.667, 0.5  ])
    """
    from sticktree.posterior.nearest_branch import add_moves

    wanted = np.flatnonzero((tree.count > 1) & (tree.count < tree.n_data))
    used = [draw for draw in draws if draw.labelled]
    share = np.ones(tree.n_nodes)
    if not wanted.size:
        return share
    branches = _branches(tree, wanted)
    moves = np.zeros(wanted.size, dtype=np.int64)
    for draw in used:
        add_moves(draw.parent.astype(np.int32), draw.leaf.astype(np.int32), *branches, moves)
    count = tree.count[wanted].astype(np.int64)
    most = np.minimum(count - 1, tree.n_data - count) * max(len(used), 1)
    # One division of whole numbers: rounding cannot bring it below the share of exact matches.
    share[wanted] = (most - moves) / most if used else 0.0
    return share


class _Branches(NamedTuple):
    """Branches as ranges of runs: rows that are beside each other and in the same branches.

    Attributes
    ----------
    order : int array, shape (N,)
        The rows in the order of a walk.
    cut : int array, shape (runs + 1,)
        Where in it each run begins.
    first, last : int arrays, shape (branches,)
        The runs of each branch; parents come before their children.
    above, heavy : int arrays, shape (branches,)
        The next larger branch, and the largest of those within; NULL where there is none.
    """

    order: IntArray
    cut: IntArray
    first: IntArray
    last: IntArray
    above: IntArray
    heavy: IntArray


def _branches(tree: Tree, wanted: npt.NDArray[np.intp]) -> _Branches:
    """Return the branches of some nodes, which have no others between them but below."""
    from sticktree.tree.walk import data_in_order, heavy_children

    parent = tree.parent.copy()  # frozen, they are another type
    start, count, order = data_in_order(parent, tree.leaf.copy())
    begin, end = start[wanted], (start + count)[wanted]
    cut = np.unique(np.concatenate([[0, tree.n_data], begin, end])).astype(np.int32)
    first, last = (np.searchsorted(cut, edge).astype(np.int32) for edge in (begin, end))
    number = np.full(tree.n_nodes, NULL, dtype=np.int32)
    number[wanted] = np.arange(wanted.size)
    above = number[parent[wanted]]
    # For a moment they are one tree, with a root of all rows.
    heavy = heavy_children(np.append(NULL, above + 1), np.append(tree.n_data, count[wanted]))
    return _Branches(order, cut, first, last, above, np.maximum(heavy[1:] - 1, NULL))
