"""``sticktree fit``: from a file to a run folder."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sticktree.cli import Command, StoppedError, to_be_read
from sticktree.cli.fit_options import (
    LASTING,
    PASSING,
    add_options,
    estimator_of,
    lasting,
    parameters_of,
)
from sticktree.cli.going_on import (
    WHOLE,
    as_before,
    finished,
    go_on,
    had_time_enough,
    now,
    state,
    tell,
)
from sticktree.cli.large import LargeFile
from sticktree.cli.options import add_safe_csv, seed_of
from sticktree.cli.provenance import environment
from sticktree.cli.reading import naming_options
from sticktree.cli.runs import RunFolder
from sticktree.cli.table import (
    Rows,
    described,
    given_table,
    in_roles,
    left_out,
    preferences,
    with_kinds,
)
from sticktree.inference.showing import saying, showing

if TYPE_CHECKING:
    from sticktree.data.sources.file_table import FileTable
    from sticktree.estimators.mixture import DFPMixture

LONG_BYTES = 1_000_000  # of a file that takes a second to read
QUICK_SECONDS = 10.0

FIT_EPILOG = """\
The folder gets plain files:
  clusters.csv     every row: its cluster, how certain that is, and the one of least loss at each
                   level of the tree
  markers.csv      what makes each cluster: every column of it against all other rows
  relevance.csv    which columns carry the clusters: the share of their variance between these
  loadings.csv     what the factors are made of, where columns are so many that there are some
  tree.nwk         the tree for programs that read Newick; tree.json and nodes.csv have it as well
  summary.txt      what was found, in words
  model.sticktree  the fitted model, for the other commands and sticktree.load
  run.json         how it was made: version, parameters, seed, hash of the data, platform, times
  composition.csv  with --group or --time: the share of every branch in each group, with intervals
  contrasts.csv    with --condition, --parent or --time: by how much shares differ, for every
                   branch

Numbers in a Parquet file, an npy file or an array of zarr that would take more than 256 MB of
memory are read in chunks, unless --algorithm gibbs is asked for, which needs all rows in memory.

A run that is stopped, by Ctrl-C or by a crash, goes on with --resume to the draws that it would
have made; its options need not be given again. One that was made with --quick goes on with the same
command without it, and a finished one with --more-draws.

examples:
  every column is data:
    sticktree fit data.csv -o run
  classes known from elsewhere, names of rows, a column to leave out:
    sticktree fit flowers.csv --label species --id plant --drop collector -o flowers
  counts and categories, ? where a value is missing:
    sticktree fit visits.csv --kinds visits=poisson,ward=categorical --missing '?' -o visits
  some columns by position, the same draws every time, quicker than by default:
    sticktree fit data.csv --columns 0-1 --seed 1 --covariance full --draws 200 -o quick
  which clusters grew? cells of patients, treated or not:
    sticktree fit cells.csv --group patient --condition treated -o cells
  days after days, each like the one before:
    sticktree fit events.csv --time day -o events
  more rows than fit into memory:
    sticktree fit big.parquet --algorithm parallel -o big
  far more columns than rows, with five factors:
    sticktree fit genes.csv --id sample --factors 5 -o genes
  on a cluster:
    sticktree fit /shared/big.parquet --scheduler tcp://host:8786 -o big
  go on after Ctrl-C:
    sticktree fit -o run --resume
  a first look, then the whole:
    sticktree fit data.csv -o run --quick
    sticktree fit data.csv -o run
  more draws of a run that is finished:
    sticktree fit -o run --more-draws 1000
  see what the columns of a spreadsheet would be, and change that:
    sticktree fit survey.xlsx --sheet 2021 --plan
    sticktree fit survey.xlsx --sheet 2021 --kinds visits=poisson,when=days,notes=drop -o run
