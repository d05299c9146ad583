"""Trees and clusters of the rows of a fit, and where new rows are in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.errors import ParameterError
from sticktree.fit.density import FittedModel
from sticktree.fit.memberships import Stepped, level_memberships, shared_out
from sticktree.inference.parameters import check_level
from sticktree.posterior.clusterings import coclustering, labels_at, spread
from sticktree.posterior.consensus import consensus_tree, meeting_times, support
from sticktree.posterior.cutting import Cut, Lasting, cut_into, longest_lasting, tree_of_rows
from sticktree.posterior.flat import best_level, flat_clustering
from sticktree.posterior.number import NumberOfClusters, number_of_clusters
from sticktree.posterior.transfer import transfer_support
from sticktree.posterior.walk import Part, Walk, level_shares, used_draws
from sticktree.tree import NULL, Tree

N_SUPPORT = 1000  # draws that the supports of the cluster tree are counted in
# Weight of a model beside the best, below which the walk over rows with factors does not step in
# its draws. Clusters that they join, and no others do, would meet after a few steps: of 300 × 2,000
# with five classes, which 93 % of the steps keep apart, three were left.
LEAST_WEIGHT = 0.1


@dataclass(frozen=True, eq=False)
class FittedClusters(FittedModel):
    """A fitted model, with what its draws agree on: trees, clusters, and how sure these are."""

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

        A level that was asked for is one of the model's trees; then the model is alone. Where rows
        are few for their columns, and have factors, models of little weight are left out.
        """
        own = self.posterior.predictive, Part(self.posterior.labelled, self.level_shares)
        if self.asked_level is not None or self.stacked is None:
            return [own]
        stacked = self.stacked
        name, *others = stacked.weights
        found = [(own[0], replace(own[1], weight=stacked.weights[name]))]
        least = 0.0 if self.training.factored is None else LEAST_WEIGHT
        for other in others:
            if stacked.weights[other] < least:
                continue
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

    # ---- other clusters of the same draws --------------------------------------------------------

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
            found = shared_out(training.outside, labels, stepped)
            of_rows[training.rows_outside] = found.argmax(axis=1)
        return of_rows

    def _strays_of(self, cut: Cut) -> npt.NDArray[np.bool_]:
        of_rows = np.zeros(self.training.n_rows, dtype=bool)
        of_rows[self.training.rows] = cut.stray
        return of_rows

    # ---- new rows, standardised ------------------------------------------------------------------

    def membership_of(
        self, x: FloatArray, n_clusters: int | None = None, groups: IntArray | None = None
    ) -> FloatArray:
        """Return the probability of new rows to be in each cluster."""
        return shared_out(x, self.cut_into(n_clusters).labels, self.stepped, groups)

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

    def prepared_for(self, level: int | None, n_clusters: int | None) -> Self:
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
        return level_memberships(self.posterior.predictive, x, clusters, groups)

    def n_clusters(self, level: int | None = None, n_clusters: int | None = None) -> int:
        """Return the number of clusters, or of those of least loss at a level."""
        if level is None:
            return self.cut_into(n_clusters).n_clusters
        return int(self.flat(level).max()) + 1


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
