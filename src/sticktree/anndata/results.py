"""Fit the rows of an AnnData, and write what was found into it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from sticktree.anndata.rows import checked, frame_of, warn_of_counts, where_of
from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.errors import ParameterError
from sticktree.estimators.mixture import DFPMixture
from sticktree.fit import Fit
from sticktree.optional import optional
from sticktree.palette import CLUSTERS
from sticktree.version import __version__

KEY = "sticktree"
NEWICK_ROWS = 100_000  # above which trees of all cells are left out


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
    where = where_of(checked(adata), use_rep, layer, n_pcs)
    check_key(key_added)
    if n_clusters is not None:
        check_integer("n_clusters", n_clusters, minimum=1)
    if mixture is None:
        mixture = DFPMixture(**{"random_state": 0, **parameters})
    elif not isinstance(mixture, DFPMixture):
        raise ParameterError("mixture", mixture, "a DFPMixture", shown=type(mixture).__name__)
    elif parameters:
        name = next(iter(parameters))
        raise ParameterError(name, parameters[name], "left out where a mixture is given")
    frame = frame_of(adata, where, n_pcs)
    part, key = where
    if part != "obsm" and mixture.columns is None:
        warn_of_counts(frame.to_numpy(), "X" if key is None else f"layers[{key!r}]")
    mixture.fit(frame)
    target = adata.copy() if copy else adata
    write_results(target, mixture, where, n_pcs, n_clusters, key_added)
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
    checked(adata)
    check_key(key_added)
    names = fitted(mixture).training.names
    if mixture.fit_.training.n_rows != adata.n_obs:
        expected = f"fitted to the {adata.n_obs} rows of adata"
        shown = f"a fit of {mixture.fit_.training.n_rows} rows"
        raise ParameterError("mixture", mixture, expected, shown=shown)
    if names is not None and list(names) != list(map(str, adata.obs_names)):
        expected = "fitted to the rows of adata, in their order"
        raise ParameterError("mixture", mixture, expected, shown="rows of other names")
    write_results(adata, mixture, None, None, n_clusters, key_added)


def fitted(mixture: Any) -> Fit:
    """Return the fit of a mixture; raise if it has none."""
    if not hasattr(mixture, "fit_"):
        shown = f"{type(mixture).__name__} without a fit"
        raise ParameterError("mixture", mixture, "a fitted DFPMixture", shown=shown)
    found: Fit = mixture.fit_
    return found


def check_key(key_added: Any) -> None:
    """Raise if files of AnnData cannot have such a key."""
    if not isinstance(key_added, str) or not key_added or "/" in key_added:
        expected = "a text without slashes, which files of AnnData do not admit"
        raise ParameterError("key_added", key_added, expected)


# ---- results -------------------------------------------------------------------------------------


def write_results(
    adata: Any,
    mixture: DFPMixture,
    where: tuple[str, str | None] | None,
    n_pcs: int | None,
    n_clusters: int | None,
    key: str,
) -> None:
    """Write what a mixture found; ``where`` is the part that was fitted, if it is known."""
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