"""


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "data",
        nargs="?",
        help="CSV, TSV, a spreadsheet (xlsx, ods), Parquet, Feather or npy, also .gz or .zip; a "
        "folder of Parquet files or an array of zarr; - is standard input",
    )
    parser.add_argument(
        "-o", "--output", default="run", metavar="FOLDER", help="where the files go [run]"
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="continue a run that was stopped")
    again.add_argument("--overwrite", action="store_true", help="replace a run that exists")
    again.add_argument(
        "--more-draws",
        type=int,
        metavar="N",
        help="let the chains of a finished run go on, for N more draws each",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"a first look: sample for {QUICK_SECONDS:g} s at most; the same command without it "
        "goes on from there",
    )
    parser.add_argument(
        "--keep-checkpoint",
        action="store_true",
        help="keep the checkpoint when the run is finished",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but warnings")
    add_safe_csv(parser, "yes")
    add_options(parser)


def run_fit(options: argparse.Namespace) -> None:
    """Fit and write."""
    folder = RunFolder(options.output)
    with folder.alone(), folder.blamed(going_on=options.resume):
        _run(options, folder)


def _run(options: argparse.Namespace, folder: RunFolder) -> None:
    began = time.monotonic()
    if options.more_draws is not None:
        go_on(folder, options)
        return
    if not options.plan and had_time_enough(folder, options):
        return
    before = None if options.plan else state(folder, options)
    chosen = lasting(options)
    if before is not None:
        chosen = as_before(chosen, before)
        options.data = options.data or before["data"]["path"]
    if options.data is None:
        raise ValueError("give a file to fit, such as: sticktree fit data.csv -o run")
    chosen["seed"] = seed_of(argparse.Namespace(seed=chosen.get("seed")))
    for name in PASSING:
        if getattr(options, name) is not None:
            chosen[name] = getattr(options, name)
    if options.quick:
        chosen.setdefault("max-time", QUICK_SECONDS)
    parameters_of(chosen)  # what is wrong with them is said before the file is read
    if not options.quiet and _takes_long(options.data):
        print(f"reading {options.data}", file=sys.stderr, flush=True)
    table = given_table(options.data, chosen, shared=options.scheduler is not None)
    if before is not None and table.source["sha256"] != before["data"]["sha256"]:
        raise ValueError(
            f"{options.data} is not the file that the run in {folder.path} was started with: its "
            "content differs"
        )
    rows = in_roles(table, chosen)
    if options.plan:
        print(f"{len(table):,} rows\n{described(rows.plan, chosen)}")
        return
    _tell_before(table, rows, chosen, options)
    if isinstance(table, LargeFile):
        known = None
    else:
        known = before["columns"].get("preferred") if before is not None else None
        rows = with_kinds(table, rows, chosen, known, show=not options.quiet)
    if rows.preferred and not options.quiet:
        print(preferences(rows), file=sys.stderr, flush=True)
    record = _record(options, chosen, table, rows)
    if before is not None:
        kept = ("started", "seconds", "command", "environment")
        record |= {key: before[key] for key in kept}
        record["resumed"] = before["resumed"] + 1
    folder.begin(record)
    if before is None:
        folder.discard_checkpoint()  # of another run, which this one must not go on from
    show = not options.quiet
    with showing(show) as line:  # the same for all that follows
        line.say("loading the sampler")
        # Loading scikit-learn takes a second or two: by now there is something to read.
        before_this = record["seconds"]
        try:
            with _terminated_is_interrupted():
                estimator = estimator_of(
                    chosen,
                    random_state=chosen["seed"],
                    checkpoint=folder.checkpoint,
                    progress=show,
                )
                _fit(estimator, rows, options)
                record["seconds"] = round(before_this + time.monotonic() - began, 2)
                to_refine = options.quick and estimator.course_.out_of_time
                record["quick"] = WHOLE if options.quick and not to_refine else to_refine
                with saying("writing files", show):
                    found = finished(folder, estimator, record, ids=rows.ids, labels=rows.labels)
        except (KeyboardInterrupt, StoppedError) as error:
            record["seconds"] = round(before_this + time.monotonic() - began, 2)
            record["quick"] = bool(options.quick)
            folder.begin(record)
            if isinstance(error, StoppedError):
                raise
            raise StoppedError(f"stopped; go on with: {_resuming(options)}") from None
    if not options.keep_checkpoint and not to_refine:
        folder.discard_checkpoint()
    if options.quiet and found.verdict.agreement == "disagree":
        print(f"warning: {found.verdict.text}", file=sys.stderr)
    if not options.quiet:
        tell(folder, found, record["seed"], time.monotonic() - began, quick=to_refine)


def _tell_before(
    table: FileTable | LargeFile, rows: Rows, chosen: dict[str, Any], options: argparse.Namespace
) -> None:
    """Print what is going to be fitted; even the quiet are told of columns that are not."""
    if options.quiet:
        note = left_out(rows.plan)
        if note:
            print(f"note: {note}", file=sys.stderr)
        return
    how = ", read in chunks" if isinstance(table, LargeFile) else ""
    how = f" on {options.scheduler}" if options.scheduler is not None else how
    print(f"fitting {len(table):,} rows{how}, seed {chosen['seed']}", file=sys.stderr)
    print(described(rows.plan, chosen), file=sys.stderr, flush=True)


# ---- before ------------------------------------------------------------------------------------


@to_be_read()
def _takes_long(data: str) -> bool:
    """Return whether it takes a noticeable time to read a file."""
    path = Path(data)
    return path.is_dir() or (path.is_file() and path.stat().st_size > LONG_BYTES)


def _record(
    options: argparse.Namespace,
    chosen: dict[str, Any],
    table: FileTable | LargeFile,
    rows: Rows,
) -> dict[str, Any]:
    """Return all that is needed to run it again."""
    return {
        "command": shlex.join(["sticktree", *options.argv]),
        "started": now(),
        "resumed": 0,
        "quick": bool(options.quick),
        "seconds": 0.0,
        "options": {name: chosen[name] for name in LASTING if name in chosen},
        "seed": chosen["seed"],
        "data": {
            **table.source,
            "decimals": [] if isinstance(table, LargeFile) else sorted(table.decimals),
            "path": options.data,
            "rows": len(table),
            "missing_cells": rows.missing_cells,
        },
        "columns": rows.record(),
        "environment": environment(),
        "safe_csv": options.safe_csv is not False,
    }


# ---- the fit -----------------------------------------------------------------------------------


def _fit(estimator: DFPMixture, rows: Rows, options: argparse.Namespace) -> None:
    if options.scheduler is None:
        _sample(estimator, rows)
        return
    from sticktree.data.sources.dask.lazy import connected, dask_table
    from sticktree.data.sources.dask.session import ClusterLostError

    try:
        with naming_options(), connected(options.scheduler):
            _sample(estimator, replace(rows, table=dask_table(options.data, rows.table.names)))
    except ClusterLostError as error:
        raise StoppedError(
            f"{error.what}; go on with: {_resuming(options)} --scheduler and the address of a "
            "scheduler",
            code=1,
        ) from None


def _resuming(options: argparse.Namespace) -> str:
    return f"sticktree fit -o {shlex.quote(options.output)} --resume"


def _sample(estimator: DFPMixture, rows: Rows) -> None:
    from sticktree.io.checkpoint import ProvenanceWarning
    from sticktree.posterior.draws import ConvergenceWarning

    estimator.set_params(columns=rows.plan.declared or None)
    with warnings.catch_warnings(), naming_options():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the summary has it
        warnings.simplefilter("ignore", ProvenanceWarning)  # it was said when the run went on
        kin = {"groups": rows.groups, "parents": rows.parents, "times": rows.times}
        estimator.fit(rows.table, sample_weight=rows.weights, **kin)
    if not estimator.fit_.sampled.finished:
        raise KeyboardInterrupt  # the draws are saved, and the run goes on later


@contextmanager
def _terminated_is_interrupted() -> Iterator[None]:
    """Treat a request to end (SIGTERM), as batch systems send it, like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


FIT = Command(
    "Learn a tree of clusters from a table in a file, and write all answers to a folder.",
    add_fit,
    run_fit,
    FIT_EPILOG,
)
