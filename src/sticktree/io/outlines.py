"""What draws from a file have in common with a model, or not: their outlines.

A list of draws is looked at by :mod:`sticktree.io.sound_draws`, which makes its outline; what a
model has to say of it is in there, so that the draws need not be looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.io.laws import DRAW, NEEDED, NEEDED_OF_GROUPS, NEEDED_OF_PARENTS, Sizes
from sticktree.model import Model

Integers = npt.NDArray[Any]


class Outline(NamedTuple):
    """What draws that hold together have in common with a model, or not.

    Attributes
    ----------
    names, traced : set and tuple of str
        Their parameters.
    shapes : dict of integer arrays
        By name, the shapes of a parameter: a row for each draw.
    n_data, n_nodes, n_leaves, n_edges, deepest : integer arrays
        Rows, nodes, leaves, steps from level to level and the last level of each draw.
    each_level, branching : bool
        Whether every node is one level below its parent, and whether all but the root and the
        leaves have several children.
    labelled : bool
        Whether all draws have kept where each row sits.
    """

    names: frozenset[str]
    traced: tuple[str, ...]
    shapes: dict[str, Integers]
    n_data: Integers
    n_nodes: Integers
    n_leaves: Integers
    n_edges: Integers
    deepest: Integers
    each_level: bool
    branching: bool
    labelled: bool


def check_alike(outlines: Sequence[Outline | None]) -> None:
    """Raise unless all draws have the same parameters: the first tells what they have."""
    kinds = {(one.names, one.traced) for one in outlines if one is not None}
    _needed(len(kinds) <= 1, "draws have different parameters")


def check_draws(outlines: Sequence[Outline | None], model: Model, sizes: Sizes) -> None:
    """Raise unless draws are of this model: levels, parameters and their shapes are as it says.

    The lists whose outlines these are must have the same parameters.
    """
    check_alike(outlines)
    outline = _joined([one for one in outlines if one is not None])
    if outline is None:
        return
    (n_rows,) = sizes["rows"]
    _needed((outline.n_data == n_rows).all(), f"draws have other rows than {n_rows}")
    right = (outline.deepest == model.depth).all()
    _needed(right, f"a draw has other levels than {model.depth}")
    if model.leaf_noise == "own":
        _needed(outline.each_level, "a branch skips a level")
    else:
        # Nodes that have one child would need more room than there is.
        _needed(outline.branching, "a node has a single child")
    names = outline.names
    needed = NEEDED[model.leaf_noise] + NEEDED_OF_GROUPS * (model.groups is not None)
    if model.groups is not None and model.groups.line is not None:
        needed += NEEDED_OF_PARENTS
    absent = [name for name in needed if name not in names]
    _needed(not absent, f"a draw lacks {', '.join(absent)}")
    _check_shapes(outline, sizes)
    n_sums = sum(name.startswith("sums_") for name in names)
    wanted = 4 if model.groups is None else 5
    _needed(n_sums in (0, wanted), "a draw lacks sums of its leaves")
    _needed(n_sums > 0 or outline.labelled, "neither labels nor sums")
    _needed(not sizes["gaps"][0] or "imputed" in names, "a draw lacks imputed")


def _check_shapes(outline: Outline, sizes: Sizes) -> None:
    """Check that parameters have a shape that follows from the model and from each draw's tree."""
    of_trees = {
        "leaves": outline.n_leaves,
        "inner": outline.n_nodes - outline.n_leaves,
        "nodes": outline.n_nodes,
        "edges": outline.n_edges,
        "points": points_above_leaves(outline.n_edges, outline.n_leaves),
    }
    for name, shapes in outline.shapes.items():
        axes = DRAW[name].axes if name in DRAW else None
        if axes is None:
            continue
        expected: list[int | Integers] = []
        for axis in axes:
            if axis in of_trees:
                expected.append(of_trees[axis])
            else:
                expected.extend(sizes[axis])
        if not have(shapes, expected):
            raise ValueError(
                f"{name} must have the axes {', '.join(axes)}, got {shapes[0].tolist()}"
            )


def have(shapes: Integers, wanted: Sequence[int | Integers]) -> bool:
    """Return whether all draws have a shape; of its sizes, arrays have one for each draw."""
    right = shapes.shape[1] == len(wanted)
    return right and all(bool((shapes[:, k] == one).all()) for k, one in enumerate(wanted))


def points_above_leaves(n_edges: Integers, n_leaves: Integers) -> Integers:
    """Return how many points trees have above the last level, on which all leaves are."""
    return n_edges + 1 - n_leaves


def _joined(outlines: Sequence[Outline]) -> Outline | None:
    """Return the outline of several lists with the same parameters; None of no list."""
    if len(outlines) < 2:
        return outlines[0] if outlines else None
    first = outlines[0]
    shapes = {}
    for name in first.shapes.keys() & DRAW.keys():  # of others, shapes are not looked at
        parts = [one.shapes[name] for one in outlines]
        _needed(len({part.shape[1] for part in parts}) == 1, f"{name} has different axes")
        shapes[name] = np.concatenate(parts)
    return Outline(
        first.names,
        first.traced,
        shapes,
        np.concatenate([one.n_data for one in outlines]),
        np.concatenate([one.n_nodes for one in outlines]),
        np.concatenate([one.n_leaves for one in outlines]),
        np.concatenate([one.n_edges for one in outlines]),
        np.concatenate([one.deepest for one in outlines]),
        all(one.each_level for one in outlines),
        all(one.branching for one in outlines),
        all(one.labelled for one in outlines),
    )


def _needed(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(what)
