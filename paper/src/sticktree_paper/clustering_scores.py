"""Scores of clusterings, program by program: which stand in tables, and where ours is behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sticktree_paper.clustering_programs import RAW, Z, keyed
from sticktree_paper.clustering_sets import SUITE, TABLES, Labelled
from sticktree_paper.clustering_work import GIVEN
from sticktree_paper.methods import OURS
from sticktree_paper.results import Result

LEVEL = 0.01  # differences of the index that count as none
HERE, STORED = "here", "stored"
RECOMMENDED = {
    "Genie": "Genie_G0.3",
    "GenieIc": "GIc",
    "ITM": "ITM",
    "IcA": "IcA",
    "fastcluster_ward": "fastcluster_ward",
    "fastcluster_average": "fastcluster_average",
    "fastcluster_complete": "fastcluster_complete",
    "fastcluster_centroid": "fastcluster_centroid",
    "sklearn_birch": "sklearn_birch_T0.5_BF50",
    "sklearn_gm": "sklearn_gm",
    "sklearn_kmeans": "sklearn_kmeans",
    "sklearn_spectral": "sklearn_spectral_Arbf_G1",
}
"""The one setting of each stored program that its authors recommend, or that is its default."""
BEST = ", best setting"
Of = dict[str, float]


@dataclass(frozen=True)
class Column:
    """One program's scores on one question.

    Attributes
    ----------
    name : str
        The program, with the scaling of the columns where there was a choice.
    where : {"here", "stored"}
        Whether it ran here, or its labels were stored by the suite's author.
    mean, least, most : dict of str to float
        By set: over seeds.
    """

    name: str
    where: str
    mean: Of
    least: Of
    most: Of

    def over(self, names: Sequence[str]) -> float:
        """Return the mean over sets; NaN if it has not all of them, or there are none."""
        if not names or not all(name in self.mean for name in names):
            return float("nan")
        return float(np.mean([self.mean[name] for name in names]))

    @property
    def title(self) -> str:
        """The name as tables have it."""
        if self.name == OURS:
            return f"**{OURS}**"
        return f"{self.name} ¹" if self.where == STORED else self.name


@dataclass(frozen=True)
class Comparison:
    """All that was measured: results, the sets, and the scores of stored labels."""

    results: Sequence[Result]
    sets: Sequence[Labelled]
    stored: Mapping[str, Mapping[str, Of]]

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Names of sets: of the suite, of the tables, and of each collection of the suite."""
        of = {SUITE: tuple(one.name for one in self.sets if one.collection != TABLES)}
        for one in (*sorted({one.collection for one in self.sets} - {TABLES}), TABLES):
            of[one] = tuple(each.name for each in self.sets if each.collection == one)
        ordered = {SUITE: of.pop(SUITE), TABLES: of.pop(TABLES)}
        return {name: members for name, members in (ordered | of).items() if members}

    def columns(self, question: str) -> list[Column]:
        """Return the columns of a question: ours, then the best on the suite first."""
        here = columns_of(self.results, question)
        chosen = [self._better_scaling(name, here) for name in _unscaled(here)]
        if question == GIVEN:
            chosen += self._stored()
        return sorted(chosen, key=lambda one: (one.name != OURS, -self._rank(one)))

    def all_columns(self, question: str) -> list[Column]:
        """Return the columns of a question with both scalings, as files have them."""
        here = list(columns_of(self.results, question).values())
        return here + (self._stored() if question == GIVEN else [])

    def _rank(self, column: Column) -> float:
        known = self.groups.get(SUITE) or self.groups.get(TABLES, ())
        return float(np.nan_to_num(column.over(known), nan=-1.0))

    def _better_scaling(self, name: str, here: Mapping[str, Column]) -> Column:
        found = [here[key] for key in (name, keyed(name, Z), keyed(name, RAW)) if key in here]
        return max(found, key=self._rank)

    def _stored(self) -> list[Column]:
        found = []
        for program, variants in self.stored.items():
            usual = RECOMMENDED.get(program, next(iter(variants)))
            found.append(_stored_column(usual, variants[usual]))
            widest = max(map(len, variants.values()))
            whole = {name: of for name, of in variants.items() if len(of) == widest}
            mean = {name: float(np.mean(list(of.values()))) for name, of in whole.items()}
            best = (
                usual if mean.get(usual) == max(mean.values()) else max(mean, key=mean.__getitem__)
            )
            if best != usual:
                found.append(_stored_column(f"{best}{BEST}", whole[best]))
        return found


def columns_of(results: Sequence[Result], value: str) -> dict[str, Column]:
    """Return one value of every program that has it, by the program's name with the scaling."""
    found: dict[str, dict[str, list[float]]] = {}
    for result in results:
        if value in result.values:
            of_sets = found.setdefault(result.key.method, {})
            of_sets.setdefault(result.key.name, []).append(result.values[value])
    return {
        program: Column(
            program,
            HERE,
            {name: float(np.mean(values)) for name, values in of_sets.items()},
            {name: min(values) for name, values in of_sets.items()},
            {name: max(values) for name, values in of_sets.items()},
        )
        for program, of_sets in found.items()
    }


def _stored_column(name: str, scores: Of) -> Column:
    of = dict(scores)
    return Column(name, STORED, of, of, of)


def _unscaled(keys: Mapping[str, Column]) -> list[str]:
    def plain(key: str) -> str:
        return key.removesuffix(f" ({Z})").removesuffix(f" ({RAW})")

    return list(dict.fromkeys(map(plain, keys)))


@dataclass(frozen=True)
class Loss:
    """A set on which a program is ahead of ours."""

    name: str
    ours: float
    best: float
    programs: tuple[str, ...]

    @property
    def gap(self) -> float:
        """Our score less the best one."""
        return self.ours - self.best


def losses(comparison: Comparison, question: str) -> list[Loss]:
    """Return the sets on which any program is ahead, the largest difference first."""
    ours, *others = comparison.columns(question)
    found = []
    for one in comparison.sets:
        scores = {other.title: other.mean[one.name] for other in others if one.name in other.mean}
        if ours.name == OURS and one.name in ours.mean and scores:
            best, mine = max(scores.values()), ours.mean[one.name]
            names = tuple(name for name, value in scores.items() if value >= best - LEVEL / 2)
            if best > mine + LEVEL:
                found.append(Loss(one.title, mine, best, names))
    return sorted(found, key=lambda loss: loss.gap)
