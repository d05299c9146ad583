"""How different two clusterings of the same data are, and how near one comes to known classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.errors import ParameterError
from sticktree.tree import NULL

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


class FlatScores(NamedTuple):
    """How near two clusterings are.

    Attributes
    ----------
    ari : float
        Adjusted Rand index: 1 if they are the same, about 0 if they have nothing in common.
    nmi : float
        Normalised mutual information, by the mean of the entropies: from 0 to 1, the same.
    vi : float
        Variation of information in nats: 0 if they are the same.
    """

    ari: float
    nmi: float
    vi: float


def flat_scores(labels_true: Iterable[Any], labels_pred: Iterable[Any]) -> FlatScores:
    """Return adjusted Rand index, normalised mutual information and variation of information.

    Parameters
    ----------
    labels_true, labels_pred : sequences of labels of the same data
        Labels are of any kind, and what they are called does not matter. Data whose label is
        missing (None or NaN) in one of them are left out.

    Examples
    --------
    >>> from sticktree.metrics import flat_scores
    >>> flat_scores(["a", "a", "b", "b"], [1, 1, 0, 0])
    FlatScores(ari=1.0, nmi=1.0, vi=0.0)
    """
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    true = class_codes("labels_true", labels_true)
    found = class_codes("labels_pred", labels_pred, true.size)
    known = (true != NULL) & (found != NULL)
    if not known.any():
        raise ValueError(
            "labels_true and labels_pred must have at least one datum that both label, got none"
        )
    true, found = true[known], found[known]
    return FlatScores(
        float(adjusted_rand_score(true, found)),
        float(normalized_mutual_info_score(true, found)),
        variation_of_information(true, found),
    )


def class_codes(name: str, labels: Iterable[Any], length: int | None = None) -> IntArray:
    """Return the number of each label's class, from 0 in order of appearance; NULL if missing.

    Missing are None, NaN, and what compares to nothing, such as pandas' NA.

    Examples
    --------
    >>> class_codes("labels", ["b", "a", None, "b"])
    array([ 0,  1, -1,  0], dtype=int32)
    """
    if isinstance(labels, str):
        raise ParameterError(name, labels, "a sequence of labels, one for each datum")
    shape = getattr(labels, "shape", (0,))
    if len(shape) != 1:
        raise ParameterError(name, labels, "one-dimensional", shown=f"shape {shape}")
    number: dict[Any, int] = {}
    codes: list[int] = []
    # Lists of Python's own values are walked far faster; of dates, numpy would make numbers.
    plain = isinstance(labels, np.ndarray) and labels.dtype.kind not in "mM"
    for i, label in enumerate(labels.tolist() if plain else labels):  # type: ignore[attr-defined]
        try:
            codes.append(NULL if _missing(label) else number.setdefault(label, len(number)))
        except TypeError:
            expected = "a string, a number or the like"
            raise ParameterError(f"{name}[{i}]", label, expected) from None
    if length is not None and len(codes) != length:
        raise ParameterError(name, len(codes), f"one entry for each of {length} data", verb="have")
    return np.array(codes, dtype=np.int32)


def _missing(label: Any) -> bool:
    if label is None:
        return True
    if isinstance(label, (str, int)):
        return False
    hash(label)
    try:
        return bool(label != label)  # NaN and NaT differ from themselves
    except TypeError:
        return True  # pandas' NA has no truth value
