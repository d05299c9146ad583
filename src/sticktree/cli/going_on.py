"""Runs that go on: after a stop, after a quick look, or for more draws; and how runs end."""

from __future__ import annotations

import argparse
import shlex
import time
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sticktree.cli import StoppedError
from sticktree.cli.fit_options import OPTIONS, lasting
from sticktree.cli.runs import FILES, LOADINGS, RunFolder
from sticktree.cli.spreadsheets import OF_GROUPS
from sticktree.errors import ParameterError
from sticktree.inference.showing import saying, showing

if TYPE_CHECKING:
    from sticktree.estimators.mixture import DFPMixture
    from sticktree.present.findings import Findings


WHOLE = "whole"
"""What a record says of a run that was to be quick, and had time enough."""


def state(folder: RunFolder, options: argparse.Namespace) -> dict[str, Any] | None:
    """Check that the folder can serve; return the record of the run to go on with, if any."""
    path = folder.path
    if path.exists() and not path.is_dir():
        raise ValueError(f"--output {path} is a file: give a folder")
    status = "none"
    if not options.overwrite or options.resume:
        status = folder.status
    quick = status != "none" and folder.record.get("quick") is True
    if options.resume:
        if status == "none":
            raise ValueError(f"--resume: there is no run in {path}")
        if status == "finished" and not quick:
            raise ValueError(
                f"--resume: the run in {path} is finished; see sticktree summary {path}, or add "
                "to it with --more-draws"
            )
        return folder.record
    if status == "finished" and quick and not options.quick:
        return folder.record
    if status == "running":
        raise ValueError(
            f"--output {path} holds a run that was stopped: go on with --resume, start afresh with "
            "--overwrite, or choose another folder"
        )
    present = [name for name in (*FILES, LOADINGS, *OF_GROUPS) if (path / name).exists()]
    if present and not options.overwrite:
        what = "a run" if status == "finished" else ", ".join(present)
        raise ValueError(
            f"--output {path} already holds {what}: choose another folder or pass --overwrite"
        )
    return None


def had_time_enough(folder: RunFolder, options: argparse.Namespace) -> bool:
    """Return whether a quick look at the same file was all that there is to do, and say so."""
    if options.overwrite or options.resume or options.quick or folder.status != "finished":
        return False
    record = folder.record
    same = options.data in (None, record["data"]["path"])
    if record.get("quick") != WHOLE or not same:
        return False
    as_before(lasting(options), record)
    print(
        f"{folder.path}: the quick look had time for the whole run; --more-draws adds to it, and "
        "--overwrite starts afresh"
    )
    return True


def as_before(given: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the run that goes on; refuse others."""
    kept: dict[str, Any] = dict(before["options"])
    if isinstance(kept.get("label"), str):  # of a run that was begun when there was one only
        kept["label"] = [kept["label"]]
    for name, value in given.items():
        if kept.get(name) != value:
            was = f"was {kept[name]}" if name in kept else "was not given"
            flag = OPTIONS[name].flag if name in OPTIONS else f"--{name}"
            raise ValueError(
                f"{flag} {was} when the run was started, and stays so when it goes on: leave it "
                "out, or start afresh with --overwrite"
            )
    return dict(kept)


def go_on(folder: RunFolder, options: argparse.Namespace) -> None:
    """Add draws to a run that is finished."""
    began = time.monotonic()
    more = options.more_draws
    if more < 1:
        raise ParameterError("--more-draws", more, "an integer of at least 1")
    others = ("data", "quick", "plan", "scheduler", "max-time")
    given = [name for name in others if getattr(options, name)] + list(lasting(options))
    for name in given:
        flag = OPTIONS[name].flag if name in OPTIONS else f"--{name}"
        flag = "the file" if name == "data" else flag
        raise ValueError(f"--more-draws goes on with a run as it is: leave out {flag}")
    folder = RunFolder.open(folder.path)
    record = folder.record
    show = not options.quiet
    with showing(show):
        with saying(f"reading {folder.path}", show):
            estimator = folder.estimator
        ids, labels = folder.ids, folder.annotations
        n_jobs = estimator.n_jobs
        estimator.set_params(progress=show, n_jobs=options.jobs or n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the summary has it
            estimator.more_draws(more)
        estimator.set_params(n_jobs=n_jobs)
        whole = estimator.fit_.sampled.finished
        record["seconds"] = round(record["seconds"] + time.monotonic() - began, 2)
        record.setdefault("more_draws", []).append(more)
        with saying("writing files", show):
            found = finished(folder, estimator, record, ids=ids, labels=labels)
    if not options.quiet:
        tell(folder, found, record["seed"], time.monotonic() - began)
    if not whole:
        raise StoppedError(
            f"stopped before all {more} draws were made; those that were are kept, and "
            "--more-draws adds others"
        )


# ---- after --------------------------------------------------------------------------------------


def finished(
    folder: RunFolder,
    estimator: DFPMixture,
    record: dict[str, Any],
    *,
    ids: list[str] | None,
    labels: Mapping[str, list[str | None]],
) -> Findings:
    """Write a run that is finished, and return what was found."""
    # Neither belongs to the model: where it was saved meanwhile, and how it was watched.
    estimator.set_params(checkpoint=None, progress=None)
    hidden = ("checkpoint", "progress", "warm_start", "columns")
    parameters = estimator.get_params()
    record["parameters"] = {k: parameters[k] for k in sorted(parameters) if k not in hidden}
    record["finished"] = now()
    return folder.finish(estimator, record, ids=ids, labels=labels)


def tell(
    folder: RunFolder, found: Findings, seed: int, seconds: float, *, quick: bool = False
) -> None:
    """Print what was found and what comes next."""
    from sticktree.present.terminal import head

    name = shlex.quote(str(folder.path))
    print(head(found))
    files = ", ".join(folder.record["files"])
    print(f"wrote {files} to {folder.path} in {seconds:.1f} s, seed {seed}")
    print(f"\nnext:\n  sticktree summary {name}")
    print(f"  sticktree report {name} -o report.html")
    if found.verdict.agreement == "disagree" and not quick:
        print(f"  sticktree fit -o {name} --more-draws 1000   as the chains disagree")
    if quick:
        print("\nthis was a first look: the same command without --quick goes on from here")


def now() -> str:
    """Return the time in the form that records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
