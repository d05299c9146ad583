"""Clusters: scores, the choice of what stands in tables, the page and the part as a whole."""

import csv
import itertools

import numpy as np
import pytest

from sticktree import Tree
from sticktree_paper import clustering_work, reproduce, work
from sticktree_paper.clustering_programs import (
    Clustering,
    Program,
    cut,
    filled_in,
    left_out,
    of_mixture,
    programs,
)
from sticktree_paper.clustering_scores import Comparison, losses
from sticktree_paper.clustering_sets import Labelled, available_sets, labelled, stored_scores
from sticktree_paper.clustering_work import (
    cluster_keys,
    confidence_auc,
    rand_index,
    rightly_clustered,
    scores,
)
from sticktree_paper.clusters import markdown
from sticktree_paper.clusters_figure import figure_clusters
from sticktree_paper.methods import OURS, QUICK
from sticktree_paper.results import Key, Result
from sticktree_paper.work import evaluate

# ---- scores -------------------------------------------------------------------------------------


def test_rows_that_are_noise_in_the_reference_do_not_count():
    reference = np.array([1, 1, 2, 2, 0, 0])
    assert rand_index(reference, np.array([4, 4, 7, 7, 4, 9])) == 1.0
    assert rand_index(reference, np.array([4, 7, 4, 7, 4, 9])) < 0.0


def test_noise_in_the_labels_is_a_cluster_of_its_own():
    reference = np.array([1, 1, 1, 2, 2, 2])
    assert rand_index(reference, np.array([0, 0, 0, -1, -1, -1])) == 1.0


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_clusters_stand_for_classes_so_that_most_rows_are_right(n_clusters):
    rng = np.random.default_rng(n_clusters)
    for _ in range(20):
        reference = rng.integers(4, size=30)
        labels = rng.integers(n_clusters, size=30) + 5
        known = reference > 0
        spare = [*range(1, 4), *range(-n_clusters, 0)]  # a cluster may stand for no class
        best = max(
            sum(stands[c - 5] == r for r, c in zip(reference, labels, strict=True) if r > 0)
            for stands in itertools.permutations(spare, n_clusters)
        )
        right = rightly_clustered(reference, labels)
        assert right[known].sum() == best
        assert np.isnan(right[~known]).all()


def test_auc_is_the_share_of_pairs_in_which_the_right_row_is_surer():
    rng = np.random.default_rng(0)
    reference, labels = rng.integers(3, size=(2, 60))
    confidence = rng.integers(5, size=60) / 5
    right = rightly_clustered(reference, labels)
    pairs = [
        (float(confidence[i] > confidence[j]) + float(confidence[i] >= confidence[j])) / 2
        for i, j in itertools.product(np.flatnonzero(right == 1), np.flatnonzero(right == 0))
    ]
    assert confidence_auc(reference, labels, confidence) == pytest.approx(np.mean(pairs))
    assert confidence_auc(reference, reference, confidence) is None


class Fitted:
    """What a mixture has after a fit."""

    labels_ = np.array([0, 0, 0, 1, 1, 1])
    confidence_ = np.array([0.9, 0.9, 0.2, 0.9, 0.8, 0.7])
    tree_ = Tree.from_paths([(1,), (1,), (2,), (2,), (2,), (2,)])
    cluster_tree_ = Tree.from_paths([(1,), (1,), (1,), (2,), (2,), (2,)])

    def cluster(self, n_clusters):
        return np.array([0, 0, 1, 1, 1, 1]) if n_clusters == 2 else np.arange(6) // 2

    def membership(self, n_clusters):
        found = self.cluster(n_clusters)
        shares = np.repeat((1 - self.confidence_)[:, None] / (n_clusters - 1), n_clusters, axis=1)
        shares[np.arange(6), found] = self.confidence_
        return shares


def test_a_mixture_is_scored_by_all_that_it_says_and_the_best_reference_counts():
    first, second = np.array([1, 1, 1, 2, 2, 2]), np.array([1, 1, 2, 2, 3, 3])
    values = scores(of_mixture(Fitted()), [first, second])
    assert values["given"] == 1.0  # three clusters, as the second has
    assert "auc" not in values
    assert (values["free"], values["clusters"]) == (1.0, 2.0)
    assert values["cluster_tree"] == 1.0
    assert values["tree"] < 1.0
    only = scores(of_mixture(Fitted()), [first])
    assert only["given"] == rand_index(first, np.array([0, 0, 1, 1, 1, 1]))
    assert only["auc"] == 1.0


