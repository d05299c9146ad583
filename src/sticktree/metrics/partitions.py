"""How different two clusterings of the same data are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.metrics.classes import class_codes
from sticktree.tree import NULL

__all__ = ["binder_loss", "variation_of_information"]

Counts = npt.NDArray[np.int64]


def variation_of_information(a: Iterable[Any], b: Iterable[Any]) -> float:
    """Return the variation of information between two clusterings, in nats.

    It is what each of them leaves open of the other: H(a | b) + H(b | a).

    Parameters
    ----------
    a, b : sequences of labels of the same data
        Labels are of any kind, and what they are called does not matter. Data whose label is
        missing (None or NaN) in one of them are left out.

    Examples
    --------
    >>> from sticktree.metrics import variation_of_information
    >>> variation_of_information([0, 0, 1], ["x", "x", "y"])
    0.0
    """
    of_a, of_b, of_both = _cluster_sizes(a, b)

    def entropy(size: Counts) -> float:
        share = size / size.sum()
        return float(-(share * np.log(share)).sum())

    return max(2.0 * entropy(of_both) - entropy(of_a) - entropy(of_b), 0.0)


def binder_loss(a: Iterable[Any], b: Iterable[Any]) -> float:
    """Return the share of pairs of data that one clustering puts together and the other apart.

    It is 1 minus the Rand index.

    Parameters
    ----------
    a, b : sequences of labels of the same data
        As in :func:`variation_of_information`.

    Examples
    --------
    >>> from sticktree.metrics import binder_loss
    >>> binder_loss([0, 0, 1, 1], [0, 0, 0, 0])
    0.6666666666666666
    """
    of_a, of_b, of_both = _cluster_sizes(a, b)

    def n_pairs(size: Counts) -> int:
        return int((size * (size - 1) // 2).sum())

    every = n_pairs(np.array([of_a.sum()]))
    return (n_pairs(of_a) + n_pairs(of_b) - 2 * n_pairs(of_both)) / max(every, 1)


def _cluster_sizes(a: Iterable[Any], b: Iterable[Any]) -> tuple[Counts, Counts, Counts]:
    """Return the sizes of the clusters of a, of b, and of what they have in common."""
    first = class_codes("a", a).astype(np.int64)
    second = class_codes("b", b).astype(np.int64)
    if first.size != second.size:
        raise ValueError(
            f"a and b must label the same data, got {first.size} and {second.size} labels"
        )
    known = (first != NULL) & (second != NULL)
    if not known.any():
        raise ValueError("a and b must have at least one datum that both label, got none")
    first, second = first[known], second[known]
    both = first * (second.max() + 1) + second
    return _counts(first), _counts(second), _counts(both)


def _counts(codes: Counts) -> Counts:
    return np.unique(codes, return_counts=True)[1].astype(np.int64)
