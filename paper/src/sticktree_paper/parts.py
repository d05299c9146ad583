"""The parts of the paper, one after another, into one folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sticktree.checks import check_integer
from sticktree.datasets import MissingDataError, load
from sticktree_paper import convergence
from sticktree_paper.clustering_programs import left_out
from sticktree_paper.clustering_scores import Comparison
from sticktree_paper.clustering_sets import (
    QUICK_CLUSTERS,
    available_sets,
    cluster_names,
    labelled,
    stored_scores,
)
from sticktree_paper.clustering_work import cluster_keys
from sticktree_paper.methods import FULL, QUICK, Length
from sticktree_paper.output import PARTS, Folder
from sticktree_paper.purity import PURITY_SETS
from sticktree_paper.results import Key, Result, ResultsFile
from sticktree_paper.splits import SETS
from sticktree_paper.work import N_SPLITS, density_keys, evidence_keys, purity_keys, run

TABLE_1 = (
    "r15",
    "d31",
    "aggregation",
    "macaque",
    "ccle",
    "ccle-dequantised",
    "ccle-gaps",
    "glass",
    "glass-dequantised",
)
QUICK_SETS = ("r15", "glass-dequantised", "iris")
QUICK_TREES = ("glass", "synthetic")
EVIDENCE = ("r15", "d31", "aggregation")
QUICK_SPLITS = 2


@dataclass(frozen=True)
class Job:
    """The settings that every part works with."""

    folder: Folder
    length: Length
    sets: tuple[str, ...] | None
    n_splits: int
    n_jobs: int
    fresh: bool
    progress: bool | None
    tell: Callable[[str], None]

    @property
    def quick(self) -> bool:
        """Whether the run only shows that everything works."""
        return self.length.name == QUICK.name

    def chosen(self, part: str, usual: Sequence[str]) -> tuple[str, ...]:
        """Return the sets of a part: those asked for that it has, or the usual ones."""
        if self.sets is None:
            return tuple(usual)
        found = tuple(name for name in self.sets if name in OF_SETS[part]())
        if not found:
            self.tell(f"  {part} is left out: it has none of {', '.join(self.sets)}")
        return found

    def done(self, keys: Sequence[Key]) -> list[Result]:
        """Return the results of these, after doing what is missing."""
        file = ResultsFile(self.folder.path / "results.jsonl")
        return run(
            keys,
            file,
            self.length,
            n_jobs=self.n_jobs,
            fresh=self.fresh,
            progress=self.progress,
        )


def reproduce(
    parts: Iterable[str] = ("all",),
    folder: str | os.PathLike[str] = "paper",
    *,
    quick: bool = False,
    sets: Sequence[str] | None = None,
    n_splits: int | None = None,
    n_seeds: int | None = None,
    n_jobs: int | None = None,
    fresh: bool = False,
    progress: bool | None = None,
    tell: Callable[[str], None] = print,
) -> Path:
    """Make tables and figures of the paper anew; return the page that shows them.

    Parameters
    ----------
    parts : iterable of str
        Any of "table1", "convergence", "glass" (the purity of trees), "clusters", "fig1" to "fig4",
        or "all".
    folder : path, default="paper"
        Where everything goes. Results that it has of the same code, data and settings are used.
    quick : bool, default=False
        Only show that everything works: a few sets and splits, and chains too short to judge by.
    sets : sequence of str or None
        Prepared sets of Table 1, see ``sticktree_paper.splits.SETS``, and sets of clusters, see
        ``sticktree_paper.clustering_sets.cluster_names``; None are the paper's, and all of those.
        A part that has none of them is left out.
    n_splits : int or None
        How many splits; None is 10, or 2 if quick.
    n_seeds : int or None
        How many seeds of trees and clusters; None is 3, or 1 if quick.
    n_jobs : int or None
        Fits at a time; None is the number of cores. Results do not depend on it.
    fresh : bool, default=False
        Use no results of earlier runs.
    progress : bool or None
        Show what is being done; None does.
    tell : callable
        Takes each line of progress.

    Returns
    -------
    Path
        The page, ``index.md`` in the folder.
    """
    chosen = check_parts(parts)
    check_sets(chosen, sets or ())
    n_splits = (QUICK_SPLITS if quick else N_SPLITS) if n_splits is None else n_splits
    check_integer("n_splits", n_splits, minimum=1)
    length = QUICK if quick else FULL
    if n_seeds is not None:
        length = replace(length, n_seeds=check_integer("n_seeds", n_seeds, minimum=1))
    n_jobs = os.cpu_count() or 1 if n_jobs is None else check_integer("n_jobs", n_jobs, minimum=1)
    job = Job(
        Folder(Path(folder)),
        length,
        None if sets is None else tuple(sets),
        n_splits,
        n_jobs,
        fresh,
        progress,
        tell,
    )
    for part in chosen:
        tell(f"{part}: {WORDS[part]}")
        MAKERS[part](job)
    return job.folder.write_page()


def check_parts(parts: Iterable[str]) -> list[str]:
    """Return the parts in order; "all" are all of them."""
    asked = [parts] if isinstance(parts, str) else list(parts)
    for part in asked:
        if part not in (*PARTS, "all"):
            raise ValueError(f"parts must be any of {', '.join(PARTS)} or all, got {part!r}")
    return list(PARTS) if "all" in asked or not asked else [p for p in PARTS if p in asked]


def check_sets(parts: Iterable[str], sets: Sequence[str]) -> None:
    """Raise if a set belongs to none of the parts."""
    known = dict.fromkeys(name for part in parts if part in OF_SETS for name in OF_SETS[part]())
    for name in sets:
        if name not in known:
            told = ", ".join(known) or "none, which is all that these parts take"
            raise ValueError(f"sets must be any of {told}, got {name!r}")


def _table1(job: Job) -> None:
    names = job.chosen("table1", QUICK_SETS if job.quick else TABLE_1)
    if not names:
        return
    found, absent = available(names, lambda name: SETS[name].dataset)
    for name, reason in absent.items():
        job.tell(f"  {name} is left out: {reason}")
    keys = [key for name in found for key in density_keys(name, range(job.n_splits), job.length)]
    extra = () if job.quick else tuple(name for name in EVIDENCE if name in found)
    keys += [key for name in extra for key in evidence_keys(name)]
    job.folder.write_table1(job.done(keys), absent, job.length)


def _convergence(job: Job) -> None:
    names = job.chosen("convergence", QUICK_SETS if job.quick else TABLE_1)
    if not names:
        return
    found, absent = available(names, lambda name: SETS[name].dataset)
    lines = []
    for name in found:
        job.tell(f"  {name}")
        lines.append(convergence.judge(name, job.length))
    job.folder.write_convergence(lines, absent, job.length)


def _glass(job: Job) -> None:
    names = QUICK_TREES if job.quick else PURITY_SETS
    found, absent = available(names, lambda name: name)
    for name, reason in absent.items():
        job.tell(f"  {name} is left out: {reason}")
    keys = [key for name in found for key in purity_keys(name, job.length)]
    job.folder.write_purity(job.done(keys), absent, job.length)


def _clusters(job: Job) -> None:
    usual = cluster_names()
    if job.quick:
        usual = tuple(name for name in QUICK_CLUSTERS if name in usual)
    names = job.chosen("clusters", usual)
    if not names:
        return
    found, absent = available_sets(names)
    for name, reason in (left_out() | absent).items():
        job.tell(f"  {name} is left out: {reason}")
    if set(names) < set(usual):
        absent["every other set"] = "only these were asked for"
    keys = [key for name in found for key in cluster_keys(name, job.length)]
    comparison = Comparison(
        job.done(keys), [labelled(name) for name in found], stored_scores(found)
    )
    job.folder.write_clusters(comparison, left_out() | absent, job.length, job.length.n_seeds)


def _figure(part: str, job: Job) -> None:
    from sticktree_paper.figures import make

    try:
        made = make(part, quick=job.quick, n_jobs=job.n_jobs)
    except MissingDataError as reason:
        job.tell(f"  {part} is left out: {reason.hint}")
        return
    job.folder.write_figures(part, made, job.length)


def available(
    names: Iterable[str], dataset: Callable[[str], str]
) -> tuple[list[str], dict[str, str]]:
    """Return those whose data are here, and why the others are not."""
    found, absent = [], {}
    for name in names:
        try:
            load(dataset(name))
            found.append(name)
        except MissingDataError as reason:
            absent[name] = reason.hint
    return found, absent


MAKERS: dict[str, Callable[[Job], None]] = {
    "table1": _table1,
    "convergence": _convergence,
    "glass": _glass,
    "clusters": _clusters,
    **{part: partial(_figure, part) for part in PARTS if part.startswith("fig")},
}
OF_SETS: dict[str, Callable[[], Iterable[str]]] = {
    "table1": lambda: tuple(SETS),
    "convergence": lambda: tuple(SETS),
    "clusters": cluster_names,
}
"""Parts of which sets can be chosen, and those that they have."""
WORDS = {
    "table1": "test log density of every method on the same splits",
    "convergence": "whether chains agree, on one split of each set",
    "glass": "purity of trees, on Glass and others",
    "clusters": "clusters of public sets, by every program",
    "fig1": "recursive sticks",
    "fig2": "a diffusion",
    "fig3": "data, tree and density",
    "fig4": "the trees of a DDT and of a DFP",
}
