"""Runs as folders.

A run is a fit with its answers in plain files. ``run.json`` records how it was made: version,
parameters, seed, hash of the data, platform, times. It is written first, with the status "running",
and again as the very last file, with "finished".
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sticktree.cli import to_be_read
from sticktree.cli.provenance import made_by, versions_in
from sticktree.cli.record import RESULTS, read_record, write_record
from sticktree.cli.spreadsheets import (
    OF_GROUPS,
    clusters_table,
    heading,
    nodes_table,
    read_columns,
    write_groups,
)
from sticktree.files import as_it_was, atomically, csv_pieces, sweep, together, write_pieces
from sticktree.io.lock import FolderInUseError, if_gone, locked, owner_of

if TYPE_CHECKING:
    from sticktree.estimators.mixture import DFPMixture
    from sticktree.present.findings import Findings
    from sticktree.tree import Tree

RECORD, MODEL, CHECKPOINT, COURSE = "run.json", "model.sticktree", "checkpoint", "course.json"
NEWICK, JSON, NODES, CLUSTERS, MARKERS, RELEVANCE, SUMMARY = (
    "tree.nwk",
    "tree.json",
    "nodes.csv",
    "clusters.csv",
    "markers.csv",
    "relevance.csv",
    "summary.txt",
)
FILES = (RECORD, MODEL, NEWICK, JSON, NODES, CLUSTERS, MARKERS, RELEVANCE, SUMMARY)
"""All files of a run that is finished."""
LOADINGS = "loadings.csv"
"""A further one, of a run with factors."""


class UnfinishedError(ValueError):
    """A run that was stopped and can go on."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        """Return how it goes on."""
        return (
            f"the run {self.path} is not finished: go on with "
            f"sticktree fit -o {shlex.quote(str(self.path))} --resume"
        )


class RunFolder:
    """A folder with a run.

    Parameters
    ----------
    path : path
        The folder. It need not be there yet.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock: ExitStack | None = None  # what is undone when the folder is left
        self._locked = False
        self._made_by: list[dict[str, Any]] = []

    # ---- having it for oneself -------------------------------------------------------------------

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Raise if somebody else is writing here; have it for oneself from the first change on."""
        owner = owner_of(self.path)
        if owner is not None:
            raise FolderInUseError(self.path, owner)
        with ExitStack() as self._lock:
            yield
        self._lock, self._locked = None, False

    @contextmanager
    def blamed(self, *, going_on: bool) -> Iterator[None]:
        """Blame the record of a run that goes on if its options are none that could be given."""
        try:
            yield
        except (AttributeError, KeyError, TypeError) as error:
            if not going_on:
                raise
            path = self.path / RECORD
            raise ValueError(
                f"{path} is damaged, or from another version ({type(error).__name__}: {error})"
            ) from error

    def _take(self) -> None:
        if self._lock is not None and not self._locked:
            self._lock.enter_context(locked(self.path))
            self._locked = True
            sweep(self.path)  # what a run that was killed had not finished writing

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Open a run that is finished."""
        run = cls(path)
        with to_be_read():
            if not run.path.exists():
                raise ValueError(f"there is no run {run.path}")
            if run.path.name == RECORD:
                run = cls(run.path.parent)
            if not (run.path / RECORD).is_file():
                raise ValueError(f"{run.path} is not the folder of a run: it has no {RECORD}")
        if run.status == "running":
            owner = owner_of(run.path)
            if owner is not None:
                who = f"process {owner.get('pid')} on {owner.get('host')}"
                raise ValueError(
                    f"the run {run.path} is going on, in {who}: wait for its end"
                    f"{if_gone(run.path, owner)}"
                )
            raise UnfinishedError(run.path)
        return run

    # ---- what it holds --------------------------------------------------------------------------

    @cached_property
    def record(self) -> dict[str, Any]:
        """The content of ``run.json``."""
        with to_be_read():
            return read_record(self.path / RECORD)

    @property
    def status(self) -> str:
        """One of "none", "running" and "finished"."""
        return str(self.record["status"]) if (self.path / RECORD).exists() else "none"

    @property
    def checkpoint(self) -> Path:
        """Where a run that is not finished is saved."""
        return self.path / CHECKPOINT

    @cached_property
    def estimator(self) -> DFPMixture:
        """The fitted estimator."""
        from sticktree import load

        with to_be_read():
            estimator: DFPMixture = load(self.path / MODEL)
        return estimator

    @cached_property
    def clusters(self) -> dict[str, list[str]]:
        """The columns of ``clusters.csv``."""
        with to_be_read():
            return read_columns(self.path / CLUSTERS, self.record["data"]["rows"])

    def _column(self, name: str) -> list[str]:
        if name not in self.clusters:
            raise ValueError(f"{self.path / CLUSTERS} is damaged: it has no column {name!r}")
        return self.clusters[name]

    def _words(self, name: str) -> list[str]:
        """Return a column of text as it was given."""
        safe = self.record.get("safe_csv", False)
        return [as_it_was(word) for word in self._column(name)] if safe else self._column(name)

    @property
    def ids(self) -> list[str] | None:
        """Names of the rows, if a column gave them."""
        return self._words("id") if self.record["columns"]["id"] is not None else None

    @property
    def labels(self) -> list[str | None] | None:
        """The class of every row, None where it is missing, if a column gave them."""
        return next(iter(self.annotations.values()), None)

    @property
    def annotations(self) -> dict[str, list[str | None]]:
        """All columns that were given as labels, by their names; the first has the classes."""
        columns = self.record["columns"]
        names = columns.get("labels") or [name for name in [columns["label"]] if name is not None]
        return {
            name: [word or None for word in self._words(heading(k, name))]
            for k, name in enumerate(names)
        }

    @property
    def by_level(self) -> list[npt.NDArray[np.int64]]:
        """The clusters of least loss at levels 1 to the last."""
        found = []
        for k in range(1, self.record["result"]["levels"] + 1):
            try:
                found.append(np.array(self._column(f"level_{k}"), dtype=np.int64))
            except (ValueError, OverflowError) as error:
                raise ValueError(f"{self.path / CLUSTERS} is damaged: {error}") from None
        return found

    @property
    def tree(self) -> Tree:
        """The consensus tree, with the names of the rows if there are any."""
        from sticktree.present.findings import Findings

        return Findings(self.estimator.fit_, names=self.ids).tree

    @property
    def cluster_tree(self) -> Tree:
        """The tree whose cuts are clusters, with the same names."""
        tree, names = self.estimator.fit_.cluster_tree, self.tree.names
        return tree if names is None else tree.annotated(names=names)

    def tree_called(self, which: str) -> Tree:
        """Return one of the two: "consensus" or "clusters"."""
        return self.tree if which == "consensus" else self.cluster_tree

    # ---- writing --------------------------------------------------------------------------------

    def begin(self, record: Mapping[str, Any]) -> None:
        """Make the folder and write what is going to be run; remove what an older run left."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._take()
        if not self._made_by:
            self._made_by = self._versions(going_on=record.get("resumed", 0) > 0)
        # The record first: where it cannot be written, as on a full disk, the older run stays.
        self._write_record({**record, "status": "running"})
        for name in (*FILES[1:], LOADINGS, *OF_GROUPS):
            (self.path / name).unlink(missing_ok=True)

    def _versions(self, *, going_on: bool) -> list[Any]:
        """Return what the draws are made by, one version after the other."""
        if not going_on:
            return made_by([])
        return made_by(self.record.get("made_by") or [versions_in(self.record["environment"])])

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint, if there is one."""
        if not self.checkpoint.is_dir():
            return
        self._take()
        sweep(self.checkpoint)
        for path in self.checkpoint.glob("chain-*.npz"):
            path.unlink()
        for name in (RECORD, COURSE):
            (self.checkpoint / name).unlink(missing_ok=True)
        if self.checkpoint.is_dir() and not any(self.checkpoint.iterdir()):
            shutil.rmtree(self.checkpoint)

    def finish(
        self,
        estimator: DFPMixture,
        record: Mapping[str, Any],
        *,
        ids: Sequence[str] | None = None,
        labels: Mapping[str, Sequence[str | None]] | None = None,
    ) -> Findings:
        """Write all files, the record as the last, and return what was found."""
        from sticktree import save
        from sticktree.present.findings import Findings
        from sticktree.present.terminal import summary
        from sticktree.tree.formats import json_pieces
        from sticktree.tree.newick import newick_pieces

        self._take()
        if not self._made_by:  # a run that was finished gets more draws
            self._made_by = self._versions(going_on=True)
        safe = bool(record.get("safe_csv", True))
        labels = labels or {}
        classes = next(iter(labels.values()), None)
        found = Findings(estimator.fit_, names=ids, classes=classes)
        tree = found.tree
        files = list(FILES)
        # More draws are written over former files: all are replaced, or none.
        with together(self.path) as stage:
            save(estimator, stage / MODEL)
            write_pieces(stage / NEWICK, chain(newick_pieces(tree), "\n"))
            write_pieces(stage / JSON, json_pieces(tree))
            with atomically(stage / NODES) as path:
                nodes_table(tree, safe).to_csv(path, lineterminator="\n")
            table = clusters_table(estimator, found.by_level, ids, labels)
            write_pieces(stage / CLUSTERS, csv_pieces(table, safe))
            found.markers.to_csv(stage / MARKERS, safe=safe)
            found.relevance.to_csv(stage / RELEVANCE, safe=safe)
            if estimator.n_factors_:
                estimator.loadings_.to_csv(stage / LOADINGS, safe=safe)
                files.append(LOADINGS)
            write_pieces(stage / SUMMARY, [summary(found), "\n"])
            files += write_groups(stage, estimator, record["columns"].get("conditions"), safe)
        facts = found.result()
        result = {key: facts[key] for key in RESULTS}
        self._write_record({**record, "status": "finished", "result": result, "files": files})
        return found

    def _write_record(self, record: dict[str, Any]) -> None:
        write_record(self.path / RECORD, record | {"made_by": self._made_by})
        self.__dict__.pop("record", None)
