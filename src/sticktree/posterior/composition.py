"""What groups are made of, and how they differ: the share of every branch in each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from sticktree.checks import FloatArray, IntArray
from sticktree.errors import ParameterError
from sticktree.lines import Lines, aligned
from sticktree.tree import NULL, Tree

INTERVAL = (0.03, 0.97)  # 94 %
SIXTY_EIGHT = (0.16, 0.84)  # %, two standard deviations apart where draws are normal
OTHERS = "all others"
RATIO = 1.2  # of shares, that matters
ALIKE = 0.5  # probability above which groups are in one cluster


@dataclass(frozen=True, eq=False)
class Composition(Lines):
    """The shares of branches in groups.

    Attributes
    ----------
    groups : tuple
        Names of the groups, and then of parents that have no rows of their own.
    shares : float array, shape (draws, groups, clusters + 1)
        Of each cluster in each group, and last what is not seen yet; they sum to 1.
    tree : Tree
        The clusters as data of a tree: its nodes are the branches.
    partitions : int array, shape (draws, groups)
        Draws of which groups have the same shares.
    n_rows : int array, shape (groups,), or None
        Rows of each group, where they are known.
    descent : dict
        The places of the groups below each parent that has no rows of its own.
    in_order : bool
        Whether groups are times that follow one another.
    """

    groups: tuple[Any, ...]
    shares: FloatArray
    tree: Tree
    partitions: IntArray
    n_rows: IntArray | None = None
    descent: Mapping[Any, tuple[int, ...]] = field(default_factory=dict)
    in_order: bool = False

    @property
    def n_parents(self) -> int:
        """How many of ``groups`` are parents without rows; these come last."""
        return len(self.descent)

    def with_parents(
        self, descent: Mapping[Any, tuple[int, ...]], rng: np.random.Generator
    ) -> Composition:
        """Return the same with parents: in every draw a mean of groups below, weighted at random.

        Weights are Dirichlet(1, …, 1), the Bayesian bootstrap: groups are a sample of those that a
        parent could have, and how they vary is in its interval.
        """
        parts = [self.shares]
        for below in descent.values():
            weight = rng.dirichlet(np.ones(len(below)), size=len(self.shares))
            parts.append(np.einsum("dj,djk->dk", weight, self.shares[:, list(below)])[:, None])
        names, shares = (*self.groups, *descent), np.concatenate(parts, axis=1)
        n_rows = self.n_rows
        if n_rows is not None:
            of_parents = [n_rows[list(below)].sum() for below in descent.values()]
            n_rows = np.append(n_rows, of_parents).astype(np.int32)
        return replace(self, groups=names, shares=shares, descent=descent, n_rows=n_rows)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.shares.shape[2]) - 1

    @cached_property
    def branches(self) -> list[IntArray]:
        """The clusters of each branch: the clusters first, then those that join several."""
        below: list[list[int]] = [[] for _ in range(self.tree.n_nodes)]
        for cluster, leaf in enumerate(self.tree.leaf.tolist()):
            below[leaf].append(cluster)
        for node in range(self.tree.n_nodes - 1, 0, -1):
            below[self.tree.parent[node]] += below[node]
        single = [np.array([k], dtype=np.int32) for k in range(self.n_clusters)]
        several = [np.array(sorted(b), dtype=np.int32) for b in below[1:] if len(b) > 1]
        several = [b for b in several if b.size < self.n_clusters]
        return single + sorted(several, key=lambda b: (b.size, b.tolist()))

    @cached_property
    def parents(self) -> list[int]:
        """The smallest branch that each one is a part of, or −1 if that is all."""
        sets = [set(branch.tolist()) for branch in self.branches]
        out = []
        for own in sets:
            larger = [k for k, other in enumerate(sets) if own < other]
            out.append(min(larger, key=lambda k: len(sets[k])) if larger else NULL)
        return out

    @cached_property
    def names(self) -> list[str]:
        """Names of the branches by the clusters that they join."""
        return ["+".join(map(str, branch.tolist())) for branch in self.branches]

    def of_branches(self) -> FloatArray:
        """Return the shares of all branches, shape (draws, groups, branches)."""
        return np.stack([self.shares[:, :, b].sum(axis=2) for b in self.branches], axis=2)

    @cached_property
    def mean(self) -> FloatArray:
        """Posterior mean of the share of each branch in each group, shape (groups, branches)."""
        return np.asarray(self.of_branches().mean(axis=0))

    @cached_property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Ends of the 94 % interval of each share."""
        low, high = np.quantile(self.of_branches(), INTERVAL, axis=0)
        return low, high

    @property
    def unseen(self) -> FloatArray:
        """Posterior mean of the share of each group on branches that no row is on."""
        return np.asarray(self.shares[:, :, -1].mean(axis=0))

    fields = ("group", "branch", "share", "low", "high")

    @property
    def table(self) -> list[dict[str, Any]]:
        """A line for each group and branch, and one for what is not seen."""
        low, high = self.interval
        lines = []
        unseen = np.quantile(self.shares[:, :, -1], INTERVAL, axis=0)
        for j, group in enumerate(self.groups):
            for k, name in enumerate(self.names):
                share = float(self.mean[j, k]), float(low[j, k]), float(high[j, k])
                lines.append(_line(group, name, *share))
            share = float(self.unseen[j]), float(unseen[0, j]), float(unseen[1, j])
            lines.append(_line(group, "unseen", *share))
        return lines

    def __repr__(self) -> str:
        """Return its size; ``print`` shows the shares."""
        return f"Composition({len(self.groups)} groups, {self.n_clusters} clusters)"

    def __str__(self) -> str:
        """Return the shares of clusters, in percent."""
        low, high = self.interval
        header = ["group", *(f"cluster {k}" for k in range(self.n_clusters)), "unseen"]
        lines = [header]
        for j, group in enumerate(self.groups):
            cells = [
                f"{100 * self.mean[j, k]:.1f} ({100 * low[j, k]:.0f}–{100 * high[j, k]:.0f})"
                for k in range(self.n_clusters)
            ]
            lines.append([str(group), *cells, f"{100 * self.unseen[j]:.1f}"])
        return "share of each cluster in percent (94 % interval)\n" + aligned(lines)

    def order(self) -> IntArray:
        """Return the groups as they are shown: those that are alike together, parents last.

        Times stay in their order.
        """
        if self.in_order:
            return np.arange(len(self.groups), dtype=np.int32)
        return np.argsort(self.labels(), kind="stable").astype(np.int32)

    # ---- groups against each other ---------------------------------------------------------------

    def similarity(self) -> FloatArray:
        """Return the posterior mean of the overlap of shares, Σ min, of each two groups."""
        shares = self.shares[:, : len(self.groups) - self.n_parents]
        return np.asarray(
            np.mean([np.minimum(one[:, None], one[None]).sum(axis=2) for one in shares], axis=0)
        )

    def labels(self) -> IntArray:
        """Return clusters of groups: those are together that probably have the same shares.

        The share of draws in which two groups do is clustered by average linkage, and cut at one
        half. Parents without rows are clusters of their own.
        """
        if len(self.partitions.T) < 2:
            return np.arange(len(self.groups), dtype=np.int32)
        same = self.partitions[:, :, None] == self.partitions[:, None]
        alike = same.mean(axis=0)
        distance = squareform(1.0 - alike, checks=False)
        found = fcluster(linkage(distance, "average"), 1.0 - ALIKE, "distance")
        order = {label: k for k, label in enumerate(dict.fromkeys(found.tolist()))}
        last = len(order) + np.arange(self.n_parents)
        of_groups = [order[label] for label in found.tolist()]
        return np.concatenate([of_groups, last]).astype(np.int32)

    def compare(
        self,
        a: Any = None,
        b: Any = None,
        conditions: Mapping[Any, Any] | None = None,
        within: Literal["parent"] | None = None,
    ) -> Contrasts:
        """Return by how much shares differ; see :meth:`sticktree.DFPMixture.compare`."""
        if within not in (None, "parent"):
            raise ParameterError("within", within, '"parent" or None')
        if conditions is None and (a in self.descent or b in self.descent):
            conditions = self._of_parents(a, b)
        if conditions is None:
            if b is None and a is not None and self.n_rows is not None and len(self.groups) > 1:
                return self._against_others(self._place("a", a), self.n_rows, within)
            logs = self._log_shares(self.shares, within)
            first, second = self._place("a", a), self._place("b", b)
            if first == second:
                raise ParameterError("b", b, f"another group than a, {a!r}")
            ratio, rows = logs[:, first] - logs[:, second], (1, 1)
        else:
            a, b, ratio, rows = self._between(a, b, conditions, within)
        return Contrasts((a, b), tuple(self.names), ratio, within, rows, conditions is not None)

    def _against_others(self, first: int, n_rows: IntArray, within: str | None) -> Contrasts:
        """Return the ratio of shares in a group to those in the rows of all others together."""
        n_groups = len(self.groups) - self.n_parents
        weights = np.where(np.arange(len(self.groups)) < n_groups, n_rows, 0).astype(np.float64)
        weights[[first, *self.descent.get(self.groups[first], ())]] = 0.0
        if not weights.any():
            raise ParameterError("a", self.groups[first], "a group or parent that is not all rows")
        others = np.einsum("j,djk->dk", weights / weights.sum(), self.shares)
        logs = self._log_shares(np.stack([self.shares[:, first], others], axis=1), within)
        sides, sizes = (self.groups[first], OTHERS), (1, int((weights > 0).sum()))
        return Contrasts(sides, tuple(self.names), logs[:, 0] - logs[:, 1], within, sizes)

    def _log_shares(self, of_clusters: FloatArray, within: str | None) -> FloatArray:
        """Return the log share of each branch, of all or of the branch above it."""
        parts = [of_clusters[:, :, b].sum(axis=2) for b in self.branches]
        shares = np.maximum(np.stack(parts, axis=2), 1e-300)
        whole = np.ones_like(shares)
        if within == "parent":
            seen = np.maximum(1.0 - of_clusters[:, :, -1], 1e-300)
            for k, above in enumerate(self.parents):
                whole[:, :, k] = seen if above == NULL else shares[:, :, above]
        return np.asarray(np.log(np.minimum(shares / whole, 1.0)))

    def as_conditions(self) -> dict[Any, Any] | None:
        """Return parents as conditions of groups, if these can be compared as such; else None."""
        sizes = sorted(map(len, self.descent.values()))
        everyone = [j for below in self.descent.values() for j in below]
        if len(sizes) < 2 or sum(sizes[:2]) < 3 or len(set(everyone)) < len(everyone):
            return None
        return {self.groups[j]: name for name, below in self.descent.items() for j in below}

    def _of_parents(self, a: Any, b: Any) -> dict[Any, Any]:
        """Return two parents as conditions of the groups below them."""
        for name, side in (("a", a), ("b", b)):
            if side not in self.descent:
                known = ", ".join(map(repr, self.descent))
                raise ParameterError(name, side, f"one of the parents {known}, as the other is one")
        if a == b or set(self.descent[a]) & set(self.descent[b]):
            expected = f"another parent than a, {a!r}, and neither above nor below it"
            raise ParameterError("b", b, expected)
        return {self.groups[j]: side for side in (a, b) for j in self.descent[side]}

    def _place(self, name: str, group: Any) -> int:
        if group not in self.groups:
            known = ", ".join(map(repr, self.groups[:8])) + ", …" * (len(self.groups) > 8)
            raise ParameterError(name, group, f"one of the groups {known}")
        return self.groups.index(group)

    def _between(
        self, a: Any, b: Any, conditions: Mapping[Any, Any], within: str | None
    ) -> tuple[Any, Any, FloatArray, tuple[int, int]]:
        """Return the log ratio of means of groups in two conditions, as a sample of such groups.

        Log mean shares of the groups of a condition are normal around its mean with one variance
        for both, and flat priors: the difference of means is a t. How much groups vary has in it
        how uncertain the share of each is: so a mean of draws stands for a group, as draws would
        count that twice, and the variance is at least that of a share.
        """
        a, b = self._two_conditions(a, b, conditions)
        places = [
            [self.groups.index(g) for g, c in conditions.items() if c == side] for side in (a, b)
        ]
        sizes = len(places[0]), len(places[1])
        if min(sizes) < 1 or sum(sizes) < 3:
            raise ParameterError(
                "conditions",
                conditions,
                "two conditions with three groups together at least, to tell how much groups vary",
                "to compare two groups, name them: compare(a, b)",
                shown=f"{sizes[0]} and {sizes[1]} groups",
            )
        degrees = sum(sizes) - 2
        logs = self._log_shares(self._of_rows()[None], within)[0]
        parts = [logs[place] for place in places]
        means = [part.mean(axis=0) for part in parts]
        squares = sum(
            ((part - mean) ** 2).sum(axis=0) for part, mean in zip(parts, means, strict=True)
        )
        everyone = self._log_shares(self.shares[:, places[0] + places[1]], within)
        ends = np.quantile(everyone, SIXTY_EIGHT, axis=0)
        least = ((ends[1] - ends[0]) ** 2 / 4.0).mean(axis=0)
        rng, size = np.random.default_rng(0), (len(self.shares), least.size)
        variance = np.maximum(squares / rng.chisquare(degrees, size=size), least)
        error = np.sqrt(variance * (1.0 / sizes[0] + 1.0 / sizes[1]))
        return a, b, means[0] - means[1] + error * rng.standard_normal(size), sizes

    def _of_rows(self) -> FloatArray:
        """Return mean shares, each of half a row at least: fewer than that nobody has seen."""
        mean = self.shares.mean(axis=0)
        if self.n_rows is None:
            return np.asarray(mean)
        least = 0.5 / np.maximum(self.n_rows, 1)[:, None]
        return np.asarray(np.maximum(mean, least))

    def _two_conditions(self, a: Any, b: Any, conditions: Mapping[Any, Any]) -> tuple[Any, Any]:
        if not isinstance(conditions, Mapping):
            raise ParameterError("conditions", conditions, "a dict {group: condition}")
        unknown = [group for group in conditions if group not in self.groups]
        if unknown:
            known = ", ".join(map(repr, self.groups[:8]))
            expected = f"a dict whose keys are groups: {known}"
            raise ParameterError("conditions", conditions, expected, shown=f"{unknown[0]!r}")
        found = list(dict.fromkeys(c for c in conditions.values() if c is not None))
        if a is None and b is None:
            if len(found) != 2:
                listed = ", ".join(map(repr, found))
                expected = f"named where there are not two conditions, but {listed}"
                raise ParameterError("a", a, expected)
            return found[1], found[0]
        for name, side in (("a", a), ("b", b)):
            if side not in found:
                listed = ", ".join(map(repr, found))
                raise ParameterError(name, side, f"one of the conditions {listed}")
        return a, b


