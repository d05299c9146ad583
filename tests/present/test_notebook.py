"""HTML for notebooks: well-formed, inert, small."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from sticktree import DFPMixture, Tree
from sticktree.data import read_table
from sticktree.inference.course import Course
from sticktree.posterior import Draw, Posterior
from sticktree.posterior.draws import Diagnosis
from sticktree.posterior.settled import Settled
from sticktree.present.notebook import html_of_fit
from tests.support.made_fits import linkage_tree
from tests.support.made_fits import mixture as mixture_of
from tests.support.models import of_depth
from tests.support.trees import caterpillar, sample_consensus

EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>\" & é"


class Page(HTMLParser):
    """Reads a page, and checks that what is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.open = [], "", []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def assert_inert(page):
    assert not {tag for tag, _ in page.tags} & {"script", "img", "iframe", "link", "a", "style"}
    for _, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)


def draw_of(paths, **values):
    tree = Tree.from_paths(paths)
    return Draw(
        leaf=tree.leaf,
        parent=np.maximum(tree.parent, 0),
        level=tree.level,
        parameters=values.pop("parameters", {"scales": np.arange(2.0)}),
        traced=values.pop("traced", ("scales",)),
        **{"concentration": 1.0, "discount": 0.0, "log_joint": 0.0} | values,
    )


@pytest.fixture
def posterior():
    chains = [
        [draw_of([(1, 1), (1, 2), (2, 1)], log_joint=float(10 * c + d)) for d in range(4)]
        for c in range(2)
    ]
    return Posterior(chains, of_depth(2))


# ---- trees -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree",
    [
        Tree([-1]),
        Tree([-1], [0]),
        Tree([-1], [0, 0], time=[0.0]),
        Tree([-1, 0, 0], [1, 2], time=[0.0, 0.0, 0.0]),
        Tree([-1, 0, 0], [0, 2], support=[np.nan, 1.0, 0.5]),
        sample_consensus(200),
        caterpillar(3000),
    ],
)
def test_every_tree_gives_a_small_inert_page(tree):
    text = tree._repr_html_()
    page = Page(text)
    assert_inert(page)
    assert len(text) < 30_000
    assert f"{tree.n_nodes:,} node" in page.text
    for tag, known in page.tags:
        if tag == "rect" and "x" in known:
            assert 0 <= float(known["x"]) <= 680
            assert float(known["y"]) + float(known["height"]) <= 150.2


def test_supports_are_told_and_explained():
    tree = Tree([-1, 0, 0, 1, 1], [3, 4, 2], support=[1, 0.25, 1, 1, 1])
    text = tree._repr_html_()
    assert "exact support 0.25" in text
    assert "the share of draws with exactly these rows." in text
    both = tree.annotated(transfer=[1, 0.75, 1, 1, 1])._repr_html_()
    assert "transfer support 0.75, exact support 0.25" in both
    assert "the higher the transfer support: 1 − the share of rows that would have to move" in both
    assert 'fill-opacity="0.72"' in both  # 0.2 + 0.7 × 0.75


def test_names_are_inert():
    tree = sample_consensus(12).annotated(names=[EVIL] * 12)
    page = Page(tree._repr_html_())
    assert_inert(page)
    assert "<script>alert" in page.text


def test_many_data_with_long_names_stay_small():
    tree = Tree([-1] + [0] * 100_000, np.arange(1, 100_001), names=["<" * 500] * 100_000)
    assert len(tree._repr_html_()) < 30_000


def test_branches_lie_below_each_other():
    tree = Tree([-1, 0, 0, 1, 1], [3, 3, 4, 2], time=[0, 1, 2, 2, 2])
    page = Page(tree._repr_html_())
    rects = [known for tag, known in page.tags if tag == "rect" and "x" in known]
    assert len(rects) == 5
    wide = sorted(float(known["width"]) + 0.5 for known in rects)
    np.testing.assert_allclose(wide, [170, 170, 340, 510, 680], atol=0.1)


