"""AnnData: which rows are fitted, what is written where, and that files and scanpy can read it."""

import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage

import sticktree.anndata as cells
import sticktree.anndata.rows as rows_of_cells
from sticktree import DFPMixture, Tree
from sticktree.anndata.results import cluster_heights
from sticktree.posterior.draws import ConvergenceWarning

# What anndata asks of pandas warns in newer ones; it has nothing to do with us.
pytestmark = pytest.mark.filterwarnings("ignore:The '.*' option is deprecated")
LABELS = np.repeat([0, 1, 2], [16, 12, 12])
SHORT = {
    "covariance_type": "diag",
    "leaf_noise": "shared",
    "n_chains": 2,
    "n_warmup": 30,
    "n_draws": 20,
}


@pytest.fixture(scope="module")
def package():
    reason = "anndata is not installed: pip install sticktree[anndata]"
    return pytest.importorskip("anndata", reason=reason)


def forty_cells(package):
    """Return forty cells with sixty genes, three groups, and two representations."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 60)).astype(np.float32)
    x[:, :8] += 5 * np.eye(3)[LABELS][:, [0, 1, 2, 0, 1, 2, 0, 1]]
    adata = package.AnnData(
        x,
        obs=pd.DataFrame(index=[f"cell-{k}" for k in range(40)]),
        var=pd.DataFrame(index=[f"gene-{k}" for k in range(60)]),
    )
    adata.obsm["X_pca"] = x[:, :8].astype(np.float64)
    adata.obsm["named"] = pd.DataFrame(x[:, :3], index=adata.obs_names, columns=list("abc"))
    adata.layers["scaled"] = 2 * x
    return adata


@pytest.fixture
def made(package):
    return forty_cells(package)


@pytest.fixture
def small(made):
    return made[:, :8].copy()


def fit(adata, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # chains are short
        return cells.fit(adata, **{**SHORT, **options})


@pytest.fixture(scope="module")
def known(package):
    """Return cells with what was found, and the mixture: for all tests that do not change them."""
    adata = forty_cells(package)
    return adata, fit(adata)


# ---- which rows ----------------------------------------------------------------------------------


def test_rows_are_those_that_scanpy_would_take(made, small):
    of_genes = cells.table(small)
    np.testing.assert_array_equal(of_genes, small.X)
    assert list(of_genes) == list(small.var_names)
    assert list(of_genes.index) == list(small.obs_names)
    components = cells.table(made)
    np.testing.assert_array_equal(components, made.obsm["X_pca"])
    assert list(components) == [f"X_pca-{k}" for k in range(8)]
    assert list(cells.table(made, n_pcs=2)) == ["X_pca-0", "X_pca-1"]
    assert cells.table(made, use_rep="X").shape == (40, 60)
    np.testing.assert_array_equal(cells.table(made, layer="scaled"), 2 * made.X)
    assert list(cells.table(made, use_rep="named")) == ["a", "b", "c"]


def test_a_sparse_matrix_is_made_dense_if_it_is_not_large(small, monkeypatch):
    dense = cells.table(small)
    for form in (sparse.csr_matrix, sparse.csc_array):
        small.X = form(small.X) if not sparse.issparse(small.X) else form(small.X.toarray())
        pd.testing.assert_frame_equal(cells.table(small), dense)
    monkeypatch.setattr(rows_of_cells, "DENSE_CELLS", 100)
    message = "X must be smaller, or dense, got a sparse matrix of shape (40, 8), 0.0 GB as a dense"
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        cells.table(small)
    assert 'scanpy.pp.pca, and give use_rep="X_pca"' in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_rep": "X_umap"}, "use_rep must be 'X' or a key of obsm: 'X_pca', 'named', got"),
        ({"use_rep": 3}, "use_rep must be 'X' or a key of obsm: 'X_pca', 'named', got 3"),
        ({"layer": "raw"}, "layer must be a key of layers: 'scaled', got 'raw'"),
        (
            {"layer": "scaled", "use_rep": "X_pca"},
            "use_rep must be left out, or 'X', where a layer",
        ),
        ({"n_pcs": 0}, "n_pcs must be an integer of at least 1, got 0"),
        ({"n_pcs": 9}, "n_pcs must be at most 8, the columns of X_pca, got 9"),
        ({"n_pcs": 2, "use_rep": "X"}, "n_pcs must be left out unless a representation in obsm"),
        ({"key_added": ""}, "key_added must be a text without slashes"),
        ({"key_added": "a/b"}, "key_added must be a text without slashes"),
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"mixture": 3}, "mixture must be a DFPMixture, got int"),
        ({"mixture": DFPMixture(), "depth": 3}, "depth must be left out where a mixture is given"),
        ({"depth": 0}, "depth must be"),
    ],
)
def test_what_cannot_be_is_named_before_work_starts(made, options, message):
    before = set(made.obs), set(made.uns)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        cells.fit(made, **options)
    assert (set(made.obs), set(made.uns)) == before


def test_tables_that_cannot_be_are_named(made, small):
    with pytest.raises(ValueError, match=r"adata must be an anndata\.AnnData, got ndarray"):
        cells.fit(np.zeros((3, 2)))
    several = type("MuData", (), {"mod": {}})()
    with pytest.raises(
        ValueError, match=r'got MuData; take one of its modalities, e.g. mdata\["rna'
    ):
        cells.fit(several)
    del made.obsm["X_pca"]
    message = 'use_rep must be given where X has more than 50 columns and obsm no "X_pca", got None'
    with pytest.raises(ValueError, match=re.escape(message)):
        cells.fit(made)
    small.X[3, 2] = np.inf
    with pytest.raises(ValueError, match=r"gene-2.*infinit|infinit.*gene-2"):
        fit(small)
    small.X[:, 2] = np.nan
    with pytest.raises(ValueError, match="gene-2"):
        fit(small)
    small.var_names = ["a"] * 8
    message = r"var_names must be unique, got 'a' twice; call adata.var_names_make_unique\(\)"
    with pytest.raises(ValueError, match=message):
        cells.table(small)


def test_without_numbers_there_is_nothing_to_fit(package, made):
    empty = package.AnnData(obs=pd.DataFrame(index=list("abc")))
    with pytest.raises(ValueError, match="adata must have X, or a layer, got none"):
        cells.fit(empty)
    with pytest.raises(ValueError, match="adata must have at least one row, got none"):
        cells.fit(made[:0].copy())
    made.obsm["words"] = pd.DataFrame({"w": ["x"] * 40}, index=made.obs_names)
    with pytest.raises(ValueError, match=r"obsm\['words'\] must be a matrix of numbers"):
        cells.table(made, use_rep="words")


def test_a_file_that_stays_on_disk_is_fitted_by_what_is_in_memory(package, made, tmp_path):
    made.write_h5ad(tmp_path / "cells.h5ad")
    backed = package.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    assert cells.table(backed).shape == (40, 8)
    with pytest.raises(ValueError, match=r"got backed; take adata.to_memory\(\)"):
        cells.table(backed, use_rep="X")
    backed.file.close()


def test_counts_are_warned_of(small):
    small.X = np.random.default_rng(0).poisson(3.0, small.shape).astype(np.float32)
    with pytest.warns(cells.CountsWarning, match="X has counts, which are fitted as if") as told:
        fit(small)
    assert told[0].filename == __file__
    with pytest.raises(TypeError, match="unexpected keyword"):
        cells.fit(small, dept=3)


def test_an_estimator_names_the_way(known):
    adata, mixture = known
    with pytest.raises(TypeError, match=r"X is an AnnData.*sticktree.anndata.fit\(adata\) fits"):
        DFPMixture().fit(adata)
    with pytest.raises(TypeError, match=r"sticktree.anndata.table\(adata\) returns it"):
        mixture.predict(adata)
    assert mixture.predict(cells.table(adata[:5])).shape == (5,)


# ---- what is written -----------------------------------------------------------------------------


def test_results_are_those_of_the_mixture(known):
    given, mixture = known
    assert isinstance(mixture, DFPMixture)
    np.testing.assert_array_equal(given.obs["sticktree"].astype(int), mixture.labels_)
    np.testing.assert_allclose(given.obs["sticktree_confidence"], mixture.confidence_)
    assert given.uns["sticktree"]["params"]["use_rep"] == "X_pca"
    assert "sticktree_relevance" not in given.var  # components are no genes
    made = given.copy()
    cells.write(made, mixture, n_clusters=3)
    labels = mixture.cluster(3)
    assert made.obs["sticktree"].dtype == "category"
    assert list(made.obs["sticktree"].cat.categories) == ["0", "1", "2"]
    np.testing.assert_array_equal(made.obs["sticktree"].astype(int), labels)
    membership = mixture.membership(3)
    np.testing.assert_array_equal(made.obsm["sticktree_membership"], membership)
    own = membership[np.arange(40), labels]
    np.testing.assert_array_equal(made.obs["sticktree_confidence"], own)
    strays = mixture.cluster(3, strays="label") == -1
    np.testing.assert_array_equal(made.obs["sticktree_stray"], strays)
    record = made.uns["sticktree"]
    assert record["params"]["random_state"] == 0
    assert record["params"]["n_draws"] == 20
    assert record["n_clusters"] == 3
    assert record["data_digest"] == mixture.fit_.training.digest
    tree = Tree.from_newick(record["newick"])
    assert sorted(tree.names) == sorted(made.obs_names)
    assert is_valid_linkage(record["cluster_tree_linkage"])
    assert len(made.uns["sticktree_colors"]) == 3


def test_genes_that_were_fitted_have_their_relevance(small):
    mixture = fit(small, n_clusters=3)
    found = mixture.relevance(n_clusters=3)
    np.testing.assert_array_equal(small.var["sticktree_relevance"], found.beyond)
    layer = fit(small, layer="scaled", copy=True, key_added="two", n_clusters=3)
    np.testing.assert_allclose(layer.var["two_relevance"], found.beyond, rtol=1e-5)


def test_a_copy_leaves_the_original_alone(made):
    before = made.copy()
    mixture = DFPMixture(**SHORT, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        copied = cells.fit(made, copy=True, key_added="tree", mixture=mixture)
    assert set(made.obs) == set(before.obs)
    assert set(made.uns) == set(before.uns)
    assert {"tree", "tree_confidence", "tree_stray"} == set(copied.obs)
    np.testing.assert_array_equal(copied.obs["tree"].astype(int), mixture.labels_)


def test_other_numbers_of_clusters_are_written_later(known):
    given, mixture = known
    made = given.copy()
    cells.write(made, mixture, n_clusters=2, key_added="two")
    assert list(made.obs["two"].cat.categories) == ["0", "1"]
    assert made.uns["dendrogram_two"]["linkage"].shape == (1, 4)
    cells.write(made, mixture, n_clusters=1, key_added="two")
    assert "dendrogram_two" not in made.uns  # that of two clusters would be wrong
    with pytest.raises(ValueError, match="mixture must be a fitted DFPMixture, got DFPMixture"):
        cells.write(made, DFPMixture())
    with pytest.raises(ValueError, match="mixture must be fitted to the 20 rows of adata, got a"):
        cells.write(made[:20].copy(), mixture)
    with pytest.raises(ValueError, match="in their order, got rows of other names"):
        cells.write(made[::-1].copy(), mixture)


def test_clusters_join_where_their_rows_meet_in_the_cluster_tree(known):
    given, mixture = known
    made = given.copy()
    cells.write(made, mixture, n_clusters=3)
    labels = mixture.cluster(3)
    tree = mixture.fit_.walk.cluster_tree(mixture.fit_.lasting.steps)
    pairs = tree.heights(np.arange(40))
    naive = np.array(
        [[pairs[labels == a][:, labels == b].mean() for b in range(3)] for a in range(3)]
    )
    np.fill_diagonal(naive, 0.0)
    np.testing.assert_allclose(cluster_heights(mixture.fit_, labels), naive)
    kept = made.uns["dendrogram_sticktree"]
    assert is_valid_linkage(kept["linkage"])
    assert sorted(kept["categories_ordered"]) == ["0", "1", "2"]
    assert [int(name) for name in kept["categories_ordered"]] == kept["categories_idx_ordered"]
    # What scanpy's plots read.
    assert {"icoord", "dcoord", "ivl", "leaves"} <= set(kept["dendrogram_info"])
    assert kept["groupby"] == ["sticktree"]
    assert np.diag(kept["correlation_matrix"]).tolist() == [1.0] * 3


def test_files_keep_all_of_it(package, known, tmp_path):
    small, _ = known
    small.write_h5ad(tmp_path / "cells.h5ad")
    again = package.read_h5ad(tmp_path / "cells.h5ad")
    pd.testing.assert_frame_equal(again.obs, small.obs)
    record, kept = again.uns["sticktree"], small.uns["sticktree"]
    assert record["newick"] == kept["newick"]
    assert record["params"] == kept["params"]
    np.testing.assert_array_equal(record["cluster_tree_linkage"], kept["cluster_tree_linkage"])
    np.testing.assert_array_equal(
        again.obsm["sticktree_membership"], small.obsm["sticktree_membership"]
    )


@pytest.mark.filterwarnings("ignore:Trying to modify attribute")  # as anndata says of all views
def test_a_view_becomes_an_object_of_its_own(known):
    given, mixture = known
    part = given[:, :8]
    cells.write(part, mixture, key_added="part")
    assert not part.is_view
    assert "part" in part.obs
    assert "part" not in given.obs


def test_two_cells_and_a_gene_that_never_changes(small):
    few = small[:2].copy()
    mixture = fit(few)
    assert few.obs["sticktree"].size == 2
    assert mixture.n_clusters_ in (1, 2)
    small.X[:, 3] = 1.0
    small.X[:, 4] = small.X[:, 5]
    fit(small, n_clusters=3)
    assert np.isnan(small.var["sticktree_relevance"].iloc[3])
    relevance = small.var["sticktree_relevance"]
    assert relevance.iloc[4] == pytest.approx(relevance.iloc[5])


def test_without_the_package_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    message = r"sticktree.anndata needs anndata: install it with `pip install sticktree\[anndata\]`"
    with pytest.raises(ImportError, match=message):
        cells.fit(np.zeros((3, 2)))


# ---- an AnnData of any fit -----------------------------------------------------------------------


def test_a_fit_of_a_table_becomes_an_anndata(package, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2)) + 8 * (LABELS[:, None] == [0, 1])
    x[3, 1] = np.nan
    frame = pd.DataFrame(x, columns=["a/b", "c"], index=[f"row {k // 2}" for k in range(40)])
    frame["colour"] = pd.Categorical(["red", "blue", None, "red"] * 10)
    groups = ["day 1"] * 15 + [None] + ["day 2"] * 24
    kinds = {"a/b": "gaussian", "c": "gaussian", "colour": "categorical"}
    mixture = DFPMixture(columns=kinds, n_chains=2, n_warmup=30, n_draws=20, depth=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.set_params(random_state=0).fit(frame, groups=groups)
    where = {"site/bed": ["x", None] * 20, "nul": ["\0"] * 40}
    made = cells.to_anndata(mixture, annotations=where, n_clusters=3)
    made.write_h5ad(tmp_path / "any.h5ad")
    again = package.read_h5ad(tmp_path / "any.h5ad")
    np.testing.assert_allclose(again.X, x)
    assert list(again.var_names) == ["a/b", "c"]
    assert list(again.obs_names[:3]) == ["row 0", "row 0 (2)", "row 1"]
    known = ["colour", "group", "site_bed", "nul"]
    assert list(again.obs)[:4] == known
    assert again.obs["colour"].astype(object).where(again.obs["colour"].notna(), None).tolist() == (
        ["red", "blue", None, "red"] * 10
    )
    assert again.obs["group"].isna().tolist() == [name is None for name in groups]
    assert again.obs["group"].iloc[-1] == "day 2"
    assert again.obs["site_bed"].notna().sum() == 20
    assert again.obs["nul"].iloc[0] == "\ufffd"
    np.testing.assert_array_equal(again.obs["sticktree"].astype(int), mixture.cluster(3))
    np.testing.assert_array_equal(again.obsm["sticktree_membership"], mixture.membership(3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "names must have an entry for each of the 40 rows, got 1"),
        ({"annotations": {"x": [1, 2]}}, r"annotations\['x'\] must have an entry for each of"),
        ({"annotations": {"sticktree": [1] * 40}}, "annotations must be named unlike the results"),
        ({"key_added": "a/b"}, "key_added must be a text without slashes"),
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
    ],
)
def test_what_does_not_fit_the_rows_is_an_error(known, options, message):
    with pytest.raises(ValueError, match=message):
        cells.to_anndata(known[1], **options)
    with pytest.raises(ValueError, match="mixture must be a fitted DFPMixture"):
        cells.to_anndata(DFPMixture())
