"""Clusters of many public sets: the page with our scores beside every peer's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sticktree.checks import FloatArray
from sticktree.metrics.paired import paired_difference
from sticktree_paper.clustering_scores import (
    HERE,
    LEVEL,
    STORED,
    Comparison,
    Loss,
    columns_of,
    losses,
)
from sticktree_paper.clustering_work import FREE, GIVEN
from sticktree_paper.methods import OURS
from sticktree_paper.results import table

QUESTIONS = {GIVEN: "k given", FREE: "k free"}
ABOUT = """\
How well flat clusters and trees agree with what people see, on a suite of small public sets and on
labelled tables. The score is the adjusted Rand index (ARI), 1 for the reference itself and about 0
for chance; where a set has several references, the best one counts, and rows that a reference
calls noise are left out. *k given*: a program is told the number of clusters of the reference. *k
free*: it finds the number itself. *{ours}* is `DFPMixture()` as it comes, fitted once:
`cluster(n_clusters=k)` and `labels_`. {n_seeds} of programs that draw random numbers."""
HOW = """\
## How it was measured

- Rows are in random order, the same for all. Every program runs in the same run on the same rows,
  in one thread, but for those marked ¹: these are scores of labels that the suite's author stored
  for the true k, on raw columns (M. Gagolewski, *A framework for benchmarking clustering
  algorithms*, SoftwareX 20, 2022).
- Ours and BHC standardise columns by themselves. Every other program runs on raw columns and on
  standardised ones (z), and the better of the two on average over the suite stands here, its name
  followed by which; `clusters.csv` has both.
- Of stored programs with many settings, the recommended or default one stands here, and the one
  that is best on average over these very sets, which flatters it (*best setting*).
- Genie has its recommended Gini threshold of 0.3. k-means and GMM (full covariances) are the best
  of ten starts, spectral clustering is scikit-learn's with a kernel (γ = 1) or ten neighbours.
  GMM by BIC tries up to 20 components in four forms; the variational GMM has 20 to empty.
- HDBSCAN has `min_cluster_size` of 5, 10 or 20; what it calls noise is a cluster of its own when
  it is scored, or, *filled in*, joins the cluster of its nearest row in one. BHC is cut at k, or
  by its own rule.
- The tables are in their own units; digits are the first ten principal components of the pixels.
  Iris and breast cancer are also in the suite, so the two groups of sets are not added up.
