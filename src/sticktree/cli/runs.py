"""Runs as folders, and what commands share: the run they are about, where output goes, the seed.

A run is a fit with its answers in plain files. ``run.json`` records how it was made: version,
parameters, seed, hash of the data, platform, times. It is written first, with the status "running",
and again as the very last file, with "finished".
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import platform
import secrets
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import check_integer
from sticktree.files import (
    as_it_was,
    atomically,
    csv_pieces,
    shown_as_text,
    sweep,
    write_pieces,
)
from sticktree.io.lock import FolderInUseError, locked, owner_of
from sticktree.version import __version__

if TYPE_CHECKING:
    from sticktree.estimators.mixture import DFPMixture
    from sticktree.present.findings import Findings
    from sticktree.tree import Tree

FORMAT, VERSION = "sticktree.run", 1
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
COMPOSITION, CONTRASTS = "composition.csv", "contrasts.csv"
OF_GROUPS = (COMPOSITION, CONTRASTS)
"""Files of a run whose rows belong to groups, or to groups in conditions."""
LOADINGS = "loadings.csv"
"""A further one, of a run with factors."""
RESULTS = (
    "model",
    "level",
    "levels",
    "strays",
    "clusters_per_level",
    "groups",
    "agree",
    "convergence",
    "verdict",
    "r_hat",
    "ess",
    "sampling",
)
"""What the record has of the summary."""
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas")
DRAWS_DEPEND_ON = ("sticktree", "numpy", "numba")
NUMBER = (int, float)
PARTS: dict[str, Any] = {
    "status": str,
    "command": str,
    "started": str,
    "resumed": int,
    "seconds": NUMBER,
    "options": dict,
    "data": dict,
    "data.path": str,
    "data.sha256": str,
    "data.rows": int,
    "columns": dict,
    "columns.fitted": dict,
    "columns.id": (str, type(None)),
    "columns.label": (str, type(None)),
    "environment": dict,
}
"""What a record has, and of what type; a dot leads to what is inside."""
PARTS_OF_RESULT = {"result": dict, "result.levels": int}
"""What it has besides when a run is finished."""


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
                raise ValueError(f"the run {run.path} is going on, in {who}: wait for its end")
            raise UnfinishedError(run.path)
        return run

    # ---- what it holds --------------------------------------------------------------------------

    @cached_property
    def record(self) -> dict[str, Any]:
        """The content of ``run.json``."""
        path = self.path / RECORD
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise ValueError(f"{path} is damaged or not from sticktree fit")
        if record.get("version") != VERSION:
            raise ValueError(
                f"{path} has format version {record.get('version')!r}; this sticktree reads "
                f"{VERSION}"
            )
        parts = PARTS | (PARTS_OF_RESULT if record.get("status") != "running" else {})
        for name, kind in parts.items():
            found: Any = record
            for key in name.split("."):
                found = found.get(key, ...) if isinstance(found, dict) else ...
            if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
                problem = f"lacks {name}" if found is ... else f"has {found!r} as {name}"
                raise ValueError(f"{path} is damaged: it {problem[:200]}")
        return record

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

        estimator: DFPMixture = load(self.path / MODEL)
        return estimator

    @cached_property
    def clusters(self) -> dict[str, list[str]]:
        """The columns of ``clusters.csv``."""
        path, before = self.path / CLUSTERS, csv.field_size_limit(sys.maxsize)  # names may be long
        try:
            with path.open(newline="", encoding="utf-8") as file:
                names, *rows = list(csv.reader(file)) or [[]]
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        finally:
            csv.field_size_limit(before)
        for number, row in enumerate(rows):
            if len(row) != len(names):
                expected = f"{len(row)} cells of {len(names)}"
                raise ValueError(f"{path} is damaged: row {number} has {expected}")
        if len(rows) != self.record["data"]["rows"]:
            expected = f"{len(rows)} rows of {self.record['data']['rows']}"
            raise ValueError(f"{path} is damaged: it has {expected}")
        return {name: [row[k] for row in rows] for k, name in enumerate(names)}

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
            name: [word or None for word in self._words(_heading(k, name))]
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
        for name in (*FILES[1:], LOADINGS, *OF_GROUPS):
            (self.path / name).unlink(missing_ok=True)
        self._write_record({**record, "status": "running"})

    def _versions(self, *, going_on: bool) -> list[dict[str, Any]]:
        """Return what the draws are made by, one version after the other; warn of several."""
        now = versions_in(environment())
        if not going_on:
            return [now]
        before = self.record.get("made_by") or [versions_in(self.record["environment"])]
        if before[-1] == now:
            return list(before)
        was, new = (", ".join(f"{k} {v}" for k, v in part.items()) for part in (before[-1], now))
        print(
            f"warning: the run was made by {was} and goes on with {new}: its draws will not be "
            "those of one version",
            file=sys.stderr,
        )
        return [*before, now]

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
        save(estimator, self.path / MODEL)
        write_pieces(self.path / NEWICK, chain(newick_pieces(tree), "\n"))
        write_pieces(self.path / JSON, json_pieces(tree))
        with atomically(self.path / NODES) as path:
            nodes_table(tree, safe).to_csv(path, lineterminator="\n")
        table = clusters_table(estimator, found.by_level, ids, labels)
        write_pieces(self.path / CLUSTERS, csv_pieces(table, safe))
        found.markers.to_csv(self.path / MARKERS, safe=safe)
        found.relevance.to_csv(self.path / RELEVANCE, safe=safe)
        files = list(FILES)
        if estimator.n_factors_:
            estimator.loadings_.to_csv(self.path / LOADINGS, safe=safe)
            files.append(LOADINGS)
        self._write(SUMMARY, summary(found) + "\n")
        files += self._write_groups(estimator, record["columns"].get("conditions"), safe)
        facts = found.result()
        result = {key: facts[key] for key in RESULTS}
        self._write_record({**record, "status": "finished", "result": result, "files": files})
        return found

    def _write_groups(
        self, estimator: DFPMixture, conditions: Mapping[str, str] | None, safe: bool
    ) -> list[str]:
        """Write what is known of groups and conditions; return the names of the files."""
        if estimator.fit_.training.groups is None:
            return []
        estimator.composition_.to_csv(self.path / COMPOSITION, safe=safe)
        if conditions is None:
            return [COMPOSITION]
        from sticktree.posterior.composition import write_lines

        lines = []
        sides = sorted(set(conditions.values()))
        for k, a in enumerate(sides[1:], start=1):
            for b in sides[:k]:
                for within in (None, "parent"):
                    found = estimator.compare(a, b, conditions=conditions, within=within)
                    shared = {"a": a, "b": b, "within": within or "all"}
                    lines += [shared | line for line in found.table]
        write_lines(self.path / CONTRASTS, lines, safe)
        return [COMPOSITION, CONTRASTS]

    def _write_record(self, record: dict[str, Any]) -> None:
        head = {"format": FORMAT, "version": VERSION, "safe_csv": True}
        text = json.dumps(plain(head | record | {"made_by": self._made_by}), indent=1)
        self._write(RECORD, text + "\n")
        self.__dict__.pop("record", None)

    def _write(self, name: str, text: str) -> None:
        write_pieces(self.path / name, [text])


def clusters_table(
    estimator: DFPMixture,
    by_level: Sequence[Any],
    ids: Sequence[str] | None = None,
    labels: Mapping[str, Sequence[str | None]] | None = None,
) -> dict[str, Sequence[Any]]:
    """Return a table of the rows: their clusters at every level, and how sure they are.

    The first of ``labels`` is the column ``label``, further ones have their name behind a colon.
    """
    columns: dict[str, Sequence[Any]] = {"row": range(len(estimator.labels_))}
    if ids is not None:
        columns["id"] = ids
    columns |= label_columns(labels or {})
    columns["cluster"] = estimator.labels_.tolist()
    columns["confidence"] = [f"{value:.4f}" for value in estimator.confidence_]
    for level, flat in enumerate(by_level, start=1):
        columns[f"level_{level}"] = flat.tolist()
    return columns


def nodes_table(tree: Tree, safe: bool) -> Any:
    """Return the nodes of a tree as a data frame, for spreadsheets if ``safe``."""
    frame = tree.to_frame()
    if safe and "name" in frame:
        frame["name"] = list(map(shown_as_text, frame["name"]))
    return frame


def versions_in(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the versions that draws depend on, as a record has them."""
    packages = environment.get("packages")
    found = {"sticktree": environment.get("sticktree")}
    found |= packages if isinstance(packages, dict) else {}
    return {name: found.get(name) for name in DRAWS_DEPEND_ON}


