"""Answers about groups: do intervals cover, are differences found, is chance left alone?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.group_data import (
    N_BRANCHES,
    OF_FIRST,
    PAIRS,
    Simulation,
    fisher_evidence,
    kmeans_by_bic,
    nearest,
    overlapping,
    roc_area,
    simulate,
)
from benchmarks.measure import Row, Target, verdict
from sticktree import DFPMixture, datasets
from sticktree.checks import FloatArray
from sticktree.posterior.composition import Composition

SEEDS = range(18)
N_PERMUTED = 2  # of them, once more with groups at random
DISTANCES, N_OVERLAPPING = (3.0, 4.0), 6  # deviations between two branches, and tables of each
COVERAGE = (0.90, 0.97)
LEAST_AREA, LEAST_GAIN, LEAST_P = 0.95, 100.0, 0.01
QUICK: dict[str, Any] = {"n_chains": 2, "n_warmup": 10, "n_draws": 10}


class Answer(NamedTuple):
    """What is said of a simulation."""

    agreement: float  # of clusters with branches, adjusted Rand index
    shares: float  # of intervals that cover
    ratios: float
    evidence: FloatArray  # (pairs, branches)
    p_greater: FloatArray


def answer(simulation: Simulation, composition: Composition, labels: Any) -> Answer:
    """Compare branches of a composition with those of a simulation that are most like them."""
    sets = [np.isin(labels, branch) for branch in composition.branches]
    chosen = nearest(sets, simulation.branch)
    low, high = (end[:, chosen] for end in composition.interval)
    covered = (low <= simulation.shares) & (simulation.shares <= high)
    contrasts = [composition.compare(b, a) for a, b in PAIRS]
    ratio = np.array([contrast.log_ratio[:, chosen] for contrast in contrasts])
    below, above = np.quantile(ratio, (0.03, 0.97), axis=1)
    p = np.array([contrast.p_greater[chosen] for contrast in contrasts])
    within = (below <= simulation.log_ratio) & (simulation.log_ratio <= above)
    agreement = adjusted_rand_score(simulation.branch, labels)
    return Answer(agreement, covered.mean(), within.mean(), np.abs(p - 0.5), p)


def group_answers(quick: bool) -> Iterator[Row]:
    """Simulate 8 groups of 500 rows in 10 branches, half of which differ by a factor of 2."""
    free, given, chance, gains = [], [], [], []
    areas: dict[str, list[float]] = {}
    for seed in list(SEEDS)[: 1 if quick else None]:
        made = simulate(seed, 60 if quick else 500)
        mixture = _fitted(made.data, made.group, seed, quick)
        free.append(answer(made, mixture.composition_, mixture.labels_))
        of_ten = mixture.composition(N_BRANCHES), mixture.cluster(N_BRANCHES)
        given.append(answer(made, *of_ten))
        by_kmeans = KMeans(N_BRANCHES, n_init=10, random_state=0).fit(made.data).labels_
        evidence = {
            "free": free[-1].evidence,
            "given": given[-1].evidence,
            "bic": fisher_evidence(made, kmeans_by_bic(made.data)),
            "kmeans": fisher_evidence(made, by_kmeans),
            "known": fisher_evidence(made, made.branch),
        }
        for who, its in evidence.items():
            areas.setdefault(who, []).append(roc_area(made, its))
        if seed < N_PERMUTED:
            mixed = np.random.default_rng(seed).permutation(made.group)
            alike = _fitted(made.data, mixed, seed, quick)
            found = answer(made, alike.composition(N_BRANCHES), alike.cluster(N_BRANCHES))
            chance.append(found.p_greater)
            gains.append(alike.groups_matter().total)
    for what, answers in (("own k", free), ("k given", given)):
        for name in ("shares", "ratios"):
            yield _coverage(f"coverage of 94 % intervals of {name}, {what}", answers, name)
    for what, ours, peer in (("own k", "free", "bic"), ("k given", "given", "kmeans")):
        area, other = float(np.mean(areas[ours])), float(np.mean(areas[peer]))
        ahead = f"≥ {LEAST_AREA:g}, above the peer"
        met = area >= LEAST_AREA and area > other
        named = "k-means by BIC and Fisher" if peer == "bic" else "k-means and Fisher"
        what = f"area under the ROC curve, {what}, beside {named}"
        yield Row(what, f"{area:.3f}", f"{other:.3f}", f"{area - other:+.3f}", ahead, verdict(met))
    known = f"{np.mean(areas['known']):.3f}"
    yield Row("the same of Fisher's test where the branches are known", "", known, "", "", "")
    p_value = float(stats.kstest(np.concatenate(chance).ravel(), "uniform").pvalue)
    bound = Target(LEAST_P, at_least=True)
    what = "P(> 0) of groups at random: uniform? p of Kolmogorov's test"
    yield Row(what, f"{p_value:.2f}", "", "", str(bound), verdict(bound.met(p_value)))
    yield _gain("gain of groups at random, the largest, in nats", max(gains), most=3.0)


def group_overlap(quick: bool) -> Iterator[Row]:
    """Cut fits into two branches that overlap: rows at the border are of one or of the other."""
    covered, accuracy = [], []
    for distance in DISTANCES:
        for seed in range(1 if quick else N_OVERLAPPING):
            data, branch, group = overlapping(seed, distance)
            mixture = _fitted(data, group, seed, quick)
            same = mixture.cluster(2) == branch
            accuracy.append(max(same.mean(), 1.0 - same.mean()))
            low, high = (end[:, int(same.mean() < 0.5)] for end in mixture.composition(2).interval)
            covered.append((low <= OF_FIRST) & (high >= OF_FIRST))
    share, right = float(np.mean(covered)), f"{np.mean(accuracy):.1%} of labels right"
    what = "coverage of shares, two branches 3 or 4 deviations apart"
    met = COVERAGE[0] <= share <= COVERAGE[1]
    bound = f"{COVERAGE[0]:.0%}–{COVERAGE[1]:.0%}"
    yield Row(what, f"{share:.1%}", "", right, bound, verdict(met))


def group_penguins(quick: bool) -> Iterator[Row]:
    """Say whether islands matter to penguins, and islands at random."""
    found = datasets.load("penguins")
    island = np.array(found.annotations["island"])
    mixture = _fitted(found.data, island, 0, quick)
    alone = _fitted(found.data, None, 0, quick)
    between = mixture.fit_.loo("best").elpd - alone.fit_.loo("best").elpd
    gain = mixture.groups_matter()
    bound = Target(LEAST_GAIN, "nats", at_least=True)
    what = "gain of islands for 342 penguins, beside that by a second fit without them"
    said = f"{gain.total:.1f} ± {gain.se:.1f}"
    yield Row(what, said, f"{between:.1f}", "", str(bound), verdict(bound.met(gain.total)))
    mixed = np.random.default_rng(0).permutation(island)
    at_random = _fitted(found.data, mixed, 0, quick).groups_matter().total
    yield _gain("gain of islands at random, in nats", at_random, most=3.0)


def _fitted(data: FloatArray, groups: Any, seed: int, quick: bool) -> DFPMixture:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = DFPMixture(random_state=seed, progress=False, **(QUICK if quick else {}))
        return mixture.fit(data, groups=groups)


def _coverage(what: str, found: list[Answer], name: str) -> Row:
    covered = float(np.mean([getattr(one, name) for one in found]))
    met = COVERAGE[0] <= covered <= COVERAGE[1]
    bound = f"{COVERAGE[0]:.0%}–{COVERAGE[1]:.0%}"
    agreement = np.mean([one.agreement for one in found])
    return Row(what, f"{covered:.1%}", "", f"ARI {agreement:.3f}", bound, verdict(met))


def _gain(what: str, gain: float, most: float) -> Row:
    bound = Target(most)
    return Row(what, f"{gain:.1f}", "", "", str(bound), verdict(bound.met(gain)))