@dataclass(frozen=True, eq=False)
class Contrasts(Lines):
    """By how much the shares of branches differ between two groups, or two conditions.

    Attributes
    ----------
    sides : (object, object)
        What is compared: the first over the second.
    branches : tuple of str
        Names of the branches.
    log_ratio : float array, shape (draws, branches)
        Draws of the log ratio of shares; the table has their medians.
    within : "parent" or None
        Whether shares are of the branch above.
    n_groups : (int, int)
        How many groups there are on each side.
    of_conditions : bool
        Whether the sides are conditions, whose groups vary.
    """

    sides: tuple[Any, Any]
    branches: tuple[str, ...]
    log_ratio: FloatArray
    within: str | None
    n_groups: tuple[int, int]
    of_conditions: bool = False

    @cached_property
    def p_greater(self) -> FloatArray:
        """Posterior probability that the first has the larger share, of each branch."""
        return np.asarray((self.log_ratio > 0).mean(axis=0))

    fields = ("branch", "log_ratio", "low", "high", "p_greater", "p_beyond")

    @property
    def table(self) -> list[dict[str, Any]]:
        """A line for each branch, those with the most evidence first."""
        low, high = np.quantile(self.log_ratio, INTERVAL, axis=0)
        middle = np.median(self.log_ratio, axis=0)
        beyond = (np.abs(self.log_ratio) > np.log(RATIO)).mean(axis=0)
        evidence = np.round(np.maximum(self.p_greater, 1 - self.p_greater), 2)
        order = np.lexsort((-np.abs(middle), -evidence))
        return [
            {
                "branch": self.branches[k],
                "log_ratio": float(middle[k]),
                "low": float(low[k]),
                "high": float(high[k]),
                "p_greater": float(self.p_greater[k]),
                "p_beyond": float(beyond[k]),
            }
            for k in order.tolist()
        ]

    def __repr__(self) -> str:
        """Return what is compared; ``print`` shows the table."""
        a, b = self.sides
        return f"Contrasts({a!r} over {b!r}, {len(self.branches)} branches)"

    def __str__(self) -> str:
        """Return the table with a line that says what is compared."""
        a, b = self.sides
        what = "share of the branch above" if self.within else "share"
        lines = [["branch", "ratio", "94 % interval", "P(larger)", f"P(beyond {RATIO:g})"]]
        for line in self.table:
            low, high = np.exp(line["low"]), np.exp(line["high"])
            lines.append(
                [
                    line["branch"],
                    f"{np.exp(line['log_ratio']):.2f}",
                    f"{low:.2f}–{high:.2f}",
                    f"{line['p_greater']:.3f}",
                    f"{line['p_beyond']:.2f}",
                ]
            )
        said = f"ratio of the {what} of each branch, {a} over {b}"
        if self.of_conditions:
            said += f" ({self.n_groups[0]} and {self.n_groups[1]} groups, which vary)"
        return f"{said}\n{aligned(lines)}"


def _line(group: Any, branch: str, share: float, low: float, high: float) -> dict[str, Any]:
    return {"group": group, "branch": branch, "share": share, "low": low, "high": high}
