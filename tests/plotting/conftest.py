"""Trees like those that pictures are made of, and a check that texts do not overlap."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

mpl.use("agg")
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from sticktree import DFPMixture, Tree
from sticktree.posterior.draws import ConvergenceWarning


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def _consensus(n_data, seed=0, names=None, end=4.0):
    """Make a binary tree with times and supports, larger children first: average linkage."""
    rng = np.random.default_rng(seed)
    if n_data == 1:
        return Tree([-1], [0], time=[end], support=[1.0], names=names)
    joins = linkage(rng.normal(size=(n_data, 3)), "average")
    size = np.concatenate([np.ones(n_data), joins[:, 3]])
    time = np.concatenate([np.full(n_data, end), (end - 1) * (1 - joins[:, 2] / joins[-1, 2])])
    parent, nodes, queue = [-1], [], [(2 * n_data - 2, 0)]
    leaf = np.empty(n_data, dtype=int)
    while queue:  # breadth first: parents before children
        nodes += [old for old, _ in queue]
        below = []
        for old, new in queue:
            if old < n_data:
                leaf[old] = new
                continue
            for child in sorted(map(int, joins[old - n_data, :2]), key=lambda w: -size[w]):
                parent.append(new)
                below.append((child, len(parent) - 1))
        queue = below
    support = np.where(np.array(nodes) < n_data, 1.0, rng.beta(2, 1, len(nodes)))
    support[0] = 1.0
    return Tree(parent, leaf, time=time[nodes], support=support, names=names)


def _ladder(n_data, star=1, end=4.0):
    """Make a chain that loses one row after the other, down to a star of the last ones."""
    parent, leaf, time, node = [-1], [0] * n_data, [0.0], 0
    for k in range(n_data - 1, star - 1, -1):
        onward = len(parent)
        parent += [node, node]
        share = 0.7 * (n_data - k) / n_data
        time += [end * share if k > 1 else end, end]
        leaf[k] = onward + 1
        node = onward
    if star > 1:
        for k in range(star):
            leaf[k] = len(parent)
            parent.append(node)
            time.append(end)
    return Tree(parent, leaf, time=time, support=np.linspace(1, 0, len(parent)))


@pytest.fixture(scope="session")
def consensus():
    """Return a function that makes trees like a consensus."""
    return _consensus


@pytest.fixture(scope="session")
def ladder():
    """Return a function that makes trees that lose one row after the other."""
    return _ladder


def _texts(figure):
    """Return all texts that drawing a figure draws, with the boxes that they take."""
    drawn = []
    plain = Text.draw

    def watched(text, renderer, *args, **kwargs):
        if text.get_visible() and text.get_text().strip():
            drawn.append(text)
        return plain(text, renderer, *args, **kwargs)

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # once to settle the layout
    Text.draw = watched
    try:
        canvas.draw()
    finally:
        Text.draw = plain
    return [(text, text.get_window_extent(canvas.get_renderer())) for text in drawn]


@pytest.fixture(scope="session")
def assert_legible():
    """Return a check that no two texts of a figure overlap, and that all of them are inside."""

    def check(figure, smallest=5.0):
        shown = _texts(figure)
        inside = figure.bbox
        for k, (text, box) in enumerate(shown):
            assert box.x0 >= inside.x0 - 1, text
            assert box.x1 <= inside.x1 + 1, text
            assert box.y0 >= inside.y0 - 1, text
            assert box.y1 <= inside.y1 + 1, text
            for other, place in shown[:k]:
                width = min(box.x1, place.x1) - max(box.x0, place.x0)
                height = min(box.y1, place.y1) - max(box.y0, place.y0)
                assert width <= 1 or height <= 1, (text, other)
            assert text.get_fontsize() >= smallest, text
        return [text.get_text() for text, _ in shown]

    return check


@pytest.fixture(scope="session")
def fit():
    """Return a function that fits a small mixture, of one engine, to three groups of rows."""
    kept = {}

    def make(n_columns):
        if n_columns not in kept:
            rng = np.random.default_rng(n_columns)
            centres = np.array([[0.0], [4.0], [9.0]]) + np.zeros(n_columns)
            data = np.repeat(centres, 12, axis=0) + 0.5 * rng.standard_normal((36, n_columns))
            mixture = DFPMixture(
                depth=3,
                covariance_type="full",
                leaf_noise="shared",
                n_chains=2,
                n_warmup=50,
                n_draws=50,
                random_state=0,
                progress=False,
            )
            with np.errstate(all="ignore"):
                kept[n_columns] = _quiet(mixture, data)
        return kept[n_columns]

    return make


def _quiet(mixture, data):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(data)
    return mixture
