"""Which rows of an AnnData are fitted, as a table that a mixture takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from sticktree.checks import FloatArray, check_integer
from sticktree.errors import ParameterError, warn_caller
from sticktree.optional import optional

FEW_GENES = 50  # up to which scanpy, and we, take X itself if no representation is asked for
DENSE_CELLS = 50_000_000  # entries that a sparse matrix may have as a dense one: 400 MB
ADVICE = (
    "reduce it first, e.g. by scanpy.pp.highly_variable_genes and scanpy.pp.pca, and give "
    'use_rep="X_pca"'
)


class CountsWarning(UserWarning):
    """Counts are about to be fitted as if they were measurements."""


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
    where = where_of(checked(adata), use_rep, layer, n_pcs)
    return frame_of(adata, where, n_pcs)


def checked(adata: Any) -> Any:
    """Return an AnnData; raise if it is something else."""
    package = optional("anndata", extra="anndata", asker="sticktree.anndata")
    if not isinstance(adata, package.AnnData):
        remedy = None
        if hasattr(adata, "mod"):
            remedy = 'take one of its modalities, e.g. mdata["rna"]'
        shown = type(adata).__name__
        raise ParameterError("adata", adata, "an anndata.AnnData", remedy, shown=shown)
    return adata


def where_of(
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


def frame_of(adata: Any, where: tuple[str, str | None], n_pcs: int | None) -> Any:
    """Return a part of an AnnData as a data frame with names of rows and columns."""
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


def warn_of_counts(values: FloatArray, name: str) -> None:
    """Warn if all entries are whole numbers, as counts are."""
    seen = values[np.isfinite(values)]
    if seen.size and seen.min() >= 0 and seen.max() > 1 and bool((seen == np.floor(seen)).all()):
        warn_caller(
            f"{name} has counts, which are fitted as if they were measurements: normalise them and "
            "take logarithms first (scanpy.pp.normalize_total, scanpy.pp.log1p), or say by "
            "columns= what each is",
            CountsWarning,
        )
