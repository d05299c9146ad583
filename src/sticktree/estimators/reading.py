"""Rows that an estimator is given, wherever they are: read for a fit, or to be asked about."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from sticktree.checks import check_not_infinite, check_reach
from sticktree.data import Table, read_table
from sticktree.data.groups import RowGroups, take_column
from sticktree.data.parents import Kin, read_kin, take_columns
from sticktree.data.scaling import Scaling
from sticktree.data.sources.tables import ChunkedTable, map_table
from sticktree.data.training import TrainingData, check_few_groups
from sticktree.errors import ParameterError, warn_caller
from sticktree.estimators.going_on import groups_of_last
from sticktree.fit import Fit
from sticktree.inference.runner import Workers
from sticktree.optional import load_pandas

if TYPE_CHECKING:
    from sticktree.engine.bulk.measure import Scale


Method = TypeVar("Method", bound=Callable[..., Any])


class ColumnsWarning(UserWarning):
    """The kinds of columns were inferred; it says how."""


def is_dask(X: object) -> bool:  # noqa: N803
    """Tell whether something is a collection of Dask; Dask is not loaded for that.

    Examples
    --------
    >>> from sticktree.cluster import is_dask
    >>> is_dask([[1.0, 2.0]])
    False
    """
    return "dask" in sys.modules and sys.modules["dask"].is_dask_collection(X)


def training_data(
    estimator: Any,
    X: Any,  # noqa: N803
    sample_weight: Any,
    algorithm: str,
    last: Fit | None,
    factors: int | str | None = None,
    groups: Any = None,
    *,
    more_to_come: bool = False,
) -> TrainingData:
    """Read the rows of a fit and standardise them, as the last fit did if this one goes on.

    ``factors`` is the parameter of the estimator, checked. With ``more_to_come`` these are the
    first of a stream.
    """
    scaling = None if last is None else last.training.scaling
    if is_dask(X):
        dask, array = "a dask array or DataFrame", "X.compute()"
        _check_outside(estimator, sample_weight, algorithm, factors, dask, array)
        return _of_dask(estimator, X, last, groups)
    if isinstance(X, ChunkedTable):
        chunks, array = "a table that is read in chunks", "an array in memory"
        _check_outside(estimator, sample_weight, algorithm, factors, chunks, array)
        return _of_chunks(estimator, X, scaling, groups)
    X, groups, column = take_columns(X, groups)  # noqa: N806
    names, table = row_names(X), read_rows(estimator, X, reset=last is None)
    if last is not None:
        groups = groups_of_last(last, groups, len(table.values))
    wanted = factors if last is None else last.training.factors
    return TrainingData.of_table(
        table,
        sample_weight,
        estimator.standardize,
        algorithm,
        scaling,
        names,
        wanted,
        groups,
        column,
        more_to_come,
    )


def read_rows(estimator: Any, X: Any, *, reset: bool = False) -> Table:  # noqa: N803
    """Read rows in memory, like those of the fit unless ``reset``."""
    if type(X).__module__.partition(".")[0] == "anndata":
        raise TypeError(
            "X is an AnnData, which has several tables: sticktree.anndata.fit(adata) fits one of "
            "them, and sticktree.anndata.table(adata) returns it"
        )
    columns = estimator.columns
    _check_dense(X)
    if isinstance(X, Table):
        alike: Any = np.zeros((1, len(X.columns.given)))
        if X.columns.container != "array":
            alike = _frame(alike, X.columns.given)
        validate_data(estimator, alike, reset=reset, skip_check_array=True)
        known = X.columns if reset else estimator.columns_
        if (X.columns.declared, X.columns.categories) != (known.declared, known.categories):
            expected = "a table with the kinds and categories of the fit"
            raise ParameterError("X", X, expected, shown=f"other ones: {X.columns.listed()}")
        return X
    if columns is None and not hasattr(X, "columns"):
        X = validate_data(  # noqa: N806
            estimator, X, dtype=np.float64, order="C", reset=reset, ensure_all_finite=False
        )
        check_not_infinite("X", X)
    else:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    if not reset:
        return read_table(X, table=estimator.columns_)
    table = read_table(X, columns)
    given = columns if isinstance(columns, dict) else dict(enumerate(columns or ()))
    if table.columns.discrete and len(given) < table.columns.n_declared:
        warn_caller(table.columns.describe(), ColumnsWarning)
    return table


def _check_dense(X: Any) -> None:  # noqa: N803
    """Raise if rows are a sparse matrix, and say what to do with counts."""
    if "scipy.sparse" in sys.modules and sys.modules["scipy.sparse"].issparse(X):
        raise ParameterError(
            "X",
            X,
            "a dense array",
            "take X.toarray(), and of counts, such as reads of genes in cells, logarithms of "
            "shares: np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True)), of many columns "
            "the most variable ones",
            shown=f"a sparse matrix of shape {X.shape}",
        )


def row_names(X: Any) -> tuple[str, ...] | None:  # noqa: N803
    """Return the names of the rows of a table, unless they are only numbered."""
    if isinstance(X, Table):
        return X.names
    index = getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex" or is_dask(X):
        return None
    return tuple(map(str, index))


# ---- rows outside memory -------------------------------------------------------------------------


def _check_outside(
    estimator: Any,
    sample_weight: Any,
    algorithm: str,
    factors: int | str | None,
    rows: str,
    instead: str,
) -> None:
    """Raise an error if something is asked that cannot be done with rows outside memory.

    ``rows`` is what they are called, and ``instead`` what the other sampler takes.
    """
    if algorithm == "gibbs":
        raise ParameterError(
            "algorithm", algorithm, f'"parallel" or "auto" for {rows}', f"it takes {instead}"
        )
    if sample_weight is not None:
        shown = type(sample_weight).__name__
        raise ParameterError("sample_weight", sample_weight, f"None for {rows}", shown=shown)
    if isinstance(factors, int):
        expected = f'None or "auto" for {rows}'
        raise ParameterError("factors", factors, expected, f"they take {instead}")
    columns = estimator.columns
    kinds = set(columns.values() if isinstance(columns, dict) else columns or ())
    if kinds - {"gaussian"}:
        shown = ", ".join(sorted(map(repr, kinds - {"gaussian"})))
        raise ParameterError("columns", columns, f"gaussian for {rows}", verb="all be", shown=shown)


def _of_dask(
    estimator: Any,
    X: Any,  # noqa: N803
    last: Fit | None,
    groups: Any = None,
) -> TrainingData:
    """Prepare a Dask collection where it is; all its columns are gaussian.

    Groups of rows come here, one number for each row.
    """
    from sticktree.data.sources.dask.placement import DaskRows, DaskStore
    from sticktree.data.sources.dask.session import ClusterLostError
    from sticktree.data.sources.dask.source import DaskSource

    X, groups, column = take_columns(X, groups)  # noqa: N806
    source = DaskSource.of(X)
    if isinstance(groups, Kin):
        groups = replace(groups, groups=_here(groups.groups), parents=_here(groups.parents))
    found = _groups_outside(_here(groups), source.n_rows, column)
    names = None if source.names is None else X.columns
    known = None if last is None else last.training.scaling
    scaling = _scaling_outside(estimator, source.n_columns, names, known, source.measure)
    of_row = None if found is None else found.of_data
    store = source.store(scaling.centre, scaling.spread, group=of_row)
    if last is not None and isinstance(store, DaskStore):
        rows: Any = last.sampled.runs[0].chain
        rows = rows.rows
        of_last = rows.store if isinstance(rows, DaskRows) else None
        if isinstance(rows, DaskRows) and of_last is None:
            raise ClusterLostError(
                "the rows of the last fit stayed on the cluster it was copied from"
            )
        if of_last is None or of_last.digest() != store.digest():
            raise ValueError("X must be the data of the last fit when warm_start=True goes on")
    return TrainingData.of_store(scaling, store, found)


def _here(groups: Any) -> Any:
    """Return groups of rows in memory."""
    return groups.compute() if is_dask(groups) else groups


def _groups_outside(groups: Any, n_rows: int, column: Any) -> RowGroups | None:
    """Return the groups of rows outside memory, with their parents if there are any."""
    found = None if groups is None else read_kin(groups, n_rows, np.arange(n_rows), column)
    check_few_groups(found)
    return found


def _of_chunks(
    estimator: Any, table: ChunkedTable, known: Scaling | None, groups: Any = None
) -> TrainingData:
    """Prepare a table that is read in chunks; all its columns are gaussian."""
    from sticktree.data.sources.prepared import PreparedTable, measure_table

    table, groups, column = take_columns(table, groups)
    found = _groups_outside(groups, table.n_rows, column)
    table.check_numbers()
    n_threads = Workers.of(estimator.n_chains, estimator.n_jobs).n_threads
    scaling = _scaling_outside(
        estimator, table.n_columns, table.names, known, lambda: measure_table(table, n_threads)
    )
    store = PreparedTable(
        table,
        scaling.centre,
        scaling.spread,
        n_threads=n_threads,
        group=None if found is None else found.of_data,
    )
    return TrainingData.of_store(scaling, store, found)


def _scaling_outside(
    estimator: Any,
    n_columns: int,
    names: Sequence[Any] | None,
    known: Scaling | None,
    measure: Callable[[], Scale],
) -> Scaling:
    """Return units of gaussian columns, measured unless ``known``, and note their names."""
    alike: Any = np.zeros((1, n_columns))
    if names is not None:
        alike = _frame(alike, names)
    validate_data(estimator, alike, reset=known is None, skip_check_array=True)
    if known is not None:
        return known
    scale = measure()
    centre, spread = scale.centre, scale.spread
    if not estimator.standardize:
        centre, spread = np.zeros_like(centre), np.ones_like(spread)
    ends = np.stack([scale.reach.least, scale.reach.most])
    check_reach("X", (ends - centre) / spread, names)
    return Scaling(read_table(alike, ["gaussian"] * n_columns).columns, centre, spread)


def _frame(rows: npt.NDArray[Any], names: Sequence[Any]) -> Any:
    return load_pandas().DataFrame(rows, columns=list(names))


# ---- questions about rows outside memory ---------------------------------------------------------


def chunkwise(method: Method) -> Method:
    """Have a method that answers about each row of ``X`` asked a chunk of rows at a time.

    So it is for a table that is read in chunks, and for a memory map with many rows. Rows of a
    table with names come as data frames if the estimator was fitted to names. ``groups`` of the
    rows, or the column that has them, go along chunk by chunk.
    """

    @wraps(method)
    def asked(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:  # noqa: N803
        if isinstance(X, np.memmap):
            if X.ndim != 2 or len(X) <= ChunkedTable.chunk_rows or X.dtype.kind not in "fiu":
                return method(self, X, *arguments, **options)
        elif not isinstance(X, ChunkedTable):
            return method(self, X, *arguments, **options)
        known = self.fit_.training.groups if hasattr(self, "fit_") else None
        column = None if known is None else known.column
        if column is not None and column in (getattr(X, "names", None) or ()):
            X, taken, _ = take_column(X, column)  # noqa: N806
            if "groups" in signature(method).parameters:
                options = {"groups": taken} | options
        above = None if known is None else known.parent_column
        if above is not None and above in (getattr(X, "names", None) or ()):
            X, _, _ = take_column(X, above)  # noqa: N806
        names = getattr(X, "names", None)
        if not hasattr(self, "feature_names_in_"):
            names = None
        groups, n_done = options.pop("groups", None), 0
        if groups is not None and len(groups) != len(X):
            expected = f"one name for each of the {len(X)} rows"
            shown = f"{len(groups)} entries"
            raise ParameterError("groups", groups, expected, verb="have", shown=shown)

        def answer(rows: npt.NDArray[Any]) -> Any:
            nonlocal n_done
            of_rows = {}
            if groups is not None:
                of_rows = {"groups": groups[n_done : n_done + len(rows)]}
            n_done += len(rows)
            shown = rows if names is None else _frame(rows, names)
            return method(self, shown, *arguments, **options, **of_rows)

        from sticktree.data.sources.formats import open_table

        return map_table(open_table(X), answer)

    return asked  # type: ignore[return-value]


def lazily(
    estimator: Any,
    method: str,
    X: Any,  # noqa: N803
    dtype: npt.DTypeLike,
    width: int | None = None,
    **options: Any,
) -> npt.NDArray[Any]:
    """Return what a method says of each partition of a Dask collection, as a dask array.

    ``width`` is the number of columns of the answer; None is one entry for each row.
    """
    from sticktree.data.sources.dask.lazy import map_rows

    light = copy(estimator)
    light.fit_ = estimator.fit_.to_be_sent(with_labels=method != "score_samples")
    answer = partial(getattr(light, method), **options)
    lazy: npt.NDArray[Any] = map_rows(X, answer, dtype, width)  # as good as one
    return lazy
