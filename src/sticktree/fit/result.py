"""The result of a fit: the model, its rows, the draws, and what they say of rows old and new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.data.readable import ReadableTable
from sticktree.engine.draw import Draw
from sticktree.errors import ParameterError
from sticktree.fit.clusters import FittedClusters
from sticktree.inference.showing import showing
from sticktree.posterior.clusterings import labels_at, spread
from sticktree.posterior.composition import Composition
from sticktree.posterior.draws import Diagnosis, Posterior, diagnose
from sticktree.posterior.group_gain import GroupGain, group_gain
from sticktree.posterior.markers import Markers, coded_labels, find_markers
from sticktree.posterior.relevance import Relevance, find_relevance, gathered
from sticktree.posterior.settled import FEW_LABELS
from sticktree.posterior.shares import group_partitions, group_shares
from sticktree.posterior.walk import Part
from sticktree.tree import NULL, Tree

AT_ONCE = 2_000_000
"""Up to this many data a fit ends with summaries; above, they are made when first asked for."""
SUMMARIES = (
    "lasting",
    "cut",
    "diagnosis",
    "whole_tree",
    "tree",
    "cluster_tree",
    "labels",
    "confidence",
)
"""The cached properties that files keep."""
OF_OTHER_CLUSTERS = ("labels", "confidence", "level")  # in files from before there was a cut
OF_OTHER_CLUSTERS = ("labels", "confidence", "level")  # in files from before there was a cut
PURE, LEAST_APART = 0.95, 10  # share of one group, and rows, of a cluster that is of it alone
COMPOSITION_DRAWS = 400  # that the shares of groups are drawn from
FEWEST_SHARES = 1000  # drawn of each group, several times from each draw if need be
PARTITION_DRAWS = 60  # that clusters of groups are drawn from
GAIN_DRAWS, FEWEST_GAIN_DRAWS = 200, 30  # that say whether groups matter
GAIN_ROWS = 4_000_000  # whose densities say so, over all draws: some seconds
RELEVANCE_DRAWS = 400  # that intervals of relevance are of, where the table is not large
RELEVANCE_CELLS = 1_000_000_000  # of tables, over all draws: a few seconds
FEWEST_RELEVANCE_DRAWS = 30


@dataclass(frozen=True, eq=False)
class Fit(FittedClusters):
    """The frozen result of a fit: its clusters, whether they are settled, and what makes them."""

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Whether the answer is settled; R-hat and effective sample sizes."""
        # Clusters are at hand where a fit ends with summaries.
        few = self.training.n_data <= min(FEW_LABELS, AT_ONCE) and self.posterior.labelled
        return diagnose(self.posterior, self.lasting if few else None)

    def summarised(self, most: int | None = None, progress: bool | None = False) -> Fit:
        """Return the fit with its summaries computed, unless it has more data than ``most``.

        None is 2,000,000. Of more, only the diagnosis is computed now. ``progress`` says whether a
        terminal is told; None asks the terminal.
        """
        most = AT_ONCE if most is None else most
        names = SUMMARIES if self.training.n_data <= most else ("diagnosis",)
        with showing(progress) as line:
            line.say(f"finding what {len(self.posterior):,} draws agree on", len(names))
            for name in names:
                getattr(self, name)
                line.step()
        return self

    def __repr__(self) -> str:
        """Return what was fitted, by what model, and how many draws there are."""
        training, model = self.training, self.model
        rows = f"{training.n_rows:,} rows, {len(self.columns.given)} columns"
        form = f"{model.leaf_noise} {model.covariance_type}, depth {self.depth}"
        return f"Fit({rows}; {form}; {len(self.posterior):,} draws)"

    def summaries(self) -> dict[str, Any]:
        """Return the summaries that are known by now."""
        return {name: vars(self)[name] for name in SUMMARIES if name in vars(self)}

    def with_summaries(self, summaries: Mapping[str, Any]) -> Fit:
        """Return a copy that knows its summaries already."""
        known = replace(self)
        found = {name: summaries[name] for name in SUMMARIES if name in summaries}
        if "diagnosis" in found and found["diagnosis"].settled is None:
            del found["diagnosis"]  # of a file that was written when R-hats were all there was
        if "cut" not in found:
            found = {name: found[name] for name in found if name not in OF_OTHER_CLUSTERS}
        vars(known).update(found)
        return known

    # ---- what makes the clusters -----------------------------------------------------------------

    def markers(self, labels: Any = None, n_top: int | None = None) -> Markers:
        """Return what makes each cluster; see :meth:`sticktree.DFPMixture.markers`."""
        training = self.training
        if labels is None and self.posterior.labelled:
            membership: npt.NDArray[Any] = self.membership
            clusters: list[Any] = list(range(self.cut.n_clusters))
        else:  # without draws that have kept where rows sit, there are clusters but no memberships
            labels = self.labels if labels is None else labels
            membership, clusters = coded_labels(labels, training.n_rows)
        table = ReadableTable.of(self.columns, *training.at_hand())
        weights = np.bincount(training.rows, minlength=training.n_rows)
        return find_markers(
            table, membership[table.rows], weights[table.rows], clusters=clusters, n_top=n_top
        )

    def relevance(
        self,
        labels: Any = None,
        *,
        n_clusters: int | None = None,
        level: int | None = None,
        n_top: int | None = None,
        of: Literal["columns", "factors"] = "columns",
    ) -> Relevance:
        """Return which columns carry the clusters; see :meth:`sticktree.DFPMixture.relevance`."""
        options = {"labels": labels, "n_clusters": n_clusters, "level": level}
        given = [name for name, option in options.items() if option is not None]
        if len(given) > 1:
            expected = f"left out where {given[0]} is given"
            raise ParameterError(given[1], options[given[1]], expected)
        if n_top is not None:
            check_integer("n_top", n_top, minimum=1)
        if labels is not None:
            codes, _ = coded_labels(labels, self.training.n_rows)
            _, table = self._data_at_hand(of)
            kept = np.flatnonzero(codes[table.rows] != NULL)
            return find_relevance(table.at(kept), codes[table.rows[kept]][None], n_top=n_top)
        if not self.posterior.labelled:
            if given:
                expected = "left out where no draw has kept the labels of the rows"
                raise ParameterError(given[0], options[given[0]], expected)
            return self.relevance(self.labels, n_top=n_top, of=of)
        data, table = self._data_at_hand(of)
        partitions, shares, n_draws = self._clusters_of_draws(
            n_clusters, level, table.values.size, data
        )
        return find_relevance(table, partitions, shares, n_draws=n_draws, n_top=n_top)

    def _data_at_hand(
        self, of: Literal["columns", "factors"] = "columns"
    ) -> tuple[npt.NDArray[np.int64], ReadableTable]:
        """Return numbers of data, and these as a table: all, or a sample if not in memory.

        Of factors it is the table of their scores.
        """
        training = self.training
        if of not in ("columns", "factors"):
            raise ParameterError("of", of, '"columns" or "factors"')
        if of == "factors":
            if training.factors is None:
                raise ParameterError("of", of, '"columns", as the fit has no factors')
            scores = ReadableTable.of_scores(np.arange(training.n_rows), training.scores())
            return np.arange(training.n_data), scores.at(training.rows)
        table = ReadableTable.of(self.columns, *training.at_hand())
        if not training.in_memory:  # then every row is one datum
            return table.rows, table
        return np.arange(training.n_data), table.at(training.rows)

    def _clusters_of_draws(
        self,
        n_clusters: int | None,
        level: int | None,
        n_cells: int,
        data: npt.NDArray[np.int64],
    ) -> tuple[IntArray, FloatArray, int]:
        """Return the clusters of some data in several draws, how much each counts, how many draws.

        They are branches at a level of the model's draws, or by default branches of all draws that
        the walk steps in, each in the cluster of the fit that most of its rows are in. At two
        levels there are two partitions of each draw.
        """
        parts, clusters = [part for _, part in self.stepped], self.cut_into(n_clusters).labels
        if level is not None:
            parts = [Part(self.posterior.labelled, {self.checked_level(level): 1.0})]
        affordable = RELEVANCE_CELLS // max(n_cells * sum(len(part.shares) for part in parts), 1)
        most = min(max(affordable, FEWEST_RELEVANCE_DRAWS), RELEVANCE_DRAWS)
        found, weights, n_draws = [], [], 0
        for part in parts:
            for one, share in part.shares.items():
                branches = labels_at(part.draws, one, most)
                of_draws = gathered(branches, clusters) if level is None else branches
                found.append(of_draws[:, data])
                weights.append(np.full(len(branches), part.weight * share / len(branches)))
            n_draws += len(branches)
        return np.concatenate(found), np.concatenate(weights), n_draws

    # ---- groups ----------------------------------------------------------------------------------

    @cached_property
    def composition(self) -> Composition:
        """The shares of every cluster in each group, draw by draw."""
        return self.composition_of(None)

    def composition_of(self, n_clusters: int | None) -> Composition:
        """Return the shares of so many clusters; None is those of the fit."""
        groups = self.training.groups
        if groups is None:
            raise AttributeError("there are no groups: fit with fit(X, groups=…)")
        draws = spread(self.posterior.labelled, COMPOSITION_DRAWS)
        labels, n_names = self.cut_into(n_clusters).labels, len(groups.names)
        rng, times = np.random.default_rng(0), -(-FEWEST_SHARES // max(len(draws), 1))
        shares = group_shares(draws, groups.of_data, n_names, labels, rng, times)
        some = spread(draws, PARTITION_DRAWS)
        partitions = group_partitions(some, groups.of_data, n_names, labels, rng)
        n_rows = _rows_of_groups(draws, groups.of_data, n_names)
        merges, descent = self._cluster_merges(labels), groups.descent()
        found = Composition(
            groups.names, shares, merges, partitions, n_rows=n_rows, in_order=groups.in_order
        )
        return found.with_parents(descent, rng) if descent else found

    @property
    def tells_group_gain(self) -> bool:
        """Whether it can be said if groups matter: that needs the rows one by one."""
        return self.training.groups is not None and not self.training.parallel

    @cached_property
    def group_gain(self) -> GroupGain:
        """Whether groups matter: what the group of a row adds to its leave-one-out density."""
        training, posterior = self.training, self.posterior
        if training.groups is None:
            raise AttributeError("there are no groups: fit with fit(X, groups=…)")
        if training.parallel:
            raise ValueError(
                "whether groups matter is told by leave-one-out densities, which need "
                'algorithm="gibbs": fit some of the rows so; composition_ and compare() are there'
            )
        affordable = max(GAIN_ROWS // max(training.n_data, 1), FEWEST_GAIN_DRAWS)
        used = posterior.predictive.labelled.thinned(min(GAIN_DRAWS, affordable))
        return group_gain(used, training.groups.names, training.groups.of_data)

    @property
    def groups_apart(self) -> float:
        """The share of the data in clusters that are of one group alone, or nearly so.

        Where one group has most of the data, clusters may be of that one by chance: such do not
        count.
        """
        groups = self.training.groups
        if groups is None:
            return 0.0
        labels, of_data = self.cut.labels, groups.of_data
        table = np.zeros((int(labels.max()) + 1, int(of_data.max()) + 1))
        np.add.at(table, (labels, of_data), 1.0)
        usual = table.sum(axis=0) / table.sum()
        top, sizes = table.argmax(axis=1), table.sum(axis=1)
        pure = (table.max(axis=1) >= PURE * sizes) & (usual[top] < 0.5) & (sizes >= LEAST_APART)
        return float(sizes[pure].sum() / sizes.sum())

    def _cluster_merges(self, labels: IntArray) -> Tree:
        """Return the cluster tree with one datum for each cluster, the one most surely in it."""
        sure = self.walk.confidence(labels)
        order = np.lexsort((-sure, labels))
        first = order[np.unique(labels[order], return_index=True)[1]]
        tree = self.whole_cluster_tree
        return tree.with_data(tree.leaf[first]).pruned().compressed()

    # ---- to other places -------------------------------------------------------------------------

    def to_be_sent(self, with_labels: bool) -> Fit:
        """Return a fit with no more than answers about new rows need, to be sent to workers.

        Without labels, where draws have kept the sums of their leaves, no data are needed.
        """
        factored = self.training.factored
        training = replace(
            self.training,
            rows=self.training.rows[:0],
            outside=self.training.outside[:0],
            names=None,
            sampled=None,
            factored=None if factored is None else replace(factored, rows=factored.rows[:0]),
        )
        chains = self.posterior.chains
        if (
            not with_labels
            and len(self.posterior)
            and "sums_n" in self.posterior.draws[0].parameters
        ):
            training = replace(training, data=training.data[:0])
            chains = [[_without_labels(draw) for draw in chain] for chain in chains]
        light = replace(
            self, training=training, sampled=replace(self.sampled, runs=[], selection=None)
        )
        vars(light)["posterior"] = Posterior(chains, self.model, training)
        several = self.stacked is not None and len(self.stacked.weights) > 1
        vars(light)["stacked"] = self.stacked if several and not with_labels else None
        if with_labels:
            known = {"level_shares": self.level_shares, "cut": self.cut}
            vars(light).update(known, _cuts=self._cuts, _flat=self._flat)
            (_, own), *others = self.stepped
            vars(light)["stepped"] = [(light.posterior.predictive, own), *others]
        return light


def _rows_of_groups(draws: Sequence[Draw], of_data: IntArray, n_names: int) -> IntArray:
    """Return how many rows each group has; on average, if draws forget rows on their own."""
    kept = [draw.parameters.get("sums_seated") for draw in draws]
    found = [seated.sum(axis=0) for seated in kept if seated is not None]
    n: npt.NDArray[Any] = np.bincount(of_data, minlength=n_names)
    if found:
        n = np.rint(np.mean(found, axis=0))
    return n[:n_names].astype(np.int32)


def _without_labels(draw: Draw) -> Draw:
    return replace(draw, leaf=draw.leaf[:0]) if draw.counts is not None else draw
