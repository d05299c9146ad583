"""What all pictures share: colours, letters, Axes, a base class, and what they ask of a fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.errors import ParameterError
from sticktree.palette import CLUSTERS
from sticktree.present.table import shortened
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

# Okabe and Ito's palette, told apart by colour-blind readers and in print; without its black and
# its yellow, which is too pale for lines.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
# Classes have colours of their own, Paul Tol's muted ones first, so that a reader never takes a
# class for a cluster.
CLASSES = (
    *("#332288", "#DDCC77", "#CC6677", "#88CCEE", "#117733", "#44AA99", "#882255", "#999933"),
    *("#AA4499", "#4B3C00", "#87C3A5", "#698700", "#693C96", "#6996F0", "#B4B44B", "#3C5A1E"),
    *("#5AB4D2", "#B44B69", "#7887B4"),
)
INK = "#222222"
PAPER = "#FFFFFF"
REST = "#D9D9D9"


def pyplot() -> ModuleType:
    """Return matplotlib.pyplot, or raise ImportError with the way to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "pictures need matplotlib: install it with `pip install sticktree[plot]`"
        ) from None
    return plt


def new_axes(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """Return ``ax``, or the Axes of a new figure."""
    if ax is None:
        ax = pyplot().subplots(figsize=figsize, layout="constrained")[1]
    return ax


def open_frame(ax: Axes, x_label: str = "", y_label: str = "") -> None:
    """Leave the frame open above and at the right, with small numbers; name the axes if asked to.

    Labels are plain text: the name of a column may have dollar signs.
    """
    ax.tick_params(labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    if x_label:
        ax.set_xlabel(x_label, fontsize=8, parse_math=False)
    if y_label:
        ax.set_ylabel(y_label, fontsize=8, parse_math=False)


def draw_dots(
    ax: Axes,
    x: FloatArray,
    y: FloatArray,
    *,
    size: float = 22.0,
    colour: str = INK,
    marker: str = "o",
    label: str | None = None,
) -> None:
    """Draw dots that stand out from lines and areas."""
    ax.scatter(
        x,
        y,
        s=size,
        color=colour,
        marker=marker,
        label=label,
        edgecolors=PAPER,
        linewidths=0.6,
        zorder=4,
    )


def points(ax: Axes) -> tuple[float, float]:
    """Return width and height of Axes in points, as they will be once the figure is laid out."""
    figure = ax.figure.figure  # of Axes in a subfigure the whole one
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    box = ax.get_window_extent()
    return box.width * 72 / figure.dpi, box.height * 72 / figure.dpi


def colours(n: int, palette: tuple[str, ...] = CLUSTERS) -> FloatArray:
    """Return ``n`` colours, an RGB row each; beyond the palette's length they come again."""
    return np.array([rgb(palette[k % len(palette)]) for k in range(n)]).reshape(n, 3)


def paler(colour: FloatArray, share: float) -> FloatArray:
    """Mix colours with a share of white."""
    return np.asarray(colour + share * (1.0 - colour))


def branch_colours(tree: Tree) -> FloatArray:
    """Return an RGB row for every node: a hue per branch of the root, pale and paler below.

    Branches take the hues in the order of their indices, so the same tree is always coloured alike.
    """
    hues = np.array([rgb(colour) for colour in PALETTE])
    hue = np.tile(rgb(INK), (tree.n_nodes, 1))
    pale = np.zeros((tree.n_nodes, 1))
    top = _first_branching(tree)
    place = tree.rank - 1
    for nodes in tree.nodes_by_level[1:]:
        above = tree.parent[nodes]
        first = nodes[above == top]
        hue[first] = hues[place[first] % len(hues)]
        lower = nodes[tree.level[above] > tree.level[top]]
        above = tree.parent[lower]
        # Every second sibling is a little paler, so that neighbours can be told apart.
        hue[lower] = hue[above]
        pale[lower] = np.minimum(0.5, pale[above] + 0.25 * (place[lower] % 2)[:, None])
    return np.asarray(hue + pale * (1 - hue))


def readable_on(background: FloatArray) -> str:
    """Return the text colour, dark or white, with the better contrast by WCAG's luminance."""
    linear = np.where(
        background <= 0.04045, background / 12.92, ((background + 0.055) / 1.055) ** 2.4
    )
    luminance = float(linear @ np.array([0.2126, 0.7152, 0.0722]))
    return INK if luminance > 0.2 else PAPER


def rgb(colour: str) -> tuple[float, ...]:
    """Return red, green and blue of #RRGGBB, each between 0 and 1."""
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))


