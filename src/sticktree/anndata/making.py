"""An AnnData of any fit, for programs that read ``.h5ad``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sticktree.anndata.results import KEY, check_key, fitted, write_results
from sticktree.checks import check_integer
from sticktree.data.readable import ReadableTable
from sticktree.errors import ParameterError
from sticktree.estimators.mixture import DFPMixture
from sticktree.fit import Fit
from sticktree.optional import optional


def to_anndata(
    mixture: DFPMixture,
    *,
    names: Sequence[str] | None = None,
    annotations: Mapping[str, Sequence[Any]] | None = None,
    n_clusters: int | None = None,
    key_added: str = KEY,
) -> Any:
    """Make an AnnData of the rows that a mixture was fitted to, with what it found in them.

    ``X`` has the numeric columns in their units, NaN where an entry is missing, and of binomial
    columns the shares; columns of categories are in ``obs``, beside the annotations and ``group``,
    if the fit has groups. If the fit keeps only a sample of its rows, as one of a file that was
    read in pieces does, there is no ``X``.

    Parameters
    ----------
    mixture : DFPMixture
        A fitted mixture.
    names : sequence of str, length n_samples, or None, default=None
        Names of the rows; None is those of the data frame that was fitted, or their numbers. One
        that has occurred before has a number behind it.
    annotations : dict of str to sequence, length n_samples, or None, default=None
        What else is known of the rows, to be columns of ``obs``; None is missing.
    n_clusters : int or None, default=None
        Into how many clusters the cluster tree is cut; None is as many as there are.
    key_added : str, default="sticktree"
        The key that results are under; see :mod:`sticktree.anndata`.

    Returns
    -------
    AnnData
    """
    package = optional("anndata", extra="anndata", asker="to_anndata")
    pandas = optional("pandas", extra="anndata", asker="to_anndata")
    check_key(key_added)
    if n_clusters is not None:
        check_integer("n_clusters", n_clusters, minimum=1)
    training = fitted(mixture).training
    given = annotations or {}
    if names is None:
        known_names = training.names
        names = known_names if known_names is not None else list(map(str, range(training.n_rows)))
    for name, entries in [
        ("names", names),
        *((f"annotations[{k!r}]", v) for k, v in given.items()),
    ]:
        if len(entries) != training.n_rows:
            expected = f"an entry for each of the {training.n_rows} rows"
            raise ParameterError(name, len(entries), expected, verb="have")
    rows = ReadableTable.of(mixture.fit_.columns, *training.at_hand())
    whole = rows.rows.size == training.n_rows
    known = dict(_categories(rows)) if whole else {}
    known |= _groups(mixture.fit_)
    known |= {
        str(k): [None if _missing(v) else str(v) for v in values] for k, values in given.items()
    }
    _check_names(known, key_added)
    # Files of AnnData have no slashes in the names of columns.
    headings = _distinct([_storable(name).replace("/", "_") for name in known])
    obs = pandas.DataFrame(
        {
            heading: pandas.Categorical([None if v is None else _storable(v) for v in values])
            for heading, values in zip(headings, known.values(), strict=True)
        },
        index=pandas.Index(_distinct(list(map(_storable, names))), dtype=object),
    )
    if whole:
        numeric = [d for d, categories in enumerate(rows.categories) if not categories]
        columns = _distinct([_storable(rows.names[d]) for d in numeric])
        var = pandas.DataFrame(index=pandas.Index(columns, dtype=object))
        adata = package.AnnData(rows.values[:, numeric], obs=obs, var=var)
    else:
        adata = package.AnnData(obs=obs)
    write_results(adata, mixture, ("X", None), None, n_clusters, key_added)
    return adata


def _categories(rows: ReadableTable) -> Iterator[tuple[str, list[str | None]]]:
    """Yield the columns of categories, with None where an entry is missing."""
    for name, words, codes in zip(rows.names, rows.categories, rows.values.T, strict=True):
        if words:
            yield name, [None if math.isnan(code) else words[int(code)] for code in codes]


def _groups(found: Fit) -> dict[str, list[str | None]]:
    """Return the group of every row, if the fit has groups; None is a row without one."""
    groups, names = found.training.groups, found.training.groups_of_rows()
    if groups is None or names is None:
        return {}
    heading = "group" if groups.column is None else str(groups.column)
    return {heading: [None if name is None else str(name) for name in names]}


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _check_names(known: Mapping[str, Any], key: str) -> None:
    for name in (key, f"{key}_confidence", f"{key}_stray"):
        if name in known:
            remedy = "give the results another key by key_added"
            raise ParameterError("annotations", name, "named unlike the results", remedy)


def _storable(text: object) -> str:
    return str(text).replace("\0", "\ufffd")  # strings of HDF5 end at a NUL


def _distinct(names: list[str]) -> list[str]:
    """Return names of which no two are equal: one that has occurred before has a number behind."""
    taken, found = set(names), []
    seen: set[str] = set()
    for name in names:
        chosen, k = name, 1
        while chosen in seen or (k > 1 and chosen in taken):
            k += 1
            chosen = f"{name} ({k})"
        seen.add(chosen)
        found.append(chosen)
    return found