def label_columns(labels: Mapping[str, Sequence[str | None]]) -> dict[str, list[str]]:
    """Return labels as columns of a table of rows."""
    return {
        _heading(k, name): ["" if word is None else word for word in words]
        for k, (name, words) in enumerate(labels.items())
    }


def _heading(k: int, name: str) -> str:
    """Return what the k-th label is called in the table of rows."""
    return "label" if k == 0 else f"label:{name}"


def plain(value: Any) -> Any:
    """Return a value as JSON has it; numbers that JSON lacks, such as infinity, become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def environment() -> dict[str, Any]:
    """Return what runs were made with: this version, the platform and the packages."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "sticktree": __version__,
        "platform": {
            "system": f"{platform.system()} {platform.release()}",
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "packages": packages,
    }


# ---- what commands share -----------------------------------------------------------------------


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a run."""
    parser.add_argument("folder", metavar="run", help="the folder that sticktree fit wrote")


def add_output(parser: argparse.ArgumentParser, default: str = "the screen") -> None:
    """Add ``-o`` and ``--overwrite``."""
    parser.add_argument("-o", "--output", metavar="FILE", help=f"the file to write [{default}]")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")


def add_safe_csv(parser: argparse.ArgumentParser, usual: str = "files, not the screen") -> None:
    """Add ``--safe-csv``."""
    parser.add_argument(
        "--safe-csv",
        action=argparse.BooleanOptionalAction,
        help="put an apostrophe before text that a spreadsheet would compute, such as =1+1; "
        f"numbers stay as they are [{usual}]",
    )


def is_safe(options: argparse.Namespace, path: Path | None) -> bool:
    """Return whether a table is written for spreadsheets: as asked for, or if it is a file."""
    return path is not None if options.safe_csv is None else bool(options.safe_csv)


def check_file(output: str | None, *, overwrite: bool) -> Path | None:
    """Return the path to write to, or None for the screen; raise if it cannot be written."""
    if output is None or output == "-":
        return None
    path = Path(output)
    if path.is_dir():
        raise ValueError(f"--output {path} is a folder: give a file")
    if path.exists() and not overwrite:
        raise ValueError(f"--output {path} exists: choose another name or pass --overwrite")
    if not path.parent.is_dir():
        raise ValueError(f"--output {path}: there is no folder {path.parent}")
    return path


def write_text(text: str | Iterable[str], path: Path | None) -> None:
    """Print a text, whole or in pieces, or write it to a file and print its name."""
    pieces = [text] if isinstance(text, str) else text
    if path is None:
        sys.stdout.writelines(pieces)
        return
    write_pieces(path, pieces)
    print(f"wrote {path}")


def json_text(record: Any) -> str:
    """Return a record as JSON."""
    return json.dumps(plain(record), indent=1, ensure_ascii=False) + "\n"


def output_folder(folder: Path, names: list[str], *, overwrite: bool) -> Path:
    """Make the folder; raise if it holds files that may not be overwritten."""
    present = [name for name in names if (folder / name).exists()]
    if present and not overwrite:
        raise ValueError(
            f"--output {folder} already holds {', '.join(present)}: choose another folder or "
            "pass --overwrite"
        )
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--output {folder} is a file: give a folder")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def add_tree(parser: argparse.ArgumentParser) -> None:
    """Add ``--tree``."""
    parser.add_argument(
        "--tree",
        choices=("consensus", "clusters"),
        default="consensus",
        help="the consensus of the draws' trees, or the tree whose cuts are clusters [consensus]",
    )


def add_seed(parser: argparse.ArgumentParser, default: int | None) -> None:
    """Add ``--seed``; without a default a fresh one is drawn and printed."""
    usual = "a fresh one, which is printed" if default is None else str(default)
    parser.add_argument(
        "--seed", type=int, default=default, help=f"the same seed gives the same output [{usual}]"
    )


def seed_of(options: argparse.Namespace) -> int:
    """Return the seed asked for, or a fresh one."""
    if options.seed is None:
        return secrets.randbits(32)
    return check_integer("--seed", options.seed, minimum=0)


def provenance(command: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what it takes to make the same output again."""
    return {
        "sticktree": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "command": command,
        "parameters": parameters,
    }