def _first_branching(tree: Tree) -> int:
    """Return the deepest node that all paths pass."""
    node = 0
    while tree.n_children[node] == 1:
        node = int(tree.children(node)[0])
    return node


SMALLEST = 6.0
"""Points: the smallest font that is legible in print."""
SMALLEST_NAME = 5.0
"""Points: names of rows may be a little smaller, since without them there are none."""
LINE = 1.15
"""From one line of text to the next, in units of the font size."""


def one_line(text: Any, longest: int = 28) -> str:
    r"""Return a text on one line, without control characters, cut where it is too long.

    Examples
    --------
    >>> from sticktree.plotting.base import one_line
    >>> one_line("a\n b"), one_line("abcdef", longest=4)
    ('a b', 'abc…')
    """
    visible = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in str(text))
    return shortened(" ".join(visible.split()), longest)


def as_it_is(texts: Iterable[Text]) -> None:
    """Keep matplotlib from reading what lies between dollars as mathematics."""
    for text in texts:
        text.set_parse_math(False)


def widest(texts: Sequence[str], fontsize: float) -> float:
    """Return the width in points of the widest of some texts."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=fontsize)
    # The widest is among the longest, but for an odd one that is all narrow letters.
    longest = sorted({text for text in texts if text}, key=len)[-20:]
    return max(
        (text_to_path.get_text_width_height_descent(t, font, False)[0] for t in longest),
        default=0.0,
    )


class Display:
    """A picture: what it shows, and where, once it is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of these.
    """

    ax_: Axes
    figure_: Figure

    def _drawn(self, ax: Axes) -> Self:
        """Return the display, which is drawn now."""
        self.ax_, self.figure_ = ax, ax.figure.figure
        return self


def check_tree(tree: Any) -> Tree:
    """Return a tree that has data, or raise."""
    if not isinstance(tree, Tree):
        raise TypeError(f"tree must be a sticktree.Tree, got {type(tree).__name__}")
    if tree.n_data == 0:
        raise ParameterError("tree", tree, "data", verb="have", shown="a tree without any")
    return tree


def check_fitted(estimator: Any) -> Any:
    """Return a mixture that has draws, or raise."""
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be a fitted DFPMixture, got {type(estimator).__name__}")
    check_is_fitted(estimator, "posterior_")
    return estimator


WhichTree = Literal["consensus", "clusters"]
"""The two trees of a fitted mixture: ``tree_`` and ``cluster_tree_``."""
TIMES: dict[WhichTree, str] = {"consensus": "level", "clusters": "order of parting"}
"""What the times of each are."""


def tree_of(estimator: Any, which: WhichTree = "consensus") -> Tree:
    """Return a tree of a fitted mixture: that of the draws, or the one whose cuts are clusters."""
    if which not in ("consensus", "clusters"):
        raise ParameterError("tree", which, '"consensus" or "clusters"')
    fitted = check_fitted(estimator)
    return check_tree(fitted.tree_ if which == "consensus" else fitted.cluster_tree_)


def rows_of(estimator: Any) -> npt.NDArray[np.int64]:
    """Return the row of the fit that each datum of the tree is, without those of weight 0."""
    rows: npt.NDArray[np.int64] = estimator.fit_.training.fitted_rows
    return rows


def data_of(estimator: Any) -> FloatArray:
    """Return a row for each datum of the tree as the model takes them, but in the user's units.

    Lognormal columns are logarithms, and categories are codes.
    """
    training = check_fitted(estimator).fit_.training
    restored = training.scaling.restored(training.standardised[training.first_data])
    return np.asarray(restored, dtype=np.float64)


def column_names(estimator: Any) -> list[str]:
    """Return the names of the columns of a fitted mixture: x0, x1, … if its data were an array."""
    columns = estimator.columns_
    if columns.container == "array":
        return [f"x{k}" for k in range(len(columns))]
    return [str(name) for name in columns.names]


def names_of_data(estimator: Any) -> list[str]:
    """Return the names of the columns of :func:`data_of`: those of logarithms begin with log."""
    pairs = zip(column_names(estimator), estimator.columns_.is_log, strict=True)
    return [f"log {name}" if is_log else name for name, is_log in pairs]


def read_names(names: Any, tree: Tree) -> list[str] | None:
    """Return a name for each datum: those given, those of the tree if it is True, or none."""
    if names is True:
        names = tree.names
    if names is None or names is False:
        return None
    if isinstance(names, str) or np.ndim(names) != 1 or len(names) != tree.n_data:
        expected = f"True, False or {tree.n_data} texts, one for each datum"
        raise ParameterError("names", names, expected)
    return [one_line(name) for name in names]