def boxes_of(page):
    """Left, top, width and height of all that is drawn, but for the background."""
    found = []
    for tag, known in page.tags:
        if tag == "rect" and "x" in known:
            found.append([float(known[name]) for name in ("x", "y", "width", "height")])
        if tag == "path":
            boxes = re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z", known["d"])
            assert len(boxes) == known["d"].count("z")
            found += [list(map(float, box)) for box in boxes]
    return np.array(found)


@pytest.mark.parametrize("n_data", [40, 150, 2_000])
def test_the_picture_has_all_of_the_tree(n_data):
    # As deep as a consensus of real draws, which was once cut off after its 150 largest branches.
    rng = np.random.default_rng(n_data)
    left, top, width, height = boxes_of(
        Page(linkage_tree(rng.normal(size=(n_data, 2)))._repr_html_())
    ).T
    for x in rng.uniform(0, 680, 60):
        here = (left <= x + 0.6) & (left + width >= x - 0.6)
        assert (top[here] + height[here]).max() > 148  # down to the data
        # From the root on, but for the lines between branches.
        order = np.argsort(top[here])
        reached = 0.0
        for start, long in zip(top[here][order], height[here][order], strict=True):
            assert start <= reached + 1.5
            reached = max(reached, start + long)


# ---- draws -------------------------------------------------------------------------------------


def test_scalars_as_a_frame(posterior):
    frame = posterior.to_frame()
    assert frame.index.names == ["chain", "draw"]
    assert frame.loc[(1, 2), "log_joint"] == 12.0
    for name, values in posterior.scalars().items():
        columns = [name] if values.ndim == 2 else [f"{name}[{k}]" for k in range(values.shape[2])]
        np.testing.assert_array_equal(frame[columns].to_numpy(), values.reshape(8, -1))
    assert Posterior([[]], of_depth(2)).to_frame().empty


def test_posterior_page(posterior):
    page = Page(posterior._repr_html_())
    assert_inert(page)
    assert "2 chains, 4 draws each" in page.text
    assert f"{posterior.to_frame()['log_joint'].mean():.4g}" in page.text
    assert "branches at level 2" in page.text
    assert "0 draws each" in Page(Posterior([[]], of_depth(2))._repr_html_()).text


def test_a_long_posterior_is_read_in_part():
    class Counted(Posterior):
        asked = 0

        def scalars(self):
            Counted.asked = max(Counted.asked, len(self))
            return super().scalars()

    draws = [draw_of([(1, 1), (2, 1)], parameters={"scales": np.ones(40)}, traced=("scales",))]
    page = Page(Counted([draws * 1010] * 2, of_depth(2))._repr_html_())
    assert Counted.asked <= 100
    assert "more are left out. From 49 draws of each chain" in page.text


def test_a_diagnosis_says_what_to_think_of_it():
    settled = Settled(2, 0.001, 0.05, 0.02, 0.98, 1.0, 0.99)
    found = Diagnosis(
        {"log_joint": 1.31, "nodes[1]": 1.02}, {"log_joint": 40, "nodes[1]": 9}, settled
    )
    text = repr(found)
    assert text.startswith(f"Diagnosis({found.verdict().agreement}: {found.verdict().text}")
    assert "Largest R-hat 1.31: log joint density; fewest effective draws 9: branches at" in text
    page = Page(found._repr_html_())
    assert_inert(page)
    assert "log joint density1.3140branches at level 21.029" in page.text
    assert repr(Diagnosis({}, {})).startswith("Diagnosis(cannot tell: ")
    assert "cannot be told" in Page(Diagnosis({}, {})._repr_html_()).text


def test_columns_say_what_they_are():
    frame = pd.DataFrame({"height": [1.5, 2.5], EVIL: ["x", "<b>"], "n": [3, 4]})
    columns = read_table(frame, {"n": "poisson"}).columns
    assert repr(columns).startswith("Columns(1 gaussian (height), 1 categorical (")
    page = Page(columns._repr_html_())
    assert_inert(page)
    assert "heightgaussian" in page.text
    assert "categorical<b>, x" in page.text
    wide = read_table(np.zeros((2, 200))).columns
    assert "140 more are left out" in Page(wide._repr_html_()).text


# ---- fits --------------------------------------------------------------------------------------


