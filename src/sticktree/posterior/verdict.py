"""One verdict in three parts: whether chains agree on the clusters, the tree and the density.

Each part is yes, nearly or no, with the figure behind it, what it means and what to do about it. It
is made from `Settled`, what two halves of the chains answer; numbers that nobody asks for, such as
hyper-parameters and counts of leaves, have no say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sticktree.posterior.settled import (
    CLUSTERS,
    DETAILS,
    DETAILS_NEARLY,
    LABELS,
    LABELS_ALIKE,
    ROWS,
    Settled,
    beside,
)

Agreement = Literal["agree", "nearly agree", "disagree", "cannot tell"]
Answer = Literal["yes", "nearly", "no", "cannot tell"]
Tone = Literal["good", "doubtful", "bad"]

MORE = "use more chains, or more draws"
ALONE = "One chain alone cannot tell whether others would find the same: run several."
TOO_FEW = (
    "Whether the chains agree cannot be told: there are too few draws. Fit with more to find out."
)


@dataclass(frozen=True)
class Part:
    """Whether chains agree on one thing.

    Attributes
    ----------
    about : {"clusters", "tree", "density"}
        The thing.
    answer : {"yes", "nearly", "no", "cannot tell"}
        Whether they do.
    figure : str
        The number behind it, in words.
    meaning : str
        What it means.
    advice : str
        What to do about it; nothing if they agree.
    """

    about: Literal["clusters", "tree", "density"]
    answer: Answer
    figure: str = ""
    meaning: str = ""
    advice: str = ""

    def words(self) -> str:
        """Return figure, meaning and advice.

        Examples
        --------
        >>> from sticktree.posterior.verdict import Part
        >>> Part("tree", "nearly", "0.89", "small branches differ", "rely on support").words()
        '0.89: small branches differ; rely on support'
        """
        after = "; ".join(text for text in (self.meaning, self.advice) if text)
        return ": ".join(text for text in (self.figure, after) if text)


@dataclass(frozen=True)
class Verdict:
    """Whether the chains of a fit agree on the answer.

    Attributes
    ----------
    agreement : {"agree", "nearly agree", "disagree", "cannot tell"}
        Chains disagree if they do on the clusters or on the density; where only the tree differs,
        or one of the parts is nearly the same, they nearly agree. "cannot tell" is for a single
        chain, or too few draws.
    tone : {"good", "doubtful", "bad"}
        Whether to trust the fit: good unless chains disagree, bad if they do on clusters and
        density.
    text : str
        All of it in words, with the figures.
    parts : tuple of Part
        What chains say of the clusters, the tree and the density; none if there are too few draws.
    """

    agreement: Agreement
    tone: Tone
    text: str
    parts: tuple[Part, ...] = ()

    def part(self, about: str) -> Part | None:
        """Return one of the parts."""
        return next((part for part in self.parts if part.about == about), None)

    @property
    def clusters(self) -> bool | None:
        """Whether clusters can be relied on; None if that cannot be told."""
        return self._holds("clusters")

    @property
    def density(self) -> bool | None:
        """Whether the mean density can be relied on; None if that cannot be told."""
        return self._holds("density")

    @property
    def tree(self) -> bool | None:
        """Whether large branches of the tree can be relied on; None if that cannot be told."""
        return self._holds("tree")

    def _holds(self, about: str) -> bool | None:
        part = self.part(about)
        if part is None or part.answer == "cannot tell":
            return None
        return part.answer != "no"

    def advice(self) -> list[str]:
        """Return what to do, each thing once."""
        return list(dict.fromkeys(part.advice for part in self.parts if part.advice))


def judged(found: Settled | None) -> Verdict:
    """Judge whether chains agree on the clusters, on the tree and on the density.

    Examples
    --------
    >>> from sticktree.posterior.settled import Settled
    >>> from sticktree.posterior.verdict import judged
    >>> verdict = judged(Settled(4, 0.001, 0.05, 0.02, 0.98, 1.0, 0.89))
    >>> verdict.agreement
    'nearly agree'
    >>> for part in verdict.parts:
    ...     print(part.about, part.answer)
    clusters yes
    tree nearly
    density yes
    """
    if found is None:
        return Verdict("cannot tell", "doubtful", TOO_FEW)
    parts = _clusters(found), _tree(found), _density(found)
    clusters, tree, density = (part.answer for part in parts)
    if clusters == density == "cannot tell":
        return Verdict("cannot tell", "doubtful", TOO_FEW)
    text = " ".join(f"{part.about.capitalize()}: {part.answer} ({part.words()})." for part in parts)
    n_wrong = (clusters, density).count("no")
    if found.n_chains < 2:
        tone: Tone = "bad" if n_wrong else "doubtful"
        return Verdict("cannot tell", tone, f"{text} {ALONE}", parts)
    text = f"Do the chains agree? {text}"
    if n_wrong:
        return Verdict("disagree", "doubtful" if n_wrong == 1 else "bad", text, parts)
    nearly = {"nearly", "no"} & {clusters, tree, density}
    return Verdict("nearly agree" if nearly else "agree", "good", text, parts)


def _clusters(found: Settled) -> Part:
    trees, labels = found.cluster_agreement, found.label_agreement
    if math.isnan(trees):
        return Part("clusters", "cannot tell", "too few draws")
    figure = f"cluster trees of two halves of the chains agree by {beside(trees, CLUSTERS)}"
    if not math.isnan(labels):
        figure = f"labels from two halves of the chains agree by {beside(labels, LABELS)}, "
        figure += f"cluster trees by {beside(trees, CLUSTERS)}"
    if found.clusters and not labels < LABELS:
        return Part("clusters", "yes", figure)
    if found.clusters:
        return Part(
            "clusters",
            "nearly",
            figure,
            "the same cluster tree, cut differently",
            "look at other numbers of clusters, and at the confidence of rows",
        )
    if labels >= LABELS_ALIKE:
        return Part(
            "clusters",
            "nearly",
            figure,
            "rows are in the same clusters, which join in another order",
            "rely on the clusters, not on how they join",
        )
    return Part("clusters", "no", figure, "chains have found different clusters", MORE)


def _tree(found: Settled) -> Part:
    levels = found.tree_agreement
    if math.isnan(levels):
        return Part("tree", "cannot tell", "too few draws")
    figure = f"levels at which rows meet correlate by {beside(levels, DETAILS)}"
    if found.details:
        return Part("tree", "yes", figure)
    support = "rely on branches that have support"
    if levels > DETAILS_NEARLY:
        return Part("tree", "nearly", figure, "large branches agree, small ones differ", support)
    return Part("tree", "no", figure, "branches differ from chain to chain", support)


def _density(found: Settled) -> Part:
    if found.density is None:
        return Part("density", "cannot tell", "no densities of rows are known")
    limit = round(2 * found.tolerance, 3)
    gap = f"{beside(abs(found.elpd_difference), limit, 3)} nats a row apart"
    if not found.density:
        meaning = f"less than {limit:.3f} would do"
        return Part("density", "no", gap, meaning, MORE)
    if found.rows:
        return Part("density", "yes", gap)
    rows = beside(found.row_difference, ROWS)
    return Part(
        "density",
        "nearly",
        f"{gap} in the mean, {rows} in single rows, where at most {ROWS:g} would do",
        "means can be relied on, densities of single rows cannot",
        "do not look for outliers by them",
    )