def test_noise_is_no_cluster_found_and_no_row_of_a_tree():
    reference = np.array([1, 1, 1, 2, 2, 0])
    tree = Tree.from_paths([(1,), (1,), (1,), (2,), (2,), (1,)])
    clustering = Clustering(free=np.array([0, 0, 0, 1, 1, -1]), trees={"tree": tree})
    assert scores(clustering, [reference]) == {"free": 1.0, "clusters": 2.0, "tree": 1.0}


# ---- programs -----------------------------------------------------------------------------------


def test_a_cut_has_as_many_clusters_as_asked_for_also_with_ties():
    from scipy.cluster.hierarchy import fcluster, linkage

    tied = linkage(np.arange(8.0)[:, None], "single")
    rng = np.random.default_rng(0)
    free = linkage(rng.normal(size=(30, 2)), "ward")
    for k in (1, 2, 5, 8):
        assert np.unique(cut(tied, k)).size == k
        assert rand_index(cut(free, k), fcluster(free, k, "maxclust")) == 1.0


def test_noise_joins_the_cluster_of_its_nearest_row_in_one():
    rng = np.random.default_rng(0)
    data, labels = rng.normal(size=(40, 2)), rng.integers(-1, 3, size=40)
    found = filled_in(data, labels)
    for i in range(40):
        inside = [j for j in range(40) if labels[j] != -1]
        nearest = min(inside, key=lambda j: np.sum((data[i] - data[j]) ** 2))
        assert found[i] == labels[nearest]
    assert set(filled_in(data, np.full(40, -1))) == {0}


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_every_program_answers_what_it_is_asked():
    rng = np.random.default_rng(0)
    reference = np.repeat([1, 2, 3], 25)
    data = rng.normal(size=(75, 2)) + 20.0 * np.array([[0, 0], [1, 0], [0, 1]])[reference - 1]
    for name, program in programs(QUICK).items():
        if name in (OURS, "BHC"):  # these take a second each; other tests run them
            continue
        values = scores(program(data, 0), [reference])
        asked = [values[one] for one in ("given", "free") if one in values]
        assert asked, name
        # Variational mixtures and kernels of width 1 on raw columns may see parts.
        assert min(asked) > (0.4 if "aria" in name or "rbf" in name else 0.9), name


def test_an_absent_program_is_told_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setattr("sticktree_paper.clustering_programs.find_spec", lambda name: None)
    assert not any(name.startswith("Genie") for name in programs(QUICK))
    assert "pip install genieclust" in left_out()["Genie"]


# ---- what stands in tables ----------------------------------------------------------------------


def result(name, method, values, seed=0):
    return Result(Key("clusters", name, "ab", seed, method, "s"), values, 2.0, 1.0)


def a_set(name, collection):
    data = np.zeros((6, 2))
    return Labelled(name, name, collection, data, (np.array([1, 1, 1, 2, 2, 0]),))


@pytest.fixture
def comparison():
    ours = [(0.9, 0.5), (0.4, 0.8), (1.0, 1.0)]
    z, raw = (0.8, 0.2, 1.0), (0.5, 0.9, 0.3)
    names = ("wut-a", "uci-b", "iris")
    results = []
    for k, name in enumerate(names):
        given, free = ours[k]
        more = {"clusters": 3.0 + k, "tree": 0.7, "cluster_tree": 0.9, "seconds": 2.5, "auc": 0.6}
        for seed, shift in enumerate((-0.05, 0.05)):
            values = {"given": given + shift, "free": free, **more}
            results.append(result(name, OURS, values, seed))
        results.append(result(name, "ward linkage (z)", {"given": z[k], "tree": 0.8}))
        results.append(result(name, "ward linkage (raw)", {"given": raw[k], "tree": 0.6}))
        results.append(result(name, "HDBSCAN 10 (z)", {"free": 0.6, "clusters": 2.0}))
        results.append(result(name, "GMM (z)", {"given": 0.3, "auc": 0.55}))
    stored = {
        "Genie": {
            "Genie_G0.3": {"wut-a": 0.85, "uci-b": 0.35},
            "Genie_G0.5": {"wut-a": 0.95, "uci-b": 0.35},
            "Genie_G1.0": {"wut-a": 1.0},
        },
        "ITM": {"ITM": {"wut-a": 0.1, "uci-b": 0.1}},
    }
    sets = [a_set("wut-a", "wut"), a_set("uci-b", "uci"), a_set("iris", "tables")]
    return Comparison(results, sets, stored)


