"""The result of a fit: the model, its rows, the draws, and what they say of rows old and new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.data import Columns
from sticktree.data.readable import ReadableTable
from sticktree.data.training import TrainingData
from sticktree.engine.draw import Draw
from sticktree.engine.own.kinds import LIKELIHOODS
from sticktree.errors import ParameterError
from sticktree.inference.drift import Stream
from sticktree.inference.fitting import Sampled
from sticktree.inference.parameters import check_level
from sticktree.inference.selection import Selection
from sticktree.inference.showing import showing
from sticktree.model import Model
from sticktree.posterior.clusterings import coclustering, labels_at, spread
from sticktree.posterior.composition import Composition
from sticktree.posterior.consensus import consensus_tree, meeting_times, support
from sticktree.posterior.cutting import Cut, Lasting, cut_into, longest_lasting, tree_of_rows
from sticktree.posterior.draws import Diagnosis, Posterior, diagnose
from sticktree.posterior.flat import best_level, flat_clustering
from sticktree.posterior.group_gain import GroupGain, group_gain
from sticktree.posterior.loo import LeaveOneOut, leave_one_out
from sticktree.posterior.markers import Markers, coded_labels, find_markers
from sticktree.posterior.number import NumberOfClusters, number_of_clusters
from sticktree.posterior.predictive import NumberedDraw, PosteriorPredictive
from sticktree.posterior.relevance import Relevance, find_relevance, gathered
from sticktree.posterior.settled import FEW_LABELS
from sticktree.posterior.shares import group_partitions, group_shares
from sticktree.posterior.stacking import Stack, mixed
from sticktree.posterior.transfer import transfer_support
from sticktree.posterior.walk import Part, Walk, level_shares, used_draws
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
N_SUPPORT = 1000  # draws that the supports of the cluster tree are counted in
LOO_DRAWS = 100  # of each chain, that leave-one-out densities are computed from
MEMBERSHIP_DRAWS = 400
"""Draws, spread evenly, that memberships are means of: a probability is then known to about .02."""
PURE, LEAST_APART = 0.95, 10  # share of one group, and rows, of a cluster that is of it alone
COMPOSITION_DRAWS = 400  # that the shares of groups are drawn from
PARTITION_DRAWS = 60  # that clusters of groups are drawn from
GAIN_DRAWS, FEWEST_GAIN_DRAWS = 200, 30  # that say whether groups matter
GAIN_ROWS = 4_000_000  # whose densities say so, over all draws: some seconds
RELEVANCE_DRAWS = 400  # that intervals of relevance are of, where the table is not large
RELEVANCE_CELLS = 1_000_000_000  # of tables, over all draws: a few seconds
FEWEST_RELEVANCE_DRAWS = 30
VOTES = 101  # draws that decide on a missing category

Stepped = list[tuple[PosteriorPredictive, Part]]
"""The draws of one or more models that the walk steps in, and where new rows are in them."""
Averaging = Literal["stack", "best"]
"""Whether all models that predict well answer about densities, or the best of them alone."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The frozen result of a fit.

    A row that occurs several times is several data of the draws and one row of the answers.

    Attributes
    ----------
    training : TrainingData
        The rows: scaling, weights, names, digest.
    sampled : Sampled
        The model, what it was chosen from, and the chains to go on with.
    asked_level : int or None
        The level of the draws' trees that clusters are made from; None leaves it to the draws.
    parameters : dict of str
        The parameters, as text, that must stay the same for the chains to go on.
    stream : Stream or None
        The batches that were taken in one by one.
    """

    training: TrainingData
    sampled: Sampled
    asked_level: int | None
    parameters: dict[str, str]
    stream: Stream | None = None

    # ---- what was fitted -------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The model."""
        return self.sampled.model

    @property
    def selection(self) -> Selection | None:
        """The models it was chosen from."""
        return self.sampled.selection

    @property
    def columns(self) -> Columns:
        """Names and kinds of the columns."""
        return self.training.scaling.columns

    @property
    def depth(self) -> int:
        """How often the stick breaks."""
        return self.model.depth + self.model.private_step

    @cached_property
    def posterior(self) -> Posterior:
        """All draws."""
        chains = [run.draws for run in self.sampled.runs]
        return Posterior(chains, self.model, self.training)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Whether the answer is settled; R-hat and effective sample sizes."""
        # Clusters are at hand where a fit ends with summaries.
        few = self.training.n_data <= min(FEW_LABELS, AT_ONCE) and self.posterior.labelled
        return diagnose(self.posterior, self.lasting if few else None)

    # ---- the rows of the fit ---------------------------------------------------------------------

    @cached_property
    def whole_tree(self) -> Tree:
        """The consensus tree of the data, in which rows occur as often as their weights say."""
        return consensus_tree(self.posterior.labelled, self.depth)

    @cached_property
    def tree(self) -> Tree:
        """The consensus tree of the rows, with their names if they have any."""
        return self._tree_of_rows(self.whole_tree)

    def _tree_of_rows(self, whole: Tree) -> Tree:
        """Return a tree of the data as one of the rows."""
        tree, rows = whole, self.training.fitted_rows
        if len(rows) < self.training.n_data:
            tree = whole.with_data(whole.leaf[self.training.first_data]).pruned().compressed()
        names = self.training.names
        return tree if names is None else tree.annotated(names=[names[row] for row in rows])

    # ---- clusters: the posterior walk ------------------------------------------------------------

    @cached_property
    def level_shares(self) -> dict[int, float]:
        """The levels of the draws' trees that the walk steps in, and how often in each."""
        if self.asked_level is not None:
            return {self.asked_level: 1.0}
        return level_shares(used_draws(self.posterior.labelled), self.model.depth)

    @property
    def level(self) -> int:
        """The level that the walk steps in most often."""
        return max(self.level_shares, key=lambda level: self.level_shares[level])

    @cached_property
    def stepped(self) -> Stepped:
        """What the walk steps in: draws of the model, and of those that are stacked with it.

        A level that was asked for is one of the model's trees; then the model is alone.
        """
        own = self.posterior.predictive, Part(self.posterior.labelled, self.level_shares)
        if self.asked_level is not None or self.stacked is None:
            return [own]
        stacked = self.stacked
        name, *others = stacked.weights
        found = [(own[0], replace(own[1], weight=stacked.weights[name]))]
        for other in others:
            predictive = stacked.predictives[other]
            draws = [numbered.draw for numbered in predictive.labelled.draws]
            shares = level_shares(used_draws(draws), predictive.model.depth)
            found.append((predictive, Part(draws, shares, stacked.weights[other])))
        return found

    @cached_property
    def walk(self) -> Walk:
        """The walk over the data."""
        return Walk.of_parts([part for _, part in self.stepped])

    @cached_property
    def lasting(self) -> Lasting:
        """The number of clusters that lasts longest as the walk goes on."""
        return longest_lasting(self.walk)

    @cached_property
    def cut(self) -> Cut:
        """The clusters of the data."""
        return cut_into(self.walk, self.lasting.n_clusters, self.lasting.steps)

    @cached_property
    def whole_cluster_tree(self) -> Tree:
        """The cluster tree of the data, in which rows occur as often as their weights say."""
        tree = tree_of_rows(self.walk.cluster_tree(self.lasting.steps))
        draws = spread(self.posterior.labelled, N_SUPPORT)
        return tree.annotated(support=support(tree, draws), transfer=transfer_support(tree, draws))

    @cached_property
    def cluster_tree(self) -> Tree:
        """The cluster tree of the rows, with their names if they have any."""
        return self._tree_of_rows(self.whole_cluster_tree)

    @cached_property
    def labels(self) -> IntArray:
        """Clusters of the rows."""
        return self._of_rows(self.cut.labels, self.stepped)

    @cached_property
    def strays(self) -> npt.NDArray[np.bool_]:
        """Whether each row is a stray, apart from the cluster that it is nearest to."""
        return self._strays_of(self.cut)

    @cached_property
    def membership(self) -> FloatArray:
        """The probability of each row to be in each cluster, after a step of the walk."""
        return self.membership_in()

    def membership_in(self, n_clusters: int | None = None) -> FloatArray:
        """Return the same for a given number of clusters."""
        training, cut = self.training, self.cut_into(n_clusters)
        shares = np.empty((training.n_rows, cut.n_clusters))
        shares[training.rows[::-1]] = self.walk.memberships(cut.labels)[::-1]
        if len(training.outside):
            shares[training.rows_outside] = self.membership_of(training.outside, n_clusters)
        return shares

    @cached_property
    def confidence(self) -> FloatArray:
        """The probability of each row to be in its own cluster, after a step of the walk."""
        training = self.training
        certain = np.empty(training.n_rows)
        certain[training.rows[::-1]] = self.walk.confidence(self.cut.labels)[::-1]
        if len(training.outside):
            certain[training.rows_outside] = self.membership_of(training.outside).max(axis=1)
        return certain

    @cached_property
    def number_of_clusters(self) -> NumberOfClusters:
        """How many clusters parts of the draws have."""
        parts, rng = [part for _, part in self.stepped], np.random.default_rng(0)
        return number_of_clusters(self.posterior.chains, parts, rng)

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

    @cached_property
    def _flat(self) -> dict[int, IntArray]:
        return {}

    def flat(self, level: int) -> IntArray:
        """Return the clusters of least loss of the data at a level, known from then on."""
        if level not in self._flat:
            draws = labels_at(self.posterior.labelled, level)
            self._flat[level] = flat_clustering(draws, tree=self.whole_tree)
        return self._flat[level]

    def checked_level(self, level: int | None = None) -> int:
        """Return the level asked for, or else that of the walk."""
        if level is None:
            return self.level
        check_level(level, self.model.depth)
        return level

    def cut_into(self, n_clusters: int | None = None) -> Cut:
        """Return the clusters of the data: a given number, or as many as there are."""
        if n_clusters is None:
            return self.cut
        n_clusters = check_integer("n_clusters", n_clusters, minimum=1)
        if n_clusters not in self._cuts:
            if n_clusters > self._n_different:
                expected = f"at most {self._n_different}, as many different rows as there are"
                raise ParameterError("n_clusters", n_clusters, expected)
            self._cuts[n_clusters] = cut_into(self.walk, n_clusters, self.lasting.steps)
        return self._cuts[n_clusters]

    @cached_property
    def _n_different(self) -> int:
        """How many different rows there are; those of tables outside memory are not compared."""
        data = self.training.data
        if not isinstance(data, np.ndarray) or not data.size:
            return self.training.n_data
        whole = np.dtype((np.void, data.dtype.itemsize * data.shape[1]))
        return int(np.unique(np.ascontiguousarray(data).view(whole)).size)

    @cached_property
    def _cuts(self) -> dict[int, Cut]:
        return {self.cut.n_clusters: self.cut}

    def cluster(
        self,
        n_clusters: int | None = None,
        method: Literal["walk", "loss"] = "walk",
        strays: Literal["join", "label"] = "join",
        level: int | None = None,
        loss: Literal["vi", "binder"] | None = None,
        nested: bool = False,
    ) -> IntArray:
        """Return flat clusters of the rows; see :meth:`sticktree.DFPMixture.cluster`."""
        _check_cluster_options(method, strays, loss, nested)
        if method == "loss":
            return self._of_least_loss(n_clusters, level, loss or "vi", nested)
        fit = self if level is None else replace(self, asked_level=self.checked_level(level))
        cut = fit.cut_into(n_clusters)
        labels = fit._of_rows(cut.labels, fit.stepped)
        if strays == "label":
            labels[fit._strays_of(cut)] = NULL
        return labels

    @cached_property
    def best_level(self) -> int:
        """The level of the clusters of least loss: that asked for, or where draws agree best."""
        if self.asked_level is not None:
            return self.asked_level
        return best_level(self.posterior.labelled, self.model.depth, self.whole_tree)

    def _of_least_loss(
        self, n_clusters: int | None, level: int | None, loss: Literal["vi", "binder"], nested: bool
    ) -> IntArray:
        if level is None and n_clusters is not None:
            level = self._level_of(check_integer("n_clusters", n_clusters, minimum=1))
        elif level is None:
            level = self.best_level
        level = self.checked_level(level)
        labels = flat_clustering(
            labels_at(self.posterior.labelled, level),
            n_clusters=n_clusters,
            loss=loss,
            tree=self.whole_tree,
            nested=nested,
        )
        part = Part(self.posterior.labelled, {level: 1.0})
        return self._of_rows(labels, [(self.posterior.predictive, part)])

    def coclustering(
        self, rows: npt.ArrayLike | None = None, level: int | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the posterior probability of pairs of rows to be in one cluster at a level."""
        draws = labels_at(self.posterior.labelled, self.checked_level(level))
        return coclustering(draws, self.training.data_of(rows))

    def meeting_times(self, rows: npt.ArrayLike | None = None) -> npt.NDArray[np.float32]:
        """Return the posterior mean of the level at which each pair of rows meets."""
        return meeting_times(self.posterior.labelled, self.training.data_of(rows))

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

    def _level_of(self, n_clusters: int) -> int:
        """Return the level whose mean number of branches is nearest to ``n_clusters``."""
        depth = self.model.depth
        sizes = np.mean([draw.nodes_per_level(depth) for draw in self.posterior.draws], axis=0)
        return 1 + int(np.argmin(np.abs(np.log(sizes) - np.log(n_clusters))))

    def _of_rows(self, labels: IntArray, stepped: Stepped) -> IntArray:
        """Return labels of the rows from those of the data; others go where they probably are."""
        training = self.training
        of_rows = np.empty(training.n_rows, dtype=np.int32)
        # In reverse, so that the first of equal rows decides.
        of_rows[training.rows[::-1]] = labels[::-1]
        if len(training.outside):
            found = _shared_out(training.outside, labels, stepped)
            of_rows[training.rows_outside] = found.argmax(axis=1)
        return of_rows

    def _strays_of(self, cut: Cut) -> npt.NDArray[np.bool_]:
        of_rows = np.zeros(self.training.n_rows, dtype=bool)
        of_rows[self.training.rows] = cut.stray
        return of_rows

    # ---- new rows, standardised ------------------------------------------------------------------

    @cached_property
    def stacked(self) -> Stack | None:
        """The model and those beside it as one predictive distribution; None without a choice.

        The model itself answers from all its draws, the others from those that the choice was made
        by. It is alone where these know other rows: where a sample of the rows chose, and after
        further batches. It is so, too, where a run that was resumed out of time has chosen anew.
        """
        if self.selection is None:
            return None
        selection, training = self.selection, self.training
        name = next(k for k, model in selection.models.items() if model is self.model)
        weights, predictives = {name: 1.0}, {name: self.posterior.predictive}
        if name == selection.best and not training.parallel:
            weights = {name: selection.weights[name]}
            for other, draws in selection.draws.items():
                if other != name and draws and draws[0].n_data == training.n_data:
                    numbered = [NumberedDraw(0, k, draw, other) for k, draw in enumerate(draws)]
                    model = selection.models[other]
                    predictives[other] = PosteriorPredictive(
                        numbered, model, training.data, training.factored
                    )
                    weights[other] = selection.weights[other]
        total = sum(weights.values())
        return Stack({k: w / total for k, w in weights.items()}, predictives, training.scaling)

    def predictive(self, averaging: Averaging) -> PosteriorPredictive | Stack:
        """Return the predictive distribution of the next row, in standardised units."""
        if averaging == "best" or self.stacked is None:
            return self.posterior.predictive
        return self.stacked

    def log_density(
        self, x: FloatArray, averaging: Averaging, groups: IntArray | None = None
    ) -> FloatArray:
        """Return the log predictive density of every row, in the user's units.

        ``groups`` are those of the rows; −1, and None for all, is a new one.
        """
        predictive, units = self.predictive(averaging), self.training.scaling.log_units(x)
        if groups is None:
            return predictive.log_density(x) + units
        out = np.empty(len(x))
        for group in np.unique(groups).tolist():
            rows = groups == group
            known = None if group == NULL else group
            out[rows] = predictive.of_group(known).log_density(x[rows])
        return out + units

    def membership_of(
        self, x: FloatArray, n_clusters: int | None = None, groups: IntArray | None = None
    ) -> FloatArray:
        """Return the probability of new rows to be in each cluster."""
        return _shared_out(x, self.cut_into(n_clusters).labels, self.stepped, groups)

    def shares(
        self,
        x: FloatArray,
        level: int | None,
        n_clusters: int | None,
        groups: IntArray | None = None,
    ) -> FloatArray:
        """Return the probability of new rows to be in each cluster, or in those of a level."""
        if level is None:
            return self.membership_of(x, n_clusters, groups)
        return self.memberships(x, [level], groups)[0]

    def prepared_for(self, level: int | None, n_clusters: int | None) -> Fit:
        """Return the fit with the clusters that are asked for known; raise if they cannot be."""
        if level is not None and n_clusters is not None:
            raise ParameterError("n_clusters", n_clusters, "left out where a level is given")
        if level is None:
            self.cut_into(n_clusters)
        else:
            self.flat(self.checked_level(level))
        return self

    def memberships(
        self, x: FloatArray, levels: list[int], groups: IntArray | None = None
    ) -> list[FloatArray]:
        """Return the probability of new rows to be in each cluster of least loss, by level."""
        clusters = {level: self.flat(level) for level in levels}
        return _memberships(self.posterior.predictive, x, clusters, groups)

    # ---- groups ----------------------------------------------------------------------------------

    @cached_property
    def composition(self) -> Composition:
        """The shares of every cluster in each group, draw by draw."""
        groups = self.training.groups
        if groups is None:
            raise AttributeError("there are no groups: fit with fit(X, groups=…)")
        draws = spread(self.posterior.labelled, COMPOSITION_DRAWS)
        labels, n_names, rng = self.cut.labels, len(groups.names), np.random.default_rng(0)
        shares = group_shares(draws, groups.of_data, n_names, labels, rng)
        some = spread(draws, PARTITION_DRAWS)
        partitions = group_partitions(some, groups.of_data, n_names, rng)
        return Composition(groups.names, shares, self._cluster_merges(), partitions)

    @cached_property
    def group_gain(self) -> GroupGain:
        """Whether groups matter: what the group of a row adds to its leave-one-out density."""
        training, posterior = self.training, self.posterior
        if training.groups is None:
            raise AttributeError("there are no groups: fit with fit(X, groups=…)")
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

    def _cluster_merges(self) -> Tree:
        """Return the cluster tree with one datum for each cluster, the one most surely in it."""
        labels, sure = self.cut.labels, self.walk.confidence(self.cut.labels)
        order = np.lexsort((-sure, labels))
        first = order[np.unique(labels[order], return_index=True)[1]]
        tree = self.whole_cluster_tree
        return tree.with_data(tree.leaf[first]).pruned().compressed()

    def n_clusters(self, level: int | None = None, n_clusters: int | None = None) -> int:
        """Return the number of clusters, or of those of least loss at a level."""
        if level is None:
            return self.cut_into(n_clusters).n_clusters
        return int(self.flat(level).max()) + 1

    def imputed(self, x: FloatArray, averaging: Averaging) -> FloatArray:
        """Return rows without gaps: means, and the likeliest category, by a vote of many draws."""
        predictive = self.predictive(averaging)
        full = predictive.imputed(x)
        codes = [k for k, kind in enumerate(self.columns.kinds) if LIKELIHOODS[kind].has_codes]
        if np.isnan(x[:, codes]).any():
            votes = predictive.sample_imputed(VOTES, x, np.random.default_rng(0))
            for k in codes:
                categories = range(self.columns.n_categories[k])
                counts = [(votes[:, :, k] == category).sum(axis=0) for category in categories]
                full[:, k] = np.argmax(counts, axis=0)
        return full

    # ---- how good the model is -------------------------------------------------------------------

    def loo(self, averaging: Averaging) -> LeaveOneOut:
        """Return the leave-one-out predictive density of the data, in the user's units."""
        size = min(self.posterior.n_draws, LOO_DRAWS)
        used = [
            NumberedDraw(k, number, chain[number])
            for k, chain in enumerate(self.posterior.chains)
            for number in spread(range(len(chain)), size)
        ]
        training = self.training
        units = training.scaling.log_units(training.standardised)

        def found(predictive: PosteriorPredictive) -> LeaveOneOut:
            return leave_one_out(predictive.leave_one_out()[None] + units)

        own = found(PosteriorPredictive(used, self.model, training.data, training.factored))
        if averaging == "best" or self.stacked is None:
            return own
        name, *others = self.stacked.weights
        results = {other: found(self.stacked.predictives[other]) for other in others}
        return mixed({name: own} | results, self.stacked.weights)

    def stack(self) -> Stack:
        """Return the models of the selection as one density, weighted by how well they predict."""
        if self.stacked is None:
            raise ValueError(
                'stack needs several models: fit with covariance_type="auto", '
                f"got {self.model.covariance_type!r}"
            )
        return self.stacked

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


def _shared_out(
    x: FloatArray, labels: IntArray, stepped: Stepped, groups: IntArray | None = None
) -> FloatArray:
    """Return memberships of new rows in clusters, by the branches of draws that they join."""
    total = sum(part.weight for _, part in stepped)
    memberships = np.zeros((len(x), int(labels.max(initial=0)) + 1))
    for predictive, part in stepped:
        found = _memberships(predictive, x, dict.fromkeys(part.shares, labels), groups)
        for share, at_level in zip(part.shares.values(), found, strict=True):
            memberships += part.weight / total * share * at_level
    return memberships


def _memberships(
    predictive: PosteriorPredictive,
    x: FloatArray,
    clusters: Mapping[int, IntArray],
    groups: IntArray | None,
) -> list[FloatArray]:
    """Return memberships as means over some draws; rows of each group by its own shares."""
    used = predictive.labelled.thinned(MEMBERSHIP_DRAWS)
    if groups is None:
        return used.memberships(x, clusters)
    out = [np.empty((len(x), int(labels.max()) + 1)) for labels in clusters.values()]
    for group in np.unique(groups).tolist():
        rows = groups == group
        known = None if group == NULL else group
        found = used.of_group(known).memberships(x[rows], clusters)
        for whole, part in zip(out, found, strict=True):
            whole[rows] = part
    return out


def _without_labels(draw: Draw) -> Draw:
    return replace(draw, leaf=draw.leaf[:0]) if draw.counts is not None else draw


def _check_cluster_options(method: str, strays: str, loss: str | None, nested: bool) -> None:
    if method not in ("walk", "loss"):
        raise ParameterError("method", method, '"walk" or "loss"')
    if strays not in ("join", "label"):
        raise ParameterError("strays", strays, '"join" or "label"')
    if method == "walk":
        for name, given in (("loss", loss), ("nested", nested)):
            if given:
                raise ParameterError(name, given, 'left out unless method="loss"')
    elif strays == "label":
        raise ParameterError("strays", strays, '"join" where method="loss", which knows no strays')
