"""What makes a cluster, as a table: in which columns its rows differ from all others, and how sure.

Clusters were made from the columns, so they differ in some of them whether or not there are
clusters. The probabilities describe the clusters that were found; they are no test of whether these
exist. See `sticktree.posterior.contrast` for what is computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_integer
from sticktree.data.readable import ReadableTable
from sticktree.display import html
from sticktree.engine.own.kinds import KINDS
from sticktree.errors import ParameterError
from sticktree.lines import Lines, aligned
from sticktree.metrics.partitions import class_codes
from sticktree.posterior.contrast import (
    Contrast,
    Membership,
    Reason,
    contrast_numbers,
    contrast_shares,
)
from sticktree.tree import NULL

TOLERANCE = 1e-6  # by which probabilities of a row may sum to more than 1
LINES_SHOWN = 5  # of a cluster, where all are printed
CLUSTERS_SHOWN = 20
NAME_SHOWN = 28
FIELDS = (
    *("cluster", "column", "kind", "category", "inside", "outside", "ratio"),
    *("effect", "effect_low", "effect_high", "p_higher", "evidence", "direction"),
    *("rows_inside", "rows_outside", "note"),
)
"""The columns of the table."""
HEADINGS = ("cluster", "column", "inside", "outside", "effect", "94 % interval", "probability")


@dataclass(frozen=True)
class Marker:
    """One cluster in one column, against all other rows.

    Attributes
    ----------
    cluster : object
        The cluster.
    column, kind : str
        The column, and its kind.
    category : str or None
        Of categories: the one that is more frequent inside than outside by most.
    inside, outside : float
        Means in the user's units; geometric means of a lognormal column, rates of a binomial one,
        shares of the category.
    ratio : float
        Inside by outside, of lognormal columns and of counts; else NaN.
    effect, effect_low, effect_high : float
        The difference in standard deviations within (Cohen's d), of logarithms if the column is
        lognormal; of shares Cohen's h; with a 94 % interval.
    p_higher : float
        Posterior probability that the mean or share inside is larger than that outside.
    rows_inside, rows_outside : float
        Values that this rests on, rows as often as they occur.
    note : str
        Why something is NaN, or what to know.
    """

    cluster: Any
    column: str
    kind: str
    category: str | None
    inside: float
    outside: float
    ratio: float
    effect: float
    effect_low: float
    effect_high: float
    p_higher: float
    rows_inside: float
    rows_outside: float
    note: str

    @property
    def evidence(self) -> float:
        """Posterior probability of a difference in the direction that it has."""
        return max(self.p_higher, 1 - self.p_higher)  # NaN stays NaN, as it comes first

    @property
    def direction(self) -> str:
        """One of "higher" and "lower"; empty where there is no difference or it is not known."""
        if math.isnan(self.effect) or self.effect == 0:
            return ""
        return "higher" if self.effect > 0 else "lower"

    def record(self) -> dict[str, Any]:
        """Return it as a dict, as tables have it."""
        return {name: getattr(self, name) for name in FIELDS}

    def cells(self) -> list[str]:
        """Return it as short texts, one for each of the headings of a table for people."""
        name = self.column if self.category is None else f"{self.column} = {self.category}"
        form = "{:.4g}" if self.category is None else "{:.0%}"
        interval = f"{self.effect_low:.2f} to {self.effect_high:.2f}"
        return [
            str(self.cluster),
            name if len(name) <= NAME_SHOWN else name[: NAME_SHOWN - 1] + "…",
            *("" if math.isnan(x) else form.format(x) for x in (self.inside, self.outside)),
            "" if math.isnan(self.effect) else f"{self.effect:+.2f}",
            "" if math.isnan(self.effect_low) else interval,
            f"{evidence_text(self.evidence)} {self.direction}".strip()
            if not math.isnan(self.evidence)
            else f"({self.note})",
        ]


def evidence_text(evidence: float) -> str:
    """Return a probability in three digits; what would round to 1 is more than 0.999.

    Examples
    --------
    >>> from sticktree.posterior.markers import evidence_text
    >>> evidence_text(0.97512), evidence_text(0.99999)
    ('0.975', '>0.999')
    """
    return ">0.999" if evidence > 0.9995 else f"{evidence:.3f}"


@dataclass(frozen=True, eq=False, repr=False)
class Markers(Lines):
    """What makes each cluster: every cluster in every column against all other rows.

    Arrays have a row for each cluster and a column for each column of the table. Lines, as in
    ``table``, ``to_frame()`` and ``to_csv()``, are sorted within a cluster: by evidence, in
    hundredths, then by the size of the effect.

    Attributes
    ----------
    clusters : tuple
        The clusters.
    sizes : float array, shape (K,)
        Their rows among those that were compared, as often as they occur.
    columns, kinds : tuple of str
        Names and kinds of the columns.
    categories : tuple of tuples of str
        The categories of each column; empty where it has none.
    top_category : int array, shape (K, D)
        The category that a line is about, −1 where the column has none.
    ratio : float array, shape (K, D)
        See `Marker`.
    contrast : Contrast
        Means or shares, effects with intervals, and probabilities, each of shape (K, D).
    shares : tuple of Contrast or None
        Of each column with categories: the same for each of them, of shape (K, categories).
    n_top : int or None
        Lines of each cluster; None is one for each column.
    """

    clusters: tuple[Any, ...]
    sizes: FloatArray
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    top_category: npt.NDArray[np.int64]
    ratio: FloatArray
    contrast: Contrast
    shares: tuple[Contrast | None, ...]
    n_top: int | None = None

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """The columns in the order of the lines, for each cluster: shape (K, D)."""
        probability = self.contrast.probability
        evidence = np.nan_to_num(np.maximum(probability, 1 - probability), nan=0.0)
        effect = np.nan_to_num(np.abs(self.contrast.effect), nan=-1.0, posinf=np.inf)
        return np.lexsort((-effect, -np.round(evidence, 2)), axis=1).astype(np.int64)

    def top(self, n: int) -> Markers:
        """Return the same with the first ``n`` lines of each cluster."""
        return replace(self, n_top=check_integer("n", n, minimum=1))

    def of(self, k: int) -> Iterator[Marker]:
        """Iterate over the lines of the ``k``-th cluster."""
        return (self.marker(k, d) for d in self.order[k, : self.n_top].tolist())

    def marker(self, k: int, d: int) -> Marker:
        """Return the ``k``-th cluster in the ``d``-th column."""
        found, top = self.contrast, int(self.top_category[k, d])
        return Marker(
            self.clusters[k],
            self.columns[d],
            self.kinds[d],
            None if top == NULL else self.categories[d][top],
            float(found.inside[k, d]),
            float(found.outside[k, d]),
            float(self.ratio[k, d]),
            float(found.effect[k, d]),
            float(found.low[k, d]),
            float(found.high[k, d]),
            float(found.probability[k, d]),
            float(found.n_inside[k, d]),
            float(found.n_outside[k, d]),
            Reason(int(found.reason[k, d])).words(),
        )

    def __iter__(self) -> Iterator[Marker]:
        """Iterate over the lines, cluster by cluster."""
        for k in range(len(self.clusters)):
            yield from self.of(k)

    def __len__(self) -> int:
        """Return the number of lines."""
        n_columns = len(self.columns)
        return len(self.clusters) * min(n_columns, self.n_top or n_columns)

    # ---- as a table ------------------------------------------------------------------------------

    fields = FIELDS

    @property
    def table(self) -> list[dict[str, Any]]:
        """The lines as dicts."""
        return [marker.record() for marker in self]

    def shown(self) -> tuple[list[list[str]], int]:
        """Return lines for people, and how many are left out: a few of each of a few clusters."""
        few = self if self.n_top is not None else self.top(LINES_SHOWN)
        n_clusters = min(len(self.clusters), CLUSTERS_SHOWN)
        lines = [marker.cells() for k in range(n_clusters) for marker in few.of(k)]
        return lines, len(self) - len(lines)

    def __str__(self) -> str:
        """Return the table, aligned."""
        body, n_more = self.shown()
        return aligned([list(HEADINGS), *body], {0, 1, *range(5, len(HEADINGS))}, n_more)

    def __repr__(self) -> str:
        """Return how much it has; ``print`` shows it."""
        top = "" if self.n_top is None else f", n_top={self.n_top}"
        return f"Markers(n_clusters={len(self.clusters)}, n_columns={len(self.columns)}{top})"

    def _repr_html_(self) -> str:
        """Return how it looks in a notebook."""
        return html("markers", self)


# ---- from rows -----------------------------------------------------------------------------------


def find_markers(
    table: ReadableTable,
    membership: npt.NDArray[Any],
    weights: npt.ArrayLike | None = None,
    *,
    clusters: Sequence[Any] | None = None,
    n_top: int | None = None,
) -> Markers:
    """Compare every cluster with all other rows, column by column.

    Parameters
    ----------
    table : ReadableTable
        The rows, in the user's units.
    membership : int array, shape (N,), or float array, shape (N, K)
        The cluster of each row, from 0, −1 for a stray; or the probability of each row to be in
        each cluster. A stray is in none, and among the others of every one.
    weights : array, shape (N,), optional
        How often each row occurs; by default once.
    clusters : sequence, length K, optional
        What the clusters are called; by default by their numbers.
    n_top : int or None, default=None
        Lines of each cluster; None is one for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.data import read_table
    >>> from sticktree.data.readable import ReadableTable
    >>> from sticktree.posterior.markers import find_markers
    >>> read = read_table([[1.0, 5.0], [2.0, 5.5], [8.0, 5.2], [9.0, 5.1]])
    >>> table = ReadableTable.of(read.columns, np.arange(4), read.values)
    >>> print(find_markers(table, np.array([0, 0, 1, 1]), n_top=1))
    cluster  column    inside  outside  effect  94 % interval    probability
    0        column 0     1.5      8.5   -9.90  -20.13 to -1.61  0.995 lower
    1        column 0     8.5      1.5   +9.90  1.61 to 20.13    0.995 higher
    """
    if n_top is not None:
        check_integer("n_top", n_top, minimum=1)
    n_rows = len(table.values)
    counted = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    names = _check(membership, n_rows, clusters)
    member = Membership(membership, len(names), counted)
    shape = (len(names), len(table.names))
    numbers = [d for d, categories in enumerate(table.categories) if not categories]
    shares: list[Contrast | None] = [None] * shape[1]
    top, ratio = np.full(shape, NULL, dtype=np.int64), np.full(shape, np.nan)
    parts = []
    if numbers:
        of_numbers, ratio[:, numbers] = _of_numbers(table, numbers, member)
        parts.append((numbers, of_numbers))
    for d in sorted(set(range(shape[1])) - set(numbers)):
        codes = np.where(np.isnan(table.values[:, d]), NULL, table.values[:, d]).astype(np.int64)
        shares[d] = of_all = contrast_shares(codes, len(table.categories[d]), member)
        above = np.nan_to_num(of_all.inside - of_all.outside, nan=-1.0)
        top[:, d] = above.argmax(axis=1)
        parts.append(([d], of_all.at(top[:, [d]])))
    return Markers(
        names,
        _sizes(membership, len(names), counted),
        table.names,
        table.declared,
        table.categories,
        top,
        ratio,
        Contrast.together(parts, shape),
        tuple(shares),
        n_top,
    )


def _of_numbers(
    table: ReadableTable, which: list[int], member: Membership
) -> tuple[Contrast, FloatArray]:
    """Compare numbers, lognormal ones as logarithms; return the contrast, and ratios.

    Ratios are of medians, where columns are lognormal, and of means of counts; else NaN.
    """
    kinds = [KINDS[table.declared[d]] for d in which]
    is_log = np.array([kind.is_log for kind in kinds])
    has_ratio = np.array(
        [
            kind.is_log or not (kind.likelihood.is_continuous or d in table.trials)
            for kind, d in zip(kinds, which, strict=True)
        ]
    )
    values = table.values[:, which]
    with np.errstate(divide="ignore", invalid="ignore"):
        values[:, is_log] = np.log(values[:, is_log])
        trials = {which.index(d): of_rows for d, of_rows in table.trials.items()}
        found = contrast_numbers(values, member, trials)
        inside, outside = (
            np.where(is_log, np.exp(np.where(is_log, mean, 0.0)), mean)
            for mean in (found.inside, found.outside)
        )
        ratio = np.where(has_ratio, inside / outside, np.nan)
    return replace(found, inside=inside, outside=outside), ratio


def _check(
    membership: npt.NDArray[Any], n_rows: int, clusters: Sequence[Any] | None
) -> tuple[Any, ...]:
    """Return names of the clusters; raise if the membership is not one of these rows."""
    shape = f"an array of shape {membership.shape}"
    if membership.ndim not in (1, 2) or len(membership) != n_rows:
        expected = f"a row for each of the {n_rows} rows"
        raise ParameterError("membership", membership, expected, verb="have", shown=shape)
    if membership.ndim == 1:
        n_clusters = int(membership.max(initial=-1)) + 1
    else:
        n_clusters = membership.shape[1]
        total = membership.sum(axis=1)
        if not (membership.min(initial=0.0) >= 0 and total.max(initial=0.0) <= 1 + TOLERANCE):
            expected = "probabilities that sum to at most 1 in each row"
            shown = f"sums up to {total.max(initial=0.0):g}"
            raise ParameterError("membership", membership, expected, verb="have", shown=shown)
    if clusters is None:
        return tuple(range(n_clusters))
    if len(clusters) < n_clusters:
        expected = f"a name for each of the {n_clusters} clusters"
        raise ParameterError("clusters", len(clusters), expected, verb="have")
    return tuple(clusters)


def _sizes(membership: npt.NDArray[Any], n_clusters: int, weights: FloatArray) -> FloatArray:
    if membership.ndim == 2:
        return np.asarray(weights @ membership)
    inside = membership >= 0
    counts = np.bincount(membership[inside], weights[inside], minlength=n_clusters)
    return counts.astype(np.float64)


def coded_labels(labels: Any, n_rows: int) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Return the number of each row's cluster, and the clusters in their order.

    Labels are of any kind; −1 and what is missing (None, NaN) are strays, with the number −1.

    Examples
    --------
    >>> from sticktree.posterior.markers import coded_labels
    >>> coded_labels(["b", "a", None, "b"], 4)
    (array([ 1,  0, -1,  1]), ['a', 'b'])
    >>> coded_labels([7, -1, 3, 3], 4)
    (array([ 1, -1,  0,  0]), [3, 7])
    """
    codes = class_codes("labels", labels, n_rows)
    _, first = np.unique(codes[codes != NULL], return_index=True)
    given = np.asarray(labels, dtype=object)[codes != NULL][first].tolist()
    kept = [k for k, name in enumerate(given) if str(name) not in ("-1", "-1.0")]
    try:
        kept.sort(key=given.__getitem__)
    except TypeError:
        kept.sort(key=lambda k: (str(type(given[k])), str(given[k])))
    number = np.full(len(given) + 1, NULL, dtype=np.int64)  # the last one is for NULL itself
    number[kept] = np.arange(len(kept))
    if not kept:
        raise ParameterError("labels", labels, "a cluster", verb="have", shown="strays only")
    return number[codes], [given[k] for k in kept]