def test_ours_stands_first_then_the_best_with_its_better_scaling(comparison):
    names = [column.name for column in comparison.columns("given")]
    assert names == [
        OURS,
        "ward linkage (raw)",  # 0.7 on the suite, where standardised columns give 0.5
        "Genie_G0.5, best setting",
        "Genie_G0.3",
        "GMM (z)",
        "ITM",
    ]
    assert [column.name for column in comparison.columns("free")] == [OURS, "HDBSCAN 10 (z)"]
    ours = comparison.columns("given")[0]
    assert ours.over(["wut-a", "uci-b"]) == pytest.approx(0.65)
    assert (ours.least["wut-a"], ours.most["wut-a"]) == pytest.approx((0.85, 0.95))
    assert {"ward linkage (z)", "ward linkage (raw)"} <= {
        column.name for column in comparison.all_columns("given")
    }


def test_a_mean_is_over_all_sets_of_a_group_or_there_is_none(comparison):
    assert list(comparison.groups) == ["suite", "tables", "uci", "wut"]
    stored = comparison.columns("given")[2]
    assert np.isnan(stored.over(comparison.groups["tables"]))


def test_losses_name_who_is_ahead_the_largest_first(comparison):
    found = losses(comparison, "given")
    assert [(one.name, one.programs) for one in found] == [
        ("uci-b", ("ward linkage (raw)",)),
        ("wut-a", ("Genie_G0.5, best setting ¹",)),
    ]
    assert found[0].gap == pytest.approx(-0.5)
    assert [one.name for one in losses(comparison, "free")] == ["wut-a"]


def test_the_page_has_every_set_and_every_program(comparison):
    text = "\n\n".join(markdown(comparison, 2, "clusters.png"))
    assert "Means over 2 seeds" in text
    lines = text.splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    assert ["**DFP**", "0.650", "**1.000**"] in cells
    assert ["ward linkage (raw)", "1 / 0 / 1", "−0.050 ± 5.718", "1 / 0 / 0", "+0.700"] in cells
    assert ["uci-b", "0.40", "0.90", "−0.50", "ward linkage (raw)"] in cells
    assert ["**DFP**, `cluster_tree_`", "0.900", "0.900"] in cells
    detail = next(row for row in cells if row[0] == "wut-a" and len(row) == 12)
    assert detail[1:8] == ["6", "2", "2", "3", "0.900", "0.85 to 0.95", "0.500"]
    assert detail[9:] == ["0.60", "0.55", "2.5"]
    by_set = [row for row in cells if row[:2] == ["iris", "2"]]
    assert {row[2] for row in by_set} == {"**1.00**"}
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({line.count("|") for line in block.splitlines()}) == 1


def test_a_page_without_losses_says_so(comparison):
    ours = [one for one in comparison.results if one.key.method in (OURS, "GMM (z)")]
    alone = Comparison(ours, comparison.sets, {})
    assert losses(alone, "given") == []
    text = "\n".join(markdown(alone, 1, None))
    assert "On no set is any program ahead by more than 0.01." in text
    assert "¹ Scores" not in text
    assert "clusters.png" not in text


def test_the_figure_has_every_set_twice(comparison):
    import matplotlib.pyplot as plt

    figure = figure_clusters(comparison)
    panels = [half.axes[0] for half in figure.subfigs]
    assert [ax.get_title(loc="left") for ax in panels] == ["k given", "k free"]
    for ax in panels:
        assert {label.get_text() for label in ax.get_yticklabels()} == {"wut-a", "uci-b", "iris"}
    legend = [text.get_text() for text in figure.subfigs[0].legends[0].get_texts()]
    assert legend == ["Genie_G0.3", "GMM (z)", "ward linkage (raw)", OURS]
    plt.close(figure)


