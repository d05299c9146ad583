"""Cuts of the cluster tree into 1 to 20 clusters, with colours that stay with the rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.errors import ParameterError
from sticktree.palette import CLUSTERS
from sticktree.present.findings import Findings
from sticktree.report.markup import packed

MOST_CLUSTERS = len(CLUSTERS)  # more cannot be told apart by colour
BESIDE = 4  # numbers that are there below and above that of the clusters found
MANY = 100_000  # data, above which confidences are those of the clusters found alone
ALIKE = 0.65  # share of rows in common, of their mean number, from which a class is a cluster


@dataclass(frozen=True, eq=False)
class PageCut:
    """Some number of clusters of the rows in the tree.

    Attributes
    ----------
    labels : int array, shape (N,)
        The cluster of each row.
    stray : bool array, shape (N,)
        Rows apart from the cluster that they are nearest to.
    confidence : float array, shape (N,), or None
        The probability of each row to be in its own cluster.
    slot : list of int
        The place of each cluster in the palette.
    """

    labels: IntArray
    stray: npt.NDArray[np.bool_]
    confidence: FloatArray | None
    slot: list[int]

    def of_rows(self, shown: npt.NDArray[np.int64]) -> PageCut:
        """Return the cut of some rows."""
        sure = None if self.confidence is None else self.confidence[shown]
        return PageCut(self.labels[shown], self.stray[shown], sure, self.slot)

    def packed(self, shown: npt.NDArray[np.int64], steps: int = 255) -> dict[str, Any]:
        """Return the cut of some rows as text, with sizes and confidences of whole clusters.

        Strays are bits, and confidences are counted in 255 or 65,535 steps.
        """
        kind = "uint8" if steps < 256 else "uint16"
        n, labels, sure = len(self.slot), self.labels, self.confidence
        size = np.bincount(labels, minlength=n)
        means = None
        if sure is not None:
            sums = np.bincount(labels, sure, minlength=n)
            means = (sums / np.maximum(size, 1)).round(4).tolist()
        return {
            "k": n,
            "label": packed(labels[shown], "uint8" if n < 256 else "int32"),
            "wide": n >= 256,
            "stray": packed(np.packbits(self.stray[shown], bitorder="little"), "uint8"),
            "confidence": None if sure is None else packed(np.rint(steps * sure[shown]), kind),
            "steps": steps,
            "sizes": size.tolist(),
            "strays": int(self.stray.sum()),
            "means": means,
            "slots": self.slot,
        }


def cuts_of(found: Findings) -> tuple[PageCut, list[PageCut]]:
    """Return the clusters found and, where draws are at hand, other numbers of them.

    These are 1 to 20, and a few less and more than were found.
    """
    fit, rows = found.fit, found.in_tree
    labels = fit.labels[rows]
    n_found = max(fit.cut.n_clusters, int(labels.max(initial=-1)) + 1)
    first = PageCut(labels, fit.strays[rows], fit.confidence[rows], list(range(n_found)))
    if not fit.posterior.labelled:
        return first, [first]
    cuts = {n_found: first}
    wanted = {*range(1, MOST_CLUSTERS + 1), *range(n_found - BESIDE, n_found + BESIDE + 1)}
    more = sorted(k for k in wanted if k > n_found)
    fewer = sorted((k for k in wanted if 0 < k < n_found), reverse=True)
    for numbers in (more, fewer):
        before = first
        for k in numbers:
            try:
                before = _cut_like(found, k, before)
            except ParameterError:  # there are not so many rows that differ
                break
            cuts.setdefault(len(before.slot), before)
    return first, [cuts[k] for k in sorted(cuts)]


def _cut_like(found: Findings, k: int, before: PageCut) -> PageCut:
    """Return ``k`` clusters, or fewer if there are no more, in the colours of those before."""
    fit, data = found.fit, found.fit.training.first_data
    cut = fit.cut_into(k)
    labels = cut.labels[data]
    few = fit.training.n_data <= MANY
    sure = fit.walk.confidence(cut.labels)[data] if few else None
    slot = inherited(labels, cut.n_clusters, before.labels, before.slot)
    return PageCut(labels, cut.stray[data], sure, slot)


def inherited(
    labels: npt.NDArray[Any], n_labels: int, others: npt.NDArray[Any], slots: list[int]
) -> list[int]:
    """Return places in the palette for clusters: those of the others with most rows in common.

    Each place is given once. Clusters that are left take places that are free, from the first.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.report.cuts import inherited
    >>> inherited(np.array([0, 0, 1, 1, 2]), 3, np.array([1, 1, 1, 0, 0]), [0, 1])
    [1, 2, 0]
    """
    return _given(_in_common(labels, n_labels, others, len(slots)), slots, taken=set(), least=0.0)


def class_slots(
    code: npt.NDArray[np.int64], n_classes: int, cuts: list[PageCut], found: PageCut
) -> list[int]:
    """Return places in the palette for classes: a class that is a cluster of a cut has its colour.

    Others have colours that no cluster of those found has, as long as there are any.
    """
    n_slots = max(max(cut.slot, default=0) for cut in cuts) + 1
    alike = np.zeros((n_classes, n_slots))
    for cut in cuts:
        common = _in_common(code, n_classes, cut.labels, len(cut.slot))
        alike[:, cut.slot] = np.maximum(alike[:, cut.slot], common)
    return _given(alike, list(range(n_slots)), taken=set(found.slot), least=ALIKE)


def _in_common(
    labels: npt.NDArray[Any], n_labels: int, others: npt.NDArray[Any], n_others: int
) -> FloatArray:
    """Return the rows in common of groups over their mean number; labels below 0 are of none."""
    both = (labels >= 0) & (others >= 0)
    common = np.zeros((n_labels, n_others))
    np.add.at(common, (labels[both], others[both]), 1.0)
    mine = np.bincount(labels[labels >= 0], minlength=n_labels)
    theirs = np.bincount(others[others >= 0], minlength=n_others)
    return np.asarray(2.0 * common / np.maximum(mine[:, None] + theirs, 1))


def _given(alike: FloatArray, slots: list[int], taken: set[int], least: float) -> list[int]:
    """Give each group the place of the other that it is like, if by more than ``least``."""
    from scipy.optimize import linear_sum_assignment

    result = [-1] * len(alike)
    for k, other in zip(*linear_sum_assignment(-alike), strict=True):
        if alike[k, other] > least:
            result[k] = slots[other]
    free = [slot for slot in range(len(CLUSTERS)) if slot not in result]
    spare = chain([slot for slot in free if slot not in taken], count(len(CLUSTERS)))
    return [next(spare) if slot < 0 else slot for slot in result]
