"""The facts of a fit, each computed once and in the user's units, for all who show them.

>>> import numpy as np
>>> from sticktree import DFPMixture
>>> from sticktree.present.findings import Findings
>>> rng = np.random.default_rng(0)
>>> X = np.concatenate([rng.normal(0, 1, (20, 2)), rng.normal(9, 1, (20, 2))])
>>> mixture = DFPMixture(covariance_type="full", leaf_noise="shared", n_chains=2, n_warmup=50,
...                      n_draws=200, random_state=0).fit(X)
>>> found = Findings(mixture.fit_)
>>> sum(cluster.n_rows for cluster in found.clusters)
40
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sticktree.data.readable import ReadableTable
from sticktree.errors import ParameterError
from sticktree.present.annotations import Annotation, Classes
from sticktree.present.table import draws_in_words, many
from sticktree.present.traits import Trait, traits

if TYPE_CHECKING:
    from sticktree.fit import Fit
    from sticktree.posterior.markers import Markers
    from sticktree.posterior.relevance import Relevance
    from sticktree.posterior.verdict import Verdict
    from sticktree.tree import Tree

SIZES_SHOWN = 8  # of clusters
COLUMNS_SHOWN = 8  # that carry the clusters
MOST_GROUPS = 60  # that can be told apart beside a tree
COVARIANCES = {"full": "full", "diag": "diagonal", "spherical": "spherical"}
NOISES = {"shared": "the same noise at all leaves", "own": "each leaf with its own noise"}


@dataclass(frozen=True)
class Cluster:
    """One flat cluster.

    Attributes
    ----------
    number, n_rows : int
        Its number, and how many rows it has.
    confidence : float
        Mean probability of its rows to be in it after a step of the walk; see ``confidence_``.
    traits : list of Trait
        In what columns it differs most from all other rows.
    classes : dict of int
        How many of its rows are of each known class, the most frequent first.
    """

    number: int
    n_rows: int
    confidence: float
    traits: list[Trait]
    classes: dict[str, int]


class Findings:
    """What a fit found.

    Parameters
    ----------
    fit : Fit
        The result of a fit, ``fit_`` of a mixture.
    names : sequence, length n_samples, or None, default=None
        Names of its rows; by default those of its tree.
    classes : sequence, length n_samples, or None, default=None
        Known classes of its rows, None where they are not known; by default the first annotation
        that is one of classes.
    annotations : mapping of str to sequence, length n_samples, or None, default=None
        What else is known of its rows: classes or numbers, by name.
    by_level : sequence of int arrays, optional
        The clusters of least loss at levels 1 to the last, if they are known already.
    """

    def __init__(
        self,
        fit: Fit,
        *,
        names: Sequence[Any] | None = None,
        classes: Sequence[Any] | None = None,
        annotations: Mapping[str, Sequence[Any]] | None = None,
        by_level: Sequence[npt.NDArray[Any]] | None = None,
    ) -> None:
        self.fit = fit
        self.n_rows = fit.training.n_rows
        self._names = self._of_rows("names", names)
        known = self._of_rows("classes", classes)
        self.annotations = [] if known is None else [Annotation("class", Classes.of(known))]
        """Classes first, then annotations as they were given, then groups."""
        for name, values in (annotations or {}).items():
            self.annotations.append(Annotation.of(str(name), self._of_annotation(name, values)))
        self.classes = next((one.classes for one in self.annotations if one.classes), None)
        self._annotate_groups()
        if by_level is not None:
            self.by_level = list(by_level)

    def _annotate_groups(self) -> None:
        """Add the groups of the rows to what is known of them; they are no classes."""
        groups, names = self.fit.training.groups, self.fit.training.groups_of_rows()
        if groups is None or names is None or len(groups.names) > MOST_GROUPS:
            return
        heading = "group" if groups.column is None else str(groups.column)
        if heading not in [one.name for one in self.annotations]:
            self.annotations.append(Annotation(heading, Classes.of(names)))

    def _of_rows(self, name: str, given: Sequence[Any] | None) -> list[Any] | None:
        if given is None:
            return None
        entries = list(given)
        if len(entries) != self.n_rows:
            expected = f"an entry for each of the {self.n_rows} rows"
            raise ParameterError(name, len(entries), expected, verb="have")
        return entries

    def _of_annotation(self, name: str, given: Sequence[Any]) -> list[Any]:
        entries = self._of_rows(f"annotations[{name!r}]", given)
        if entries is None:
            expected = f"an entry for each of the {self.n_rows} rows"
            raise ParameterError(f"annotations[{name!r}]", None, expected, verb="have")
        return entries

    # ---- rows and columns -----------------------------------------------------------------------

    @cached_property
    def in_tree(self) -> npt.NDArray[np.int64]:
        """The row that each datum of the tree is: all but those of weight zero."""
        return self.fit.training.fitted_rows

    @cached_property
    def names(self) -> list[str] | None:
        """A name for each row of the tree, if there are any."""
        if self._names is not None:
            return [str(self._names[row]) for row in self.in_tree]
        if self.fit.tree.names is not None:
            return list(self.fit.tree.names)
        return None

    @cached_property
    def table(self) -> ReadableTable:
        """The rows at hand."""
        return ReadableTable.of(self.fit.columns, *self.fit.training.at_hand())

    @cached_property
    def columns(self) -> str:
        """What was fitted, in words."""
        columns = self.fit.columns
        return (
            f"{many(self.n_rows, 'row')}, {many(len(columns.given), 'column')}: {columns.listed()}"
        )

    # ---- tree and clusters ----------------------------------------------------------------------

    @cached_property
    def tree(self) -> Tree:
        """The consensus tree, with the names of its rows.

        Where some rows are not in the tree, the others are named by their numbers if they have no
        names.
        """
        names = self.names
        if names is None and self.in_tree.size < self.n_rows:
            names = [str(row) for row in self.in_tree]
        return self.fit.tree if names is None else self.fit.tree.annotated(names=names)

    @cached_property
    def cluster_tree(self) -> Tree | None:
        """The tree whose cuts are the clusters; None if the draws that it is made of are gone."""
        known = "cluster_tree" in vars(self.fit) or self.fit.posterior.labelled
        return self.fit.cluster_tree if known else None

    @property
    def level(self) -> int:
        """The level of the draws' trees that the walk steps in most often."""
        return self.fit.level

    @property
    def levels(self) -> int:
        """The last level of the tree."""
        return self.fit.model.depth

    @cached_property
    def by_level(self) -> list[npt.NDArray[Any]]:
        """The clusters of least loss at levels 1 to the last."""
        levels = range(1, self.levels + 1)
        return [self.fit.cluster(method="loss", level=level) for level in levels]

    @cached_property
    def sizes(self) -> list[int]:
        """How many rows the clusters have, the largest first."""
        sizes = np.bincount(self.fit.labels)
        return sorted(sizes[sizes > 0].tolist(), reverse=True)

    @cached_property
    def n_strays(self) -> int:
        """How many rows are strays, apart from the cluster that they are nearest to."""
        return int(np.count_nonzero(self.fit.strays))

    @property
    def sizes_in_words(self) -> str:
        """How many clusters there are, how large they are, and how many rows are strays."""
        shown = ", ".join(f"{size:,}" for size in self.sizes[:SIZES_SHOWN])
        if len(self.sizes) > SIZES_SHOWN:
            shown = f"the largest have {shown} rows"
        else:
            shown += " row" if self.sizes == [1] else " rows"
        strays = ""
        if self.n_strays:
            strays = f"; {many(self.n_strays, 'row is a stray', 'rows are strays')}"
        return f"{many(len(self.sizes), 'cluster')}: {shown}{strays}"

    @cached_property
    def markers(self) -> Markers:
        """What makes each of the flat clusters."""
        return self.fit.markers()

    @cached_property
    def relevance(self) -> Relevance:
        """Which columns carry the flat clusters."""
        return self.fit.relevance()

    @property
    def carrying(self) -> Relevance | None:
        """The few columns that carry the clusters most, if there are clusters to be carried."""
        found = self.relevance.top(COLUMNS_SHOWN)
        return found if len(self.sizes) > 1 and not np.isnan(found.share).all() else None

    @cached_property
    def clusters(self) -> list[Cluster]:
        """The flat clusters."""
        labels, confidence = self.fit.labels, self.fit.confidence
        order = np.argsort(labels, kind="stable")
        found, first = np.unique(labels[order], return_index=True)
        return [
            Cluster(
                number,
                rows.size,
                float(confidence[rows].mean()),
                traits(self.markers, number),
                {} if self.classes is None else self.classes.count(rows),
            )
            for number, rows in zip(found.tolist(), np.split(order, first[1:]), strict=True)
        ]

    # ---- model and chains -----------------------------------------------------------------------

    @cached_property
    def model(self) -> str:
        """What was fitted, and how it was chosen, in words."""
        fit = self.fit
        covariance = COVARIANCES[fit.model.covariance_type]
        text = f"depth {fit.depth}, {NOISES[fit.model.leaf_noise]}, {covariance} covariance"
        factors = fit.training.factors
        if factors is not None:
            text += f", of the scores of {many(factors.n_factors, 'factor')}"
        if fit.selection is None:
            return text
        return f"{text}: the best of {len(fit.selection.results)} by leave-one-out density"

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the chains agree."""
        return self.fit.diagnosis.verdict()

    @property
    def draws(self) -> str:
        """How many draws there are, in words."""
        return draws_in_words(self.fit.posterior)

    @property
    def course(self) -> str:
        """How sampling went, in words, if the answer decided on it or time ran out."""
        return " ".join(self.fit.sampled.course.words())

    @property
    def stream(self) -> str:
        """What is to be said of batches, if rows came in batches."""
        return "" if self.fit.stream is None else self.fit.stream.words()

    def result(self) -> dict[str, Any]:
        """Return the facts as plain objects, for JSON."""
        return {
            "rows": self.n_rows,
            "columns": self.columns,
            "model": self.model,
            "level": self.level,
            "levels": self.levels,
            "strays": self.n_strays,
            "clusters_per_level": [int(labels.max()) + 1 for labels in self.by_level],
            "clusters": [
                {
                    "cluster": cluster.number,
                    "rows": cluster.n_rows,
                    "confidence": cluster.confidence,
                    "typical": [trait.brief() for trait in cluster.traits],
                    "labels": cluster.classes,
                }
                for cluster in self.clusters
            ],
            "relevance": [] if self.carrying is None else self.carrying.table,
            "groups": self.fit.group_gain.result() if self.fit.tells_group_gain else None,
            "agree": self.verdict.tone,
            "convergence": self.verdict.text,
            "verdict": [asdict(part) for part in self.verdict.parts],
            "r_hat": dict(self.fit.diagnosis.r_hat),
            "ess": dict(self.fit.diagnosis.ess),
            "sampling": self._sampling(),
            "stream": self.stream,
            "drifted": [] if self.fit.stream is None else self.fit.stream.drifted,
        }

    def _sampling(self) -> dict[str, Any]:
        runs, course = self.fit.sampled.runs, self.fit.sampled.course
        return {
            "chains": len(runs),
            "sweeps": max((run.n_sweeps for run in runs), default=0),
            "draws": self.fit.posterior.n_draws,
            "stable": course.settled if course.looks else None,
            "stuck_chains": list(course.stuck),
            "max_time": course.max_time,
            "out_of_time": course.out_of_time,
            "looks": [asdict(look) for look in course.looks],
        }
