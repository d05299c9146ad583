"""Figure 4: a tree of the Dirichlet diffusion tree beside one of the DFP mixture, on one set."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.draw import Draw
from sticktree.tree import Tree
from sticktree_paper.figure_fits import Made, agreement, tree_fits

if TYPE_CHECKING:
    from sticktree import DFPMixture

TITLE = "trees of a DDT and of a DFP mixture"
WIDTH, HEIGHT = 10.0, 3.7  # inches
STRIP = (1.015, 1.045)  # times, below the tips
MODELS = {"DDT": "Dirichlet diffusion tree", "DFP": "DFP mixture"}


def make_figure_4(
    *,
    seed: int = 0,
    quick: bool = False,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Made:
    """Fit both models to the synthetic set and draw Figure 4."""
    from sticktree.datasets import load

    synthetic = load("synthetic")
    fits = tree_fits(synthetic.data, seed=seed, quick=quick, n_jobs=n_jobs, progress=progress)
    return figure_4(fits, synthetic.data, synthetic.labels)


def figure_4(fits: Mapping[str, DFPMixture], data: Any, classes: Any) -> Made:
    """Draw Figure 4: the data, and for each fit the tree of a typical draw.

    Parameters
    ----------
    fits : mapping of str to DFPMixture
        Fits of the same rows by the names of their models.
    data : array, shape (N, 2)
        The rows.
    classes : sequence
        The cluster that each row was made in, which gives the colours.

    Returns
    -------
    Made
        With how the trees of all draws branch as ``parsimony``.
    """
    from matplotlib.figure import Figure

    from sticktree.plotting.groups import read_groups

    if not fits:
        raise ValueError("fits must have one fitted mixture or more, got none")
    points = np.asarray(data, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"data must have two columns, got shape {points.shape}")
    groups = read_groups("classes", classes, len(points))
    if groups is None:
        raise ValueError("classes must be a class for each row, got None")
    colour = groups.of_rows()
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes: Any = figure.subplots(1, 1 + len(fits), width_ratios=[0.85] + [1.3] * len(fits))
    _draw_data(axes[0], points, colour)
    parsimony = {}
    for ax, (name, fit) in zip(axes[1:], fits.items(), strict=True):
        parsimony[name] = Parsimony.of(fit.posterior_.draws)
        _draw_tree(ax, MODELS.get(name, name), fit, classes, colour)
    return Made(TITLE, _caption(fits, parsimony), [("figure-4-trees", figure)], parsimony)


def with_rows(tree: Tree, depth: int) -> Tree:
    """Return a tree in time from 0 to 1, in which every datum ends in a leaf of its own at 1.

    Only children are left out.

    Examples
    --------
    >>> from sticktree import Tree
    >>> with_rows(Tree.from_paths([(1, 1), (1, 1), (2, 1)]), depth=4).time
    array([0. , 0.5, 1. , 1. , 1. ])
    """
    tree = tree.canonical()
    ends = np.arange(tree.n_data) + tree.n_nodes
    return Tree(
        np.concatenate([tree.parent, tree.leaf]),
        ends,
        time=np.concatenate([tree.level / depth, np.ones(tree.n_data)]),
    ).compressed()


def _draw_data(ax: Any, points: FloatArray, colour: FloatArray) -> None:
    """Draw the rows, small: they lie close together."""
    ax.scatter(points[:, 0], points[:, 1], s=7, c=colour, linewidths=0)
    ax.set_aspect("equal", anchor="N")
    ax.set_title("data", fontsize=9, loc="left")
    ax.set_xlabel("x0", fontsize=8)
    ax.set_ylabel("x1", fontsize=8)
    ax.tick_params(labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_tree(ax: Any, title: str, fit: DFPMixture, classes: Any, colour: FloatArray) -> None:
    """Draw the typical draw of a fit; its title has how it branches."""
    from sticktree.plotting import DendrogramDisplay
    from sticktree.plotting.canvas import Frame, draw_strip
    from sticktree.plotting.outline import Rows

    draw = typical_draw(fit.posterior_.draws).tree
    tree, shape = with_rows(draw, fit.depth_), Shape.of(draw)
    DendrogramDisplay(tree, labels=classes, names=False).plot(
        ax=ax, orientation="top", supports=False
    )
    # Late branchings lie so close to the rows that their colours would hardly be seen.
    draw_strip(Frame(ax, "top"), colour[Rows.of(tree).order], *STRIP)
    ax.set_ylim(STRIP[1] + 0.005, -0.005)
    ax.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "0.25", "0.5", "0.75", "1"])
    ax.set_ylabel("time", fontsize=8)
    numbers = (
        f"{shape.n_internal} internal nodes, {shape.mean_children:.1f} children each, "
        f"at most {shape.widest}"
    )
    ax.set_title(f"{title}\n{numbers}", fontsize=9, loc="left")


def _caption(fits: Mapping[str, DFPMixture], parsimony: Mapping[str, Parsimony]) -> str:
    """Describe what the figure shows, and how the trees of all draws branch."""
    text = [
        "Left: the data, coloured by the cluster they were made in. Then, for each model, the tree "
        "of a typical draw: of those with the median number of internal nodes, the likeliest. "
        "Internal nodes are those with two children or more above the leaves, whose rows part in "
        "the last step; only children are left out, in both models alike."
    ]
    for name, fit in fits.items():
        found = parsimony[name]
        text.append(
            f"{name} in {fit.depth_} steps, over {found.n_draws} draws (mean ± sd): "
            f"{found.n_internal} internal nodes with {found.mean_children} children, the widest "
            f"with {found.widest}, and {found.n_leaves} leaves; {agreement(fit)}."
        )
    return " ".join(text)


class Spread(NamedTuple):
    """Mean and standard deviation over draws."""

    mean: float
    sd: float

    def __str__(self) -> str:
        """Return both with one decimal."""
        return f"{self.mean:.1f} ± {self.sd:.1f}"


@dataclass(frozen=True)
class Shape:
    """How a tree branches.

    Nodes that no datum passes and only children do not count, so trees of few and of many levels
    can be compared. Data that sit in an inner node are one more child of it; those that share a
    leaf count once.

    Attributes
    ----------
    n_internal : int
        Number of nodes that branch.
    mean_children : float
        Mean number of their children; 0 if none branches.
    widest : int
        The greatest number of children.
    n_leaves : int
        Number of nodes without children.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree_paper.figure_trees import Shape
    >>> Shape.of(Tree.from_paths([(1, 1, 1), (1, 1, 2), (1, 1, 3), (2, 1, 1)]))
    Shape(n_internal=2, mean_children=2.5, widest=3, n_leaves=4)
    """

    n_internal: int
    mean_children: float
    widest: int
    n_leaves: int

    @classmethod
    def of(cls, tree: Tree) -> Shape:
        """Count the branchings of a tree."""
        tree = tree.pruned()
        inner = tree.n_children > 0
        children = tree.n_children[inner] + (tree.own_count[inner] > 0)
        width = children[children > 1]
        return cls(
            n_internal=width.size,
            mean_children=float(width.mean()) if width.size else 0.0,
            widest=int(width.max(initial=0)),
            n_leaves=int(np.count_nonzero(~inner)),
        )


@dataclass(frozen=True)
class Parsimony:
    """How the trees of all draws branch, each number as in :class:`Shape`, and the one shown.

    Attributes
    ----------
    n_draws : int
        Number of draws.
    n_internal, mean_children, widest, n_leaves : Spread
        Mean and standard deviation over draws.
    shown : Shape
        Of the typical draw.
    """

    n_draws: int
    n_internal: Spread
    mean_children: Spread
    widest: Spread
    n_leaves: Spread
    shown: Shape

    @classmethod
    def of(cls, draws: Sequence[Draw]) -> Parsimony:
        """Count the branchings of every draw."""
        table = np.array([astuple(Shape.of(draw.tree)) for draw in draws], dtype=float)
        spreads = [Spread(float(column.mean()), float(column.std())) for column in table.T]
        names = [field.name for field in fields(Shape)]
        return cls(
            n_draws=len(draws),
            shown=Shape.of(typical_draw(draws).tree),
            **dict(zip(names, spreads, strict=True)),
        )


def typical_draw(draws: Sequence[Draw]) -> Draw:
    """Return a draw to stand for all: of those with the median number of branchings the likeliest.

    Of an even number of draws it is the lower median. The likeliest has the largest log joint.
    """
    n_internal = [Shape.of(draw.tree).n_internal for draw in draws]
    median = statistics.median_low(n_internal)
    among = [draw for draw, n in zip(draws, n_internal, strict=True) if n == median]
    return max(among, key=lambda draw: draw.log_joint)