- Many of these sets were looked at while we chose how clusters are made from draws."""
ABOUT_STORED = "¹ Scores of labels stored by the suite's author, true k given, raw columns."
CAPTION = """\
Every set, ours and three peers: k given on the left, k free on the right. A grey line joins ours
with the best of the three."""
ABOUT_LOSSES = """\
Sets on which some program is ahead of ours by more than {level:g}, the largest first. The best of
so many programs on each set by itself is a harder rival than any one of them."""


def opening(comparison: Comparison, n_seeds: int) -> Iterator[str]:
    """Yield the title and what it comes to."""
    yield "# Clusters of public sets"
    seeds = f"Means over {n_seeds} seeds" if n_seeds > 1 else "One seed"
    yield ABOUT.format(ours=OURS, n_seeds=seeds)
    yield from _means(comparison, tuple(comparison.groups)[:2])
    if comparison.stored:
        yield ABOUT_STORED


def markdown(comparison: Comparison, n_seeds: int, picture: str | None) -> Iterator[str]:
    """Yield the page."""
    yield from opening(comparison, n_seeds)
    if picture is not None:
        yield f"![Scores set by set]({picture})"
        yield CAPTION
    yield HOW
    yield "## Collection by collection"
    yield from _means(comparison, tuple(comparison.groups)[2:])
    for question, words in QUESTIONS.items():
        yield f"## Ours against each, {words}"
        yield f"Sets won, level (within {LEVEL:g}) and lost, and the mean difference over the sets."
        yield _duels(comparison, question)
        yield f"## Where we lose, {words}"
        yield from _losses(comparison, question)
        yield f"## Set by set, {words}"
        yield from _by_set(comparison, question)
    yield "## Ours in detail"
    yield DETAIL
    yield _detail(comparison)
    yield _purities(comparison)


def _means(comparison: Comparison, names: Sequence[str]) -> Iterator[str]:
    """Yield mean scores over groups of sets, a table for each question."""
    groups = {name: comparison.groups[name] for name in names}
    for question, words in QUESTIONS.items():
        columns = comparison.columns(question)
        best = {name: _best(column.over(of) for column in columns) for name, of in groups.items()}
        rows = []
        for column in columns:
            means = {name: column.over(members) for name, members in groups.items()}
            if not np.isnan(list(means.values())).all():
                cells = [_number(mean, best[name]) for name, mean in means.items()]
                rows.append([column.title, *cells])
        if rows:
            yield table([words, *(f"{name} ({len(of)})" for name, of in groups.items())], rows)


def _duels(comparison: Comparison, question: str) -> str:
    ours, *others = comparison.columns(question)
    if ours.name != OURS:
        return ""
    groups = {name: comparison.groups[name] for name in tuple(comparison.groups)[:2]}
    header = ["ours against"]
    for name in groups:
        header += [f"{name}: won / level / lost", "ours − that"]
    rows = []
    for other in others:
        cells = []
        for members in groups.values():
            shared = [name for name in members if name in other.mean and name in ours.mean]
            gains = np.array([ours.mean[name] - other.mean[name] for name in shared])
            won, lost = int((gains > LEVEL).sum()), int((gains < -LEVEL).sum())
            text = f"{won} / {len(shared) - won - lost} / {lost}"
            cells += [text, _difference(gains)] if shared else ["", ""]
        rows.append([other.title, *cells])
    return table(header, rows)


def _difference(gains: FloatArray) -> str:
    if gains.size < 2:
        return f"{gains.mean():+.3f}".replace("-", "−")
    values = dict(enumerate(gains.tolist()))
    return str(paired_difference(values, dict.fromkeys(values, 0.0)))


def _losses(comparison: Comparison, question: str) -> Iterator[str]:
    found = losses(comparison, question)
    if not found:
        yield f"On no set is any program ahead by more than {LEVEL:g}."
        return
    yield ABOUT_LOSSES.format(level=LEVEL)
    rows = [
        [one.name, *(_number(x, digits=2) for x in (one.ours, one.best, one.gap)), _few(one)]
        for one in found
    ]
    yield table(["set", "ours", "best of all others", "ours − that", "whose"], rows)


def _few(loss: Loss) -> str:
    first, more = loss.programs[:3], len(loss.programs) - 3
    return ", ".join(first) + (f" and {more} others" if more > 0 else "")


def _by_set(comparison: Comparison, question: str) -> Iterator[str]:
    """Yield every set and every program; ours is bold where none is ahead."""
    ours, *others = comparison.columns(question)
    for where in (HERE, STORED):
        shown = [other for other in others if other.where == where]
        if not shown:
            continue
        rows = []
        for one in comparison.sets:
            scores = [column.mean.get(one.name, float("nan")) for column in (ours, *shown)]
            if where == STORED and np.isnan(scores[1:]).all():
                continue
            known = [column.mean.get(one.name, float("nan")) for column in (ours, *others)]
            mine = _number(scores[0], _best(known), digits=2)
            rest = [_number(score, digits=2) for score in scores[1:]]
            rows.append([one.title, "/".join(map(str, one.n_clusters)), mine, *rest])
        yield table(["set", "k", *(column.title for column in (ours, *shown))], rows)


DETAIL = """\
*k*: of the references, and found with k free (over seeds). *Spread*: the least and the largest
score over seeds. *AUC*: the probability that a row clustered rightly (k given; clusters stand for
classes so that most rows are right) has a larger `confidence_` than one that is not; beside it,
that of the mixture of normals by its largest responsibility. Sets without wrong rows have none.
*Seconds* of one core."""


def _detail(comparison: Comparison) -> str:
    of = {
        value: columns_of(comparison.results, value)
        for value in (GIVEN, FREE, "clusters", "auc", "seconds")
    }

    def cell(value: str, name: str, how: str = "mean", program: str = OURS) -> float:
        column = of[value].get(program)
        return getattr(column, how).get(name, float("nan")) if column else float("nan")

    rival = max(
        (column for key, column in of["auc"].items() if key != OURS),
        key=lambda column: len(column.mean),
        default=None,
    )
    rows = []
    for one in comparison.sets:
        name = one.name
        if np.isnan(cell(FREE, name)):
            continue
        rows.append(
            [
                one.title,
                str(len(one.data)),
                str(one.data.shape[1]),
                "/".join(map(str, one.n_clusters)),
                _range(cell("clusters", name, "least"), cell("clusters", name, "most"), 0),
                _number(cell(GIVEN, name)),
                _range(cell(GIVEN, name, "least"), cell(GIVEN, name, "most"), 2),
                _number(cell(FREE, name)),
                _range(cell(FREE, name, "least"), cell(FREE, name, "most"), 2),
                _number(cell("auc", name), digits=2),
                _number(rival.mean.get(name, float("nan")), digits=2) if rival else "",
                f"{cell('seconds', name):.1f}",
            ]
        )
    header = ["set", "rows", "columns", "k", "k found", "k given", "spread", "k free", "spread"]
    return table([*header, "AUC", "AUC, GMM", "seconds"], rows)


def _purities(comparison: Comparison) -> str:
    """Return the dendrogram purity of every tree, means over sets."""
    names = tuple(comparison.groups)[:2]
    trees = {"tree": "", "cluster_tree": ", `cluster_tree_`"}
    rows = []
    for value, suffix in trees.items():
        for program, column in columns_of(comparison.results, value).items():
            ours = program == OURS
            title = f"**{program}**{suffix or ', `tree_`'}" if ours else program
            means = [column.over(comparison.groups[name]) for name in names]
            if not np.isnan(means).all():
                rows.append((means[0], [title, *(_number(mean) for mean in means)]))
    rows.sort(key=lambda row: -np.nan_to_num(row[0], nan=-1.0))
    header = ["dendrogram purity", *(f"{name} ({len(comparison.groups[name])})" for name in names)]
    return table(header, [cells for _, cells in rows])


def _best(values: Iterable[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return max(known, default=float("nan"))


def _number(value: float, best: float = float("nan"), digits: int = 3) -> str:
    """Return a score, bold if no other is larger; nothing if there is none."""
    if np.isnan(value):
        return ""
    text = f"{value:.{digits}f}".replace("-", "−")
    text = text.lstrip("−") if float(f"{value:.{digits}f}") == 0 else text
    return f"**{text}**" if value >= best - 0.5 * 10.0**-digits else text


def _range(least: float, most: float, digits: int) -> str:
    if np.isnan(least):
        return ""
    first, last = (_number(value, digits=digits) for value in (least, most))
    return first if first == last else f"{first} to {last}"
