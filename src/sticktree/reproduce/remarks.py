"""Why a method is ahead of ours, or seems to be; shown where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sticktree.reproduce.methods import OURS

if TYPE_CHECKING:
    from sticktree.reproduce.table1 import Line

__all__ = ["remarks_on"]

FLAT = (
    "The clusters are normal, equally wide and without a hierarchy, so a mixture with one level "
    "and shared noise is the true model, and all good estimators meet. Ours has to find that "
    "out."
)
ON_SETS: dict[str, str] = {
    "r15": FLAT,
    "d31": FLAT,
    "aggregation": (
        "The clusters are shapes, not normals: many small leaves below few branches. Good "
        "estimators meet within 0.03."
    ),
    "ccle": (
        "An exact 0 stands here for a missing value, for a logarithm of 0 and for an activity "
        "of 1 (839 of 12,096 entries). A model whose clusters have variances of their own can "
        "put a spike there, which says little of the rest; those of ours are bounded by the "
        "resolution of each column. Read the next two tables too."
    ),
    "ccle-dequantised": (
        "Activities have uniform jitter of 0.01, to which they were rounded, before the "
        "logarithm is taken, so that no value repeats; an exact 0 reads as an activity of 1."
    ),
    "ccle-gaps": (
        "The density is that of the entries that are observed. Ours takes gaps as gaps; "
        "mixtures of scikit-learn and kernels are fitted to a table with the training means in "
        "place of them, and gaps of test rows are integrated out."
    ),
    "glass": (
        "Values repeat: Ba is 0 in 176 of 214 rows, Fe in 144. Clusters with variances of their "
        "own and no floor put spikes there and can reach any figure; ours have a floor at the "
        "resolution of each column. The dequantised table is the one to compare by."
    ),
    "glass-dequantised": (
        "Every value has uniform jitter of one unit of its last digit, the same for all methods."
    ),
}
"""What has to be known to read the table of a set."""
SPIKES = "its clusters have standard deviations of their own, which shrink on repeated values."
TRUE_MODEL = "it is the true model of this set, and to be told so is worth that little."
ON_METHODS: dict[tuple[str, str], str] = {
    ("r15", "DPM"): TRUE_MODEL,
    ("d31", "DPM"): TRUE_MODEL,
    ("glass", "FBM infinite mixture, own sd"): SPIKES,
    ("ccle", "FBM infinite mixture, own sd"): SPIKES,
}
"""By set and method: why it is ahead."""


def remarks_on(name: str, lines: Sequence[Line]) -> Iterator[str]:
    """Yield what has to be said about the table of a set."""
    if name in ON_SETS:
        yield ON_SETS[name]
    for line in lines:
        reason = ON_METHODS.get((name, line.method))
        if line.verdict == "behind" and reason:
            yield f"*{line.method} is ahead of {OURS}:* {reason}"
