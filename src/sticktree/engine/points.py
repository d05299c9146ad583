"""Points of a tree, nodes and only children on edges: which sticks of nodes and levels there are.

States keep sticks in arrays of nodes by levels, where that of a node is at the level of the point
above. Draws keep those of parents, of which there may be many, point by point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.engine.draw import Draw

Flags = npt.NDArray[np.bool_]


def used_sticks(top: npt.NDArray[Any], level: npt.NDArray[Any], depth: int) -> tuple[Flags, Flags]:
    """Return where sticks of nodes are, and what is left of sticks, both of shape (nodes, levels).

    ``top`` is the level of the node above, −1 of the root.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.engine.points import used_sticks
    >>> sticks, rest = used_sticks(np.array([-1, 0, 0]), np.array([0, 2, 2]), 2)
    >>> sticks.astype(int).tolist(), rest.astype(int).tolist()
    ([[0, 0], [1, 1], [1, 1]], [[1, 0], [0, 1], [0, 1]])
    """
    at, top, level = np.arange(depth), top[:, None], level[:, None]
    return (at >= top) & (at < level) & (top >= 0), (at > top) & (at <= level)


def levels_above(parent: npt.NDArray[Any], level: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the level of the node above each node of a tree, −1 of the root, which comes first."""
    top = level[parent].astype(np.int64)
    top[0] = -1
    return top


def whole_parameters(draw: Draw) -> dict[str, npt.NDArray[Any]]:
    """Return the parameters of a draw with sticks of parents by nodes and levels."""
    if "theta" not in draw.parameters:
        return draw.parameters
    depth = draw.parameters["stick"].shape[1]
    used = used_sticks(levels_above(draw.parent, draw.level), draw.level, depth)
    found = dict(draw.parameters)
    for name, where in zip(("theta", "theta_rest"), used, strict=True):
        found[name] = np.zeros((*where.shape, draw.parameters[name].shape[1]))
        found[name][where] = draw.parameters[name]
    return found