# ---- the part as a whole ------------------------------------------------------------------------


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Return a folder with two made-up sets of the suite and stored scores."""
    folder = tmp_path / "data" / "suite"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ("wut-near", "uci-far"):
        reference = np.repeat([1, 2, 0], [20, 20, 2])
        data = rng.normal(size=(42, 2)) + (4.0 if name == "wut-near" else 40.0) * reference[:, None]
        lines = [f"{a},{b},{label}" for (a, b), label in zip(data.tolist(), reference, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["x0,x1,label0", *lines]))
    scores = ["set,program,variant,ari", "wut-near,ITM,ITM,0.5", "other-iris,ITM,ITM,0.9"]
    (folder / "peers.csv").write_text("\n".join(scores))
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("STICKTREE_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def few_programs(monkeypatch):
    """Let ours be quick, and leave out most others; do the work in this process."""
    kept = ("ward linkage (z)", "ward linkage (raw)", "HDBSCAN 5 (z)")

    def ours(data, seed):
        labels = (data[:, 0] > data[:, 0].mean()).astype(int)
        return Clustering(given=lambda k: labels, free=labels, confidence=lambda k: data[:, 1])

    def few(length):
        found = programs(length)
        return {OURS: Program(OURS, "s", ours, random=True)} | {key: found[key] for key in kept}

    monkeypatch.setattr(clustering_work, "programs", few)
    here = lambda keys, length, n_jobs: ((key, evaluate(key, length)) for key in keys)  # noqa: E731
    monkeypatch.setattr(work, "_outcomes", here)


def test_rows_keep_their_labels_in_another_order(suite):
    found = labelled("uci-far")
    assert found.n_clusters == (2,)
    reference = found.references[0]
    assert reference.tolist() != sorted(reference.tolist(), key=lambda k: (k == 0, k))
    np.testing.assert_allclose(found.data[reference == 2].mean(axis=0), 80.0, atol=1.0)
    np.testing.assert_allclose(found.data[reference == 0].mean(axis=0), 0.0, atol=3.0)


def test_digits_are_principal_components():
    found = labelled("digits")
    assert found.data.shape == (1797, 10)
    moments = found.data.T @ found.data
    np.testing.assert_allclose(moments, np.diag(np.diag(moments)), atol=1e-6 * moments[0, 0])


def test_stored_scores_are_of_the_sets_asked_for(suite):
    assert stored_scores(["wut-near", "iris"]) == {"ITM": {"ITM": {"wut-near": 0.5}}}


def test_without_the_suite_the_tables_are_left(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path / "nowhere"))
    found, absent = available_sets(["iris"])
    assert found == ["iris"]
    assert absent == {"suite": "set STICKTREE_DATA to a folder with the clustering suite"}
    assert stored_scores(["wut-x1"]) == {}


def test_keys_differ_by_program_scaling_seed_and_references(suite):
    keys = cluster_keys("uci-far", QUICK)
    assert len(set(keys)) == len(keys)
    assert {key.method for key in keys} == set(programs(QUICK))
    text = (suite / "uci-far.csv").read_text()
    (suite / "uci-far.csv").write_text(text.replace(",2\n", ",1\n", 1))
    assert {key.rows for key in cluster_keys("uci-far", QUICK)} != {key.rows for key in keys}


@pytest.mark.usefixtures("few_programs")
def test_the_part_writes_a_page_of_its_own_tables_and_a_figure(suite, tmp_path):
    lines = []
    page = reproduce(
        ["clusters"],
        tmp_path / "out",
        sets=["wut-near", "uci-far", "iris"],
        n_seeds=2,
        progress=False,
        tell=lines.append,
    )
    assert lines[0] == "clusters: clusters of public sets, by every program"
    text = page.read_text(encoding="utf-8")
    assert "## Clusters of public sets" in text
    assert "](clusters.md)" in text
    assert "Set by set, k given" not in text
    whole = (page.parent / "clusters.md").read_text(encoding="utf-8")
    assert whole.startswith("# Clusters of public sets")
    assert "## Where we lose, k free" in whole
    assert "ITM ¹" in whole
    assert "*every other set* is left out: only these were asked for" in whole
    assert (page.parent / "clusters.png").stat().st_size > 1000
    with (page.parent / "clusters.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["program"] for row in rows} == {
        *(OURS, "ward linkage (z)", "ward linkage (raw)", "HDBSCAN 5 (z)", "ITM")
    }
    with (page.parent / "clusters-by-seed.csv").open(newline="") as file:
        seeds = [row["split"] for row in csv.DictReader(file) if row["method"] == OURS]
    assert sorted(seeds) == ["0", "0", "0", "1", "1", "1"]


@pytest.mark.usefixtures("few_programs", "suite")
def test_a_quick_run_takes_few_sets_and_warns(tmp_path):
    page = reproduce(["clusters"], tmp_path / "out", quick=True, progress=False, tell=print)
    assert "far too short" in (page.parent / "clusters.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("few_programs", "suite")
def test_a_part_without_the_sets_asked_for_is_left_out(tmp_path):
    lines = []
    reproduce(
        ["table1", "clusters"], tmp_path, sets=["wut-near"], progress=False, tell=lines.append
    )
    assert "  table1 is left out: it has none of wut-near" in lines
    with pytest.raises(ValueError, match=r"sets must be any of r15, .* got 'wut-near'"):
        reproduce(["table1"], tmp_path, sets=["wut-near"], tell=lines.append)


def test_a_mixture_of_the_library_answers_everything():
    from sticktree import DFPMixture

    rng = np.random.default_rng(0)
    reference = np.repeat([1, 2], 20)
    data = rng.normal(size=(40, 2)) + 8.0 * reference[:, None]
    mixture = DFPMixture(n_chains=1, n_warmup=20, n_draws=20, progress=False, random_state=0)
    values = scores(of_mixture(mixture.fit(data)), [reference])
    assert {"given", "free", "clusters", "tree"} <= values.keys()
    assert values["given"] == 1.0
