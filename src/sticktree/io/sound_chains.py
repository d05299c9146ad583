"""Whether a snapshot from a file is that of a chain: its tree holds together, its sizes fit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FARTHEST
from sticktree.engine.own.state import DIAG, FORM, FULL, PHI, SPHERICAL, TWIGS
from sticktree.inference.packing import CHAIN as PREFIX
from sticktree.inference.packing import PARALLEL
from sticktree.io.laws import (
    CHAIN,
    DRAW,
    LARGEST,
    Arrays,
    Sizes,
    check_law,
    check_shape,
    check_sticks,
)
from sticktree.model import Model
from sticktree.tree.arrays import NULL

Integers = npt.NDArray[np.int64]

# Places in `sizes`, as in `sticktree.engine.common.links`, which loads kernels.
FREE, MADE, LEAVES = 1, 2, 3
LINKS = dict.fromkeys(
    ("parent", "first_child", "next_sibling", "previous_sibling", "level", "n", "n_children")
).keys()
OF_SCALES = ("scale", "reach", "bound")  # fields of levels
INT64 = np.dtype(np.int64)
COMMON = ("nodes", "sizes", "levels", "scalars", "words")
NEEDED = {
    "shared": ("factor",),
    "own": ("coordinates", "variance", "hyper", "psi"),
}
ONE_BY_ONE = {"shared": ("leaf", "leaves", "total"), "own": ("leaf", "imputed")}
OF_GROUPS = ("seated", "stick", "rest", "gamma")
OF_PARENTS = ("theta", "theta_rest", "kappa")
MANY = ("parallel", "leaves", "rank", "anchor", "sums_n", "sums_seen", "sums_total", "sums_second")


def check_chains(chains: Sequence[Arrays], model: Model, sizes: Sizes) -> None:
    """Raise unless arrays are those of chains of this model on these rows.

    Those of each chain are as :func:`~sticktree.inference.packing.pack_chain` returns them, and may
    hold more. The trees of all chains are looked at together, which takes little longer than one.
    """
    with np.errstate(all="ignore"):
        found = [_checked_shapes(arrays, model, sizes) for arrays in chains]
        if not found:
            return
        _check_laws(found)
        _check_numbers(found, model)
        trees = _checked_trees(found, model.depth, compressed=model.leaf_noise == "shared")
        for arrays, tree in zip(found, trees, strict=True):
            _check_chain(arrays, tree, model)


def _checked_shapes(arrays: Arrays, model: Model, sizes: Sizes) -> Arrays:
    """Return the arrays of a snapshot, once all are there in the shapes that they must have."""
    _check_generator(arrays["generator"])
    found = {
        name.removeprefix(PREFIX): array
        for name, array in arrays.items()
        if name.startswith(PREFIX)
    }
    parallel = PARALLEL in found
    needed = (*COMMON, *NEEDED[model.leaf_noise])
    needed += MANY if parallel else ONE_BY_ONE[model.leaf_noise]
    if parallel and model.leaf_noise == "shared":
        needed += ("slots", "products")
    if model.groups is not None:
        needed += OF_GROUPS + ("sums_seated",) * parallel
        needed += OF_PARENTS * (model.groups.line is not None)
    absent = [name for name in needed if name not in found]
    _needed(not absent, f"a chain lacks {', '.join(absent)}")
    n_leaves = _size_of(found["sums_n"] if parallel else found.get("leaves"))
    here = sizes | {
        "nodes": found["nodes"].shape[:1],
        "leaves": (n_leaves,),
        "blocks": found["stream_n"].shape[:1] if "stream_n" in found else (0,),
    }
    for name, array in found.items():
        if name in CHAIN:
            check_shape(name, array.shape, CHAIN[name], here)
    _needed(found["words"].any(), "random numbers that are all zero never change")
    _needed(not sizes["gaps"][0] or "imputed" in found, "a chain lacks imputed")
    if model.leaf_noise == "shared":
        _needed(found["factor"].shape[:1] == sizes["columns"], "factor is of other columns")
        _needed(not model.learns_rates or "rates" in found, "a chain lacks rates")
    else:
        _check_form(found["sizes"], model, full=sizes["together"][0] > 0)
    return found


def _check_laws(found: Sequence[Arrays]) -> None:
    """Check the entries of all arrays: those of one name together."""
    for name in dict.fromkeys(name for arrays in found for name in arrays):
        parts = [arrays[name] for arrays in found if name in arrays]
        dtype, law = parts[0].dtype, CHAIN[name].law if name in CHAIN else "finite"
        if law != "any" and len(parts) > 1 and all(part.dtype == dtype for part in parts):
            parts = [np.concatenate(parts, axis=None)]
        for part in parts:
            check_law(name, part, CHAIN)


def _check_chain(found: Arrays, tree: _Links, model: Model) -> None:
    """Check that rows, and what is kept for them, are where the tree says."""
    if model.leaf_noise == "own":
        tree.check_phi(found["coordinates"])
    if PARALLEL in found:
        words = found[PARALLEL]
        _needed(words.ndim == 1 and words.size >= 3, "the words of a parallel chain are missing")
        tree.check_leaves(found["leaves"], found.get("slots"))
        _check_blocks(found)
    else:
        tree.check_data(found["leaf"], found.get("leaves"))
    if model.groups is not None:
        tree.check_groups(found, model.groups.of_row)


def _check_generator(text: npt.NDArray[Any]) -> None:
    _needed(text.dtype.kind == "U" and text.ndim == 0, "the state of the random numbers is no text")
    state = json.loads(text.item())
    _needed(isinstance(state, dict), "the random numbers have no state")
    # What numpy takes as it is, and believes.
    parts = [state.get("has_uint32", 0), state.get("uinteger", 0)]
    _needed(all(type(part) is int and 0 <= part < 2**32 for part in parts), "random numbers")


def _check_numbers(found: Sequence[Arrays], model: Model) -> None:
    """Check the parameters that all moves divide by, or draw from."""
    scalars = np.array([arrays["scalars"] for arrays in found])
    levels = {
        name: np.array([arrays["levels"][name] for arrays in found])
        for name in ("shape", "alpha", *OF_SCALES * (model.leaf_noise == "shared"))
    }
    _needed(scalars.ndim == 2 and scalars.shape[1] >= 2, "scalars are missing")
    c, d = scalars[:, 0, None], scalars[:, 1, None]
    right = (c > 1 / LARGEST) & (c < LARGEST) & (d >= 0) & (d < 1)
    if not right.all():
        raise ValueError(f"c is {c.ravel()} and d is {d.ravel()}")
    _needed(model.discount is not None or (d > 0).all(), "d is 0, and is learned")
    if model.leaf_noise == "shared":
        right = scalars.shape[1] > 2 and (scalars[:, 2] == model.noise).all()
        _needed(right, "the noise is not the model's")
        _check_scales(levels)
        _check_factors(np.array([arrays["factor"] for arrays in found]), model)
    elif found[0]["psi"].size:
        psi = np.array([arrays["psi"] for arrays in found])
        _needed(_close(psi, psi.swapaxes(1, 2)), "psi is not symmetric")
        np.linalg.cholesky(psi)  # raises unless all are positive definite
    shape = levels["shape"]
    _needed((shape[:, :-1] == model.shape).all(), "the levels are not those of the model")
    alpha = c * shape - d * model.less_discount
    _needed(_close(levels["alpha"], alpha), "the concentrations are not those of c and d")


def _check_scales(levels: Arrays) -> None:
    """Check the scales of the levels, and what follows from them."""
    scale, reach, bound = (levels[name] for name in OF_SCALES)
    check_law("scale", scale, {"scale": CHAIN["variance"]})
    _needed(_close(reach, scale.cumsum(axis=1), 1e-8), "scales do not add up")
    right = bound.min() >= 0 and bound.max() <= 1.0 + 1e-6
    _needed(right, "a density is out of its bounds")


def _check_factors(factors: npt.NDArray[Any], model: Model) -> None:
    """Check that each A is a matrix that has an inverse, or the diagonal of one."""
    if factors.ndim == 2:
        _needed(model.covariance_type != "full", "factor is a diagonal")
        inverse = 1.0 / factors
    else:
        size = factors.shape[1]
        _needed(factors.shape[2:] == (size,), f"factor has the shape {factors.shape[1:]}")
        inverse = np.linalg.inv(factors)  # raises if one is singular
    # Sums of squares of rows in units of the noise must be numbers.
    right = np.abs(inverse).max() < FARTHEST and np.abs(factors).max() < FARTHEST
    _needed(right, "factor is singular, or nearly so")


def _check_form(sizes: Integers, model: Model, *, full: bool) -> None:
    """Check that the state says what form the covariance of leaves has."""
    form = {"diag": DIAG, "spherical": SPHERICAL, "full": FULL if full else DIAG}
    right = sizes.size > FORM and sizes[FORM] == form[model.covariance_type]
    _needed(right, "the covariance of the leaves is of another form")


def _checked_trees(found: Sequence[Arrays], depth: int, *, compressed: bool) -> list[_Links]:
    """Check the trees of chains, all in one, and return each."""
    nodes, sizes = [x["nodes"] for x in found], [x["sizes"] for x in found]
    live = [_live_nodes(*state) for state in zip(nodes, sizes, strict=True)]
    _Forest(nodes, sizes, live, depth).check(compressed=compressed)
    return [_Links(*tree, depth) for tree in zip(nodes, live, strict=True)]


def _live_nodes(nodes: npt.NDArray[Any], sizes: Integers) -> npt.NDArray[np.bool_]:
    """Return the nodes in use: all but those in the list of numbers that can be given again.

    What these had as links is left in them.
    """
    _needed(nodes.ndim == 1 and nodes.size >= 1, "a chain has no nodes")
    fields: Mapping[str, Any] = nodes.dtype.fields or {}
    _needed(fields.keys() >= LINKS, "nodes lack links")
    _needed({fields[name][0] for name in LINKS} == {INT64}, "links of another type")
    _needed(sizes.ndim == 1 and sizes.size >= 6, "sizes are missing")
    _needed(sizes[MADE] == nodes.size, f"{sizes[MADE]} nodes were made, {nodes.size} are there")
    free = int(sizes[FREE])
    live = [True] * nodes.size
    following = [] if free == NULL else nodes["next_sibling"].tolist()
    while free != NULL:
        _needed(0 < free < len(live) and live[free], "the list of free nodes has no end")
        live[free] = False
        free = following[free]
    return np.array(live)


class _Forest:
    """The links of trees in flat arrays, one tree behind the other.

    See `sticktree.engine.common.links`. Numbers of nodes are counted on from tree to tree; nodes
    that are not in use have no links.
    """

    def __init__(
        self,
        nodes: list[npt.NDArray[Any]],
        sizes: list[Integers],
        live: list[npt.NDArray[np.bool_]],
        depth: int,
    ) -> None:
        self.live, self.depth = np.concatenate(live), depth
        n_nodes = np.array([part.size for part in nodes])
        self.roots = n_nodes.cumsum() - n_nodes
        self.n_leaves, self.n_twigs = (
            np.array([part[place] for part in sizes]) for place in (LEAVES, TWIGS)
        )
        found = {name: np.concatenate([part[name] for part in nodes]) for name in LINKS}
        most, begin = n_nodes.repeat(n_nodes), self.roots.repeat(n_nodes)
        for name in ("parent", "first_child", "next_sibling", "previous_sibling"):
            link = found[name]
            right = (link >= NULL) & (link < most)
            right[self.roots] |= name == "previous_sibling"  # which nobody asks of a root
            _needed((right | ~self.live).all(), "a link leads outside the tree")
            found[name] = np.where(self.live & (link != NULL), link + begin, NULL)
        self.parent, self.first, self.next, self.before, self.level, self.n, self.n_children = (
            found[name] for name in LINKS
        )

    def check(self, *, compressed: bool) -> None:
        """Check the trees themselves, and that the other numbers are free."""
        size, roots = self.parent.size, self.roots
        right = (self.parent[roots] == NULL).all() and not self.level[roots].any()
        _needed(right, "the root is not the root")
        inside = self.live.copy()
        inside[roots] = False
        live, children = np.flatnonzero(self.live), np.flatnonzero(inside)
        above = self.parent[children]
        _needed((above != NULL).all() and self.live[above].all(), "a node hangs nowhere")
        # So all hang on the root, as levels end there.
        step = self.level[children] - self.level[above]
        level = self.level[live]
        _needed((step >= 1).all() and (level >= 0).all(), "a node is not below another")
        _needed((level <= self.depth).all(), "a node is below all levels")
        number = np.bincount(above, minlength=size)
        _needed(np.array_equal(number[live], self.n_children[live]), "numbers of children differ")
        ends = level == self.depth
        _needed(np.array_equal(number[live] == 0, ends), "a node without children is not a leaf")
        if compressed:
            _needed((number[children] != 1).all(), "a node has a single child")
        else:
            _needed((step == 1).all(), "a branch skips a level")
        self._check_siblings(children, above, number)
        right = (self._count(live[ends]) == self.n_leaves).all()
        _needed(right, "the number of leaves differs")
        if not compressed:
            right = (self._count(live[level == self.depth - 1]) == self.n_twigs).all()
            _needed(right, "the number of twigs differs")
        _needed(self.n[live].min() >= 1, "a node has no rows")
        below = np.bincount(above, weights=self.n[children], minlength=size)
        inner = live[~ends]
        _needed(np.array_equal(below[inner], self.n[inner]), "numbers of rows do not add up")

    def _count(self, nodes: Integers) -> Integers:
        """Return how many nodes each tree has of some that are in order."""
        return np.diff(np.searchsorted(nodes, [*self.roots, self.parent.size]))

    def _check_siblings(self, children: Integers, above: Integers, number: Integers) -> None:
        """Check that the children of every node are a list from its first to its last."""
        follows = self.next[children]
        has_next = follows != NULL
        after = follows[has_next]
        _needed(self.live[after].all(), "a sibling does not hang on the tree")
        same = self.parent[after] == above[has_next]
        _needed(same.all() and (self.before[after] == children[has_next]).all(), "siblings differ")
        first = self.first[above]
        _needed((first != NULL).all() and (self.parent[first] == above).all(), "no first child")
        _needed((self.before[first] == NULL).all(), "a first child is not the first")
        barren = self.live & (number == 0)
        _needed((self.first[barren] == NULL).all(), "a leaf has a child")
        _needed((self.next[self.roots] == NULL).all(), "the root has a sibling")
        # Steps to the end of each list, in leaps of 1, 2, 4, … siblings.
        length, leap = np.ones(self.parent.size, dtype=np.int64), self.next.copy()
        for _ in range(int(number.max(initial=0)).bit_length()):
            some = np.flatnonzero(leap != NULL)
            if not some.size:
                break
            there = leap[some]
            length[some], leap[some] = length[some] + length[there], leap[there]
        parents = np.flatnonzero(number)
        whole = length[self.first[parents]] == number[parents]
        _needed(whole.all() and (leap == NULL).all(), "siblings are no list")


class _Links:
    """The links of one of these trees, once they are known to be that."""

    def __init__(self, nodes: npt.NDArray[Any], live: npt.NDArray[np.bool_], depth: int) -> None:
        self.nodes, self.live, self.depth = nodes, live, depth
        self.parent, self.level, self.n = nodes["parent"], nodes["level"], nodes["n"]
        self.leaves = np.flatnonzero(live & (self.level == depth))

    def check_phi(self, coordinates: npt.NDArray[Any]) -> None:
        """Check that φ of the inner nodes are numbers; what else nodes have follows from them."""
        inner = self.live & (self.level < self.depth)
        check_law("phi", coordinates[inner, :, PHI], DRAW)

    def check_data(self, leaf: Integers, listed: Integers | None) -> None:
        """Check that rows sit in the leaves, as many as these say."""
        _needed(leaf.max(initial=0) < self.parent.size, "a row sits in a node that is not there")
        count = np.bincount(leaf, minlength=self.parent.size)
        wanted = np.zeros_like(count)
        wanted[self.leaves] = self.n[self.leaves]
        _needed(np.array_equal(count, wanted), "rows do not sit in the leaves")
        if listed is not None:
            self.check_slots(listed)

    def check_groups(self, found: Arrays, group: npt.NDArray[Any]) -> None:
        """Check the sticks, and that rows of groups are counted below every node as they sit."""
        live, seated = self.live, found["seated"]
        above = self.parent[live]
        top = np.where(above == NULL, -1, self.level[above])
        names = ("stick", "rest", "theta", "theta_rest")
        sticks = {name: found[name][live] for name in names if name in found}
        check_sticks(sticks, top, self.level[live])
        count = np.zeros_like(seated)
        if PARALLEL in found:
            count[found["leaves"], :-1] = found["sums_seated"]
        else:
            np.add.at(count, (found["leaf"], group), 1)
        for level in range(self.depth, 0, -1):
            here = np.flatnonzero(live & (self.level == level))
            np.add.at(count, self.parent[here], count[here])
        right = np.array_equal(count[live], seated[live])
        _needed(right, "rows of groups do not sit where they are counted")

    def check_leaves(self, leaves: Integers, slots: Integers | None) -> None:
        """Check that all leaves are listed, each once."""
        _needed(np.array_equal(np.sort(leaves), self.leaves), "the leaves are not those listed")
        if slots is not None:
            self.check_slots(slots)

    def check_slots(self, listed: Integers) -> None:
        """Check that all leaves are listed where they say."""
        _needed(np.array_equal(np.sort(listed), self.leaves), "the leaves are not those listed")
        slot = self.nodes["slot"][listed]
        _needed(np.array_equal(slot, np.arange(listed.size)), "leaves are listed elsewhere")


def _check_blocks(found: Arrays) -> None:
    """Check the rows that have left memory, if there are any."""
    optional = ("stream_seated", "stream_lost")
    names = [name for name in CHAIN if name.startswith("stream_") and name not in optional]
    there = [name in found for name in names]
    _needed(all(there) or not any(there), "a chain lacks blocks")
    if all(there):
        n, next_number = map(int, found["stream_words"])
        blocks = found["stream_n"]
        _needed(n == sum(blocks.tolist()), "blocks have other rows than they say")
        _needed(n < 2**53, "there are more rows than can be")
        if "stream_lost" in found:
            _needed((found["stream_lost"] < blocks).all(), "blocks have lost more than they have")
        if "sums_seated" in found:
            seated = found.get("stream_seated", np.zeros((blocks.size, 1), dtype=np.int64))
            _needed(np.array_equal(seated.sum(axis=1), blocks), "blocks have rows of no group")
        number = found["stream_number"]
        _needed(len(np.unique(number)) == number.size, "two blocks have the same number")
        if number.size:
            _needed(number.min() >= 2**63 and int(number.max()) < next_number, "numbers of blocks")


def _close(array: npt.NDArray[Any], expected: npt.NDArray[Any], above: float = 1e-300) -> bool:
    """Return whether numbers are as expected, but for rounding; NaN and infinity never are."""
    return bool((np.abs(array - expected) <= above + 1e-6 * np.abs(expected)).all())


def _size_of(array: npt.NDArray[Any] | None) -> int:
    return 0 if array is None else int(array.size)


def _needed(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(what)
