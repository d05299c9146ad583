"""Cells as scanpy has them: fit the rows of an AnnData, and write what was found into it.

``sticktree.anndata.fit(adata, use_rep="X_pca")`` leaves in ``adata``, under one key:

- ``obs[key]``: clusters of the cells, as categories;
- ``obs[key + "_confidence"]``: the probability of each cell to be in its own cluster after a step
  of the walk; ``obs[key + "_stray"]``: whether it is apart from the cluster that it is nearest to;
- ``obsm[key + "_membership"]``: the probability of each cell to be in each cluster;
- ``var[key + "_relevance"]``: how far each gene carries the clusters, if genes were fitted
  themselves, as ``beyond_chance`` of :meth:`sticktree.DFPMixture.relevance`;
- ``uns[key]``: parameters, trees as Newick and linkage, whether the answer is settled;
- ``uns["dendrogram_" + key]``: the tree of the clusters, where scanpy's plots look for it.

It needs the package anndata (``pip install sticktree[anndata]``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.errors import ParameterError, warn_caller
from sticktree.estimators.mixture import DFPMixture
from sticktree.fit import Fit
from sticktree.optional import optional
from sticktree.palette import CLUSTERS
from sticktree.version import __version__

__all__ = ["CountsWarning", "fit", "table", "write"]

KEY = "sticktree"
FEW_GENES = 50  # up to which scanpy, and we, take X itself if no representation is asked for
DENSE_CELLS = 50_000_000  # entries that a sparse matrix may have as a dense one: 400 MB
NEWICK_ROWS = 100_000  # above which trees of all cells are left out
ADVICE = (
    "reduce it first, e.g. by scanpy.pp.highly_variable_genes and scanpy.pp.pca, and give "
    'use_rep="X_pca"'
)


class CountsWarning(UserWarning):
    """Counts are about to be fitted as if they were measurements."""


# ---- rows ----------------------------------------------------------------------------------------


def table(
    adata: Any,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
) -> Any:
    """Return the rows of an AnnData as a data frame that a mixture takes, with names of both sides.

    Which rows these are follows scanpy: X if it has at most 50 columns, else its principal
    components, which have to be there.

    Parameters
    ----------
    adata : AnnData
        Cells, or whatever its rows are. NaN is missing.
    use_rep : str or None, default=None
        A key of ``obsm``, or "X" for X itself. None is X if it has at most 50 columns, else
        ``obsm["X_pca"]``.
    layer : str or None, default=None
        A key of ``layers``, to be taken in place of X.
    n_pcs : int or None, default=None
        How many of the first columns of a representation in ``obsm`` are taken; None is all.

    Returns
    -------
    pandas DataFrame
        To be fitted or asked about: ``mixture.predict(table(new_cells))``.
    """
    where = _where(_checked(adata), use_rep, layer, n_pcs)
    return _frame(adata, where, n_pcs)


def _checked(adata: Any) -> Any:
    package = optional("anndata", extra="anndata", asker="sticktree.anndata")
    if not isinstance(adata, package.AnnData):
        remedy = None
        if hasattr(adata, "mod"):
            remedy = 'take one of its modalities, e.g. mdata["rna"]'
        shown = type(adata).__name__
        raise ParameterError("adata", adata, "an anndata.AnnData", remedy, shown=shown)
    return adata


def _where(
    adata: Any, use_rep: str | None, layer: str | None, n_pcs: int | None
) -> tuple[str, str | None]:
    """Return which part of an AnnData is meant, and its key there; raise if it is not there."""
    if n_pcs is not None:
        check_integer("n_pcs", n_pcs, minimum=1)
    if layer is not None:
        if use_rep not in (None, "X"):
            expected = "left out, or 'X', where a layer is given"
            raise ParameterError("use_rep", use_rep, expected)
        if layer not in adata.layers:
            raise ParameterError("layer", layer, f"a key of layers: {_listed(adata.layers)}")
        where: tuple[str, str | None] = "layers", layer
    elif use_rep is None:
        if adata.n_vars <= FEW_GENES:
            where = "X", None
        elif "X_pca" in adata.obsm:
            where = "obsm", "X_pca"
        else:
            expected = f'given where X has more than {FEW_GENES} columns and obsm no "X_pca"'
            remedy = (
                "compute principal components by scanpy.pp.pca(adata), name another key of obsm, "
                'or give use_rep="X" to fit all columns'
            )
            raise ParameterError("use_rep", use_rep, expected, remedy)
    elif use_rep == "X":
        where = "X", None
    elif isinstance(use_rep, str) and use_rep in adata.obsm:
        where = "obsm", use_rep
    else:
        raise ParameterError("use_rep", use_rep, f"'X' or a key of obsm: {_listed(adata.obsm)}")
    if n_pcs is not None and where[0] != "obsm":
        raise ParameterError("n_pcs", n_pcs, "left out unless a representation in obsm is fitted")
    return where


def _listed(keys: Any) -> str:
    # Newer releases of anndata list X among the layers, by the key None.
    return ", ".join(repr(key) for key in keys if key is not None) or "there is none"


def _frame(adata: Any, where: tuple[str, str | None], n_pcs: int | None) -> Any:
    pandas = optional("pandas", extra="anndata", asker="sticktree.anndata")
    if not adata.n_obs:
        raise ParameterError("adata", adata, "at least one row", verb="have", shown="none")
    part, key = where
    name = part if key is None else f"{part}[{key!r}]"
    if part == "obsm":
        given = adata.obsm[key]
        names = getattr(given, "columns", None)
        values = _dense(given, name)
        if n_pcs is not None and n_pcs > values.shape[1]:
            raise ParameterError("n_pcs", n_pcs, f"at most {values.shape[1]}, the columns of {key}")
        # As scanpy.get.obs_df calls them.
        names = [f"{key}-{k}" for k in range(values.shape[1])] if names is None else list(names)
        values, names = values[:, :n_pcs], names[:n_pcs]
    else:
        if part == "X" and adata.X is None:
            raise ParameterError("adata", adata, "X, or a layer", verb="have", shown="none")
        if adata.isbacked and part == "X":
            expected = "in memory where X is fitted"
            raise ParameterError("adata", adata, expected, "take adata.to_memory()", shown="backed")
        values, names = _dense(adata.X if part == "X" else adata.layers[key], name), adata.var_names
        if not adata.var_names.is_unique:
            twice = adata.var_names[adata.var_names.duplicated()][0]
            remedy = "call adata.var_names_make_unique()"
            raise ParameterError(
                "adata.var_names", twice, "unique", remedy, shown=f"{twice!r} twice"
            )
    return pandas.DataFrame(values, index=adata.obs_names, columns=names)


def _dense(given: Any, name: str) -> FloatArray:
    """Return a matrix as dense numbers; raise if it would take too much memory, or is none."""
    is_sparse: bool = sparse.issparse(given)
    if is_sparse:
        if math.prod(given.shape) > DENSE_CELLS:
            size = math.prod(given.shape) * 8 / 1e9
            shown = f"a sparse matrix of shape {given.shape}, {size:.1f} GB as a dense one"
            raise ParameterError(name, given, "smaller, or dense", ADVICE, shown=shown)
        given = given.toarray()
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        shown = type(given).__name__
        raise ParameterError(name, given, "a matrix of numbers", shown=shown) from None
    if values.ndim != 2:
        shown = f"an array of shape {values.shape}"
        raise ParameterError(name, given, "a row for each cell", verb="have", shown=shown)
    return values


def _warn_of_counts(values: FloatArray, name: str) -> None:
    seen = values[np.isfinite(values)]
    if seen.size and seen.min() >= 0 and seen.max() > 1 and bool((seen == np.floor(seen)).all()):
        warn_caller(
            f"{name} has counts, which are fitted as if they were measurements: normalise them and "
            "take logarithms first (scanpy.pp.normalize_total, scanpy.pp.log1p), or say by "
            "columns= what each is",
            CountsWarning,
        )


# ---- fit -----------------------------------------------------------------------------------------


def fit(
    adata: Any,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    n_clusters: int | None = None,
    key_added: str = KEY,
    copy: bool = False,
    mixture: DFPMixture | None = None,
    **parameters: Any,
) -> Any:
    """Fit a mixture to the rows of an AnnData, and write what was found into it.

    Parameters
    ----------
    adata : AnnData
        Cells, or whatever its rows are. NaN is missing.
    use_rep : str or None, default=None
        What is fitted: a key of ``obsm``, or "X" for X itself. None is X if it has at most 50
        columns, else ``obsm["X_pca"]``, as scanpy does; it is an error if that is not there. A
        sparse matrix is made dense, up to 50 million entries.
    layer : str or None, default=None
        A key of ``layers``, to be fitted in place of X.
    n_pcs : int or None, default=None
        How many of the first columns of a representation in ``obsm`` are fitted; None is all.
    n_clusters : int or None, default=None
        Into how many clusters the cluster tree is cut; None is as many as there are.
    key_added : str, default="sticktree"
        The key that results are under; see :mod:`sticktree.anndata`.
    copy : bool, default=False
        Whether to leave ``adata`` as it is, and return a copy that has the results.
    mixture : DFPMixture or None, default=None
        An estimator to fit; it is fitted itself, so that it can be asked afterwards. None is
        ``DFPMixture(random_state=0, **parameters)``.
    **parameters
        Parameters of that :class:`~sticktree.DFPMixture`.

    Returns
    -------
    DFPMixture or AnnData
        The fitted mixture; if ``copy``, the copy of ``adata``.
    """
    where = _where(_checked(adata), use_rep, layer, n_pcs)
    _check_key(key_added)
    if n_clusters is not None:
        check_integer("n_clusters", n_clusters, minimum=1)
    if mixture is None:
        mixture = DFPMixture(**{"random_state": 0, **parameters})
    elif not isinstance(mixture, DFPMixture):
        raise ParameterError("mixture", mixture, "a DFPMixture", shown=type(mixture).__name__)
    elif parameters:
        name = next(iter(parameters))
        raise ParameterError(name, parameters[name], "left out where a mixture is given")
    frame = _frame(adata, where, n_pcs)
    part, key = where
    if part != "obsm" and mixture.columns is None:
        _warn_of_counts(frame.to_numpy(), "X" if key is None else f"layers[{key!r}]")
    mixture.fit(frame)
    target = adata.copy() if copy else adata
    _write(target, mixture, where, n_pcs, n_clusters, key_added)
    return target if copy else mixture


def write(
    adata: Any, mixture: DFPMixture, *, n_clusters: int | None = None, key_added: str = KEY
) -> None:
    """Write what a mixture found into the AnnData whose rows it was fitted to.

    :func:`fit` does so by itself; this is for other numbers of clusters of the same fit, under
    another key, and for a mixture that was fitted to ``table(adata)``, or loaded.

    Parameters
    ----------
    adata : AnnData
        The cells that the mixture was fitted to, in the same order.
    mixture : DFPMixture
        A fitted mixture.
    n_clusters : int or None, default=None
        Into how many clusters the cluster tree is cut; None is as many as there are.
    key_added : str, default="sticktree"
        The key that results are under.
    """
    _checked(adata)
    _check_key(key_added)
    if not hasattr(mixture, "fit_"):
        shown = f"{type(mixture).__name__} without a fit"
        raise ParameterError("mixture", mixture, "a fitted DFPMixture", shown=shown)
    names = mixture.fit_.training.names
    if mixture.fit_.training.n_rows != adata.n_obs:
        expected = f"fitted to the {adata.n_obs} rows of adata"
        shown = f"a fit of {mixture.fit_.training.n_rows} rows"
        raise ParameterError("mixture", mixture, expected, shown=shown)
    if names is not None and list(names) != list(map(str, adata.obs_names)):
        expected = "fitted to the rows of adata, in their order"
        raise ParameterError("mixture", mixture, expected, shown="rows of other names")
    _write(adata, mixture, None, None, n_clusters, key_added)


def _check_key(key_added: Any) -> None:
    if not isinstance(key_added, str) or not key_added or "/" in key_added:
        expected = "a text without slashes, which files of AnnData do not admit"
        raise ParameterError("key_added", key_added, expected)


# ---- results -------------------------------------------------------------------------------------


def _write(
    adata: Any,
    mixture: DFPMixture,
    where: tuple[str, str | None] | None,
    n_pcs: int | None,
    n_clusters: int | None,
    key: str,
) -> None:
    pandas = optional("pandas", extra="anndata", asker="sticktree.anndata")
    found = mixture.fit_
    labels = found.cluster(n_clusters)  # raises before anything is written
    stray = found.cluster(n_clusters, strays="label") < 0
    membership = found.membership_in(n_clusters)
    names = [str(k) for k in range(membership.shape[1])]
    adata.obs[key] = pandas.Categorical.from_codes(labels, categories=names)
    adata.obs[f"{key}_confidence"] = membership[np.arange(labels.size), labels]
    adata.obs[f"{key}_stray"] = stray
    adata.obsm[f"{key}_membership"] = membership
    if where is not None and where[0] != "obsm":
        relevance = mixture.relevance(n_clusters=n_clusters)
        if len(relevance.columns) == adata.n_vars:
            adata.var[f"{key}_relevance"] = relevance.beyond
    adata.uns[key] = _record(mixture, where, n_pcs, len(names))
    # The colours that the clusters have in our pictures, and on the page.
    adata.uns[f"{key}_colors"] = [CLUSTERS[k % len(CLUSTERS)] for k in range(len(names))]
    adata.uns.pop(f"dendrogram_{key}", None)  # of clusters that were there before
    if len(names) > 1:
        adata.uns[f"dendrogram_{key}"] = _dendrogram(found, found.cut_into(n_clusters).labels, key)


def _record(
    mixture: DFPMixture, where: tuple[str, str | None] | None, n_pcs: int | None, n_clusters: int
) -> dict[str, Any]:
    """Return what ``uns`` keeps, in forms that files of AnnData have."""
    found = mixture.fit_
    given: dict[str, Any] = dict(mixture.get_params())
    if where is not None:
        part, key = where
        given |= {"use_rep": key if part == "obsm" else "X", "n_pcs": n_pcs}
        given |= {"layer": key if part == "layers" else None}
    plain = str | int | float | bool
    record: dict[str, Any] = {
        "params": {
            name: value if isinstance(value, plain) else repr(value)
            for name, value in given.items()
            if value is not None
        },
        "n_clusters": n_clusters,
        "settled": found.diagnosis.verdict().text,
        "model": f"{found.model.covariance_type}, {found.model.leaf_noise} noise",
        "depth": found.depth,
        "level": found.level,
        "n_draws": len(found.posterior),
        "sticktree": __version__,
        "data_digest": found.training.digest,
    }
    if found.training.n_rows <= NEWICK_ROWS:
        record["newick"] = found.tree.to_newick()
        record["cluster_tree_linkage"] = found.cluster_tree.to_linkage()
    return record


def _dendrogram(found: Fit, labels: IntArray, key: str) -> dict[str, Any]:
    """Return the tree of the clusters as ``scanpy.tl.dendrogram`` keeps it.

    Clusters join by average linkage of the heights at which their rows meet in the cluster tree.
    """
    heights = cluster_heights(found, labels)
    names = [str(k) for k in range(len(heights))]
    joins = linkage(squareform(heights, checks=False), method="average")
    drawn = dendrogram(joins, labels=names, no_plot=True)
    return {
        "linkage": joins,
        "groupby": [key],
        "cor_method": "heights in the cluster tree of sticktree",
        "linkage_method": "average",
        "categories_ordered": drawn["ivl"],
        "categories_idx_ordered": drawn["leaves"],
        "dendrogram_info": drawn,
        "correlation_matrix": 1.0 - heights / (heights.max() or 1.0),
    }


def cluster_heights(found: Fit, labels: IntArray) -> FloatArray:
    """Return the mean height at which rows of each two clusters meet in the cluster tree.

    ``labels`` are clusters of the data, from 0. On the diagonal there is 0.
    """
    tree, n_clusters = found.walk.cluster_tree(found.lasting.steps), int(labels.max(initial=0)) + 1
    place = tree.group.astype(np.int64) * n_clusters + labels
    counts: npt.NDArray[Any] = np.bincount(place, minlength=tree.n_groups * n_clusters)
    counts = counts.reshape(tree.n_groups, n_clusters).astype(np.float64)
    size = counts.sum(axis=0)
    heights = counts.T @ tree.cophenetic @ counts / np.outer(size, size)
    np.fill_diagonal(heights, 0.0)
    return np.asarray((heights + heights.T) / 2)