def fitted(posterior, clusters=0.98, **changes):
    """Return an estimator that looks as after a fit."""
    mixture = DFPMixture()
    labels = 1.0 if clusters > 0.9 else 0.4
    known = {
        "posterior": posterior,
        "tree": sample_consensus(30),
        "labels": np.repeat([0, 1, 2], [5, 20, 5]),
        "strays": np.arange(30) < 2,
        "depth": 3,
        "level": 2,
        "model": SimpleNamespace(depth=2, covariance_type="full", leaf_noise="shared"),
        "selection": None,
        "stream": None,
        "markers": mixture_of(np.arange(30.0)[:, None], labels=np.arange(30) // 10).markers,
        "relevance": mixture_of(np.arange(30.0)[:, None], labels=np.arange(30) // 10).relevance,
        "sampled": SimpleNamespace(course=Course()),
        "diagnosis": Diagnosis({}, {}, Settled(2, 0.001, 0.05, 0.02, clusters, labels, 0.99)),
        "training": SimpleNamespace(
            n_data=30,
            n_rows=30,
            names=None,
            fitted_rows=np.arange(30),
            factors=None,
            groups=None,
            groups_of_rows=lambda: None,
        ),
    }
    mixture.fit_ = SimpleNamespace(**known | changes)
    return mixture


def test_the_diagram_of_scikit_learn_stays_and_a_summary_follows(posterior):
    plain = DFPMixture()
    assert html_of_fit(plain) == ""
    assert "sk-" in plain._repr_html_()
    mixture = fitted(posterior)
    page = mixture._repr_mimebundle_()["text/html"]
    assert "sk-" in page
    assert page.endswith(html_of_fit(mixture))
    assert mixture._repr_html_().endswith(html_of_fit(mixture))
    with config_context(display="text"):
        assert "text/html" not in mixture._repr_mimebundle_()
        assert not hasattr(mixture, "_repr_html_")


def test_the_summary_says_what_was_found(posterior):
    page = Page(html_of_fit(fitted(posterior)))
    assert_inert(page)
    assert "3 clusters: 20, 5, 5 rows; 2 rows are strays" in page.text
    assert "depth 3, the same noise at all leaves, full covariance" in page.text
    assert "Density: yes (" in page.text
    assert "30 data" in page.text
    assert "column 04.519.5-" in page.text  # inside, outside and effect of the first cluster


def test_the_summary_says_what_is_wrong(posterior):
    chosen = SimpleNamespace(results=dict.fromkeys("abcd"))
    model = SimpleNamespace(depth=2, covariance_type="full", leaf_noise="own")
    mixture = fitted(posterior, 0.5, selection=chosen, model=model)
    page = Page(html_of_fit(mixture))
    assert "cluster trees by 0.50: chains have found different clusters" in page.text
    assert "each leaf with its own noise, full covariance: the best of 4 by leave" in page.text
    untold = fitted(posterior, diagnosis=Diagnosis({}, {}))
    assert "cannot be told" in Page(html_of_fit(untold)).text


def test_every_answer_has_a_repr_of_a_line():
    """A notebook shows what a cell ends with: never a page of numbers."""
    rng = np.random.default_rng(0)
    rows = rng.normal(np.repeat([[0.0, 0.0], [9.0, 9.0]], 30, axis=0), 1.0)
    mixture = DFPMixture(
        covariance_type="full", leaf_noise="shared", n_chains=2, n_warmup=40, n_draws=40
    )
    mixture.set_params(random_state=0).fit(rows, groups=["a", "b"] * 30)
    shown = {
        "Fit(60 rows, 2 columns; shared full, depth ": mixture.fit_,
        "Course(as long as was asked for; 0 looks)": mixture.course_,
        "LeaveOneOut(elpd -": mixture.loo(),
        "NumberOfClusters(P(2) = ": mixture.number_of_clusters_,
        "Composition(2 groups, 2 clusters)": mixture.composition_,
        "Contrasts('a' over 'b', 2 branches)": mixture.compare("a", "b"),
        "GroupGain(groups do not matter: ": mixture.groups_matter(),
    }
    for beginning, answer in shown.items():
        assert repr(answer).startswith(beginning)
        assert "\n" not in repr(answer)
        assert len(repr(answer)) < 120
