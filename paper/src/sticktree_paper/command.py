"""``sticktree reproduce``: the paper's tables and figures, with every peer beside them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from sticktree.cli import Command, StoppedError

REPRODUCE_EPILOG = """\
parts:
    table1       test log density of every method, on the same ten splits of each set
    convergence  whether the chains of table1 agree, on one split of each set
    glass        purity of trees on Glass, R15, Aggregation and a synthetic set
    clusters     clusters of public sets, by every program, k given and k free
    fig1, fig2   recursive sticks; a diffusion
    fig3         data, tree and density, on Aggregation and R15
    fig4         the trees of a Dirichlet diffusion tree and of a DFP on the same data
    all          all of these [default]; about two hours on two cores

The page is index.md in the folder, beside CSV files, figures and provenance.json. Each fit is kept
as soon as it is done: the same command goes on where it was interrupted, and does nothing twice.

Data sets are looked for in --data, then in the cache, then downloaded; those that are nowhere are
left out, and the page says which. The sets of clusters are files such as wut-x1.csv in that folder,
or in a folder "suite" in it or beside it.

examples:
    sticktree reproduce --quick
    sticktree reproduce table1 --sets glass-dequantised iris --splits 3
    sticktree reproduce clusters --sets wut-x1 iris --seeds 1
    sticktree reproduce all -o results --jobs 4
"""


def add_reproduce(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("parts", nargs="*", metavar="PART", help="what to make, see below [all]")
    parser.add_argument(
        "-o", "--output", default="paper", metavar="FOLDER", help="where everything goes [paper]"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a minute's run, only to see that everything works"
    )
    parser.add_argument(
        "--sets",
        nargs="+",
        metavar="SET",
        help="sets of table1 [the paper's] and of clusters [all that are here]",
    )
    parser.add_argument("--splits", type=int, metavar="N", help="splits of table1 [10]")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds of glass and clusters [3]")
    parser.add_argument("--data", metavar="FOLDER", help="where data sets are [$STICKTREE_DATA]")
    parser.add_argument("--jobs", type=int, metavar="N", help="fits at a time [all cores]")
    parser.add_argument("--fresh", action="store_true", help="use no results of earlier runs")


def run_reproduce(options: argparse.Namespace) -> None:
    """Make what is asked for."""
    if options.data is not None:
        if not Path(options.data).is_dir():
            raise ValueError(f"--data must be a folder, got {options.data}")
        os.environ["STICKTREE_DATA"] = options.data  # so that workers know it too
    from sticktree.plotting.base import pyplot

    pyplot().switch_backend("agg")  # files only: no window system needed
    from sticktree_paper import reproduce

    try:
        page = reproduce(
            options.parts,
            options.output,
            quick=options.quick,
            sets=options.sets,
            n_splits=options.splits,
            n_seeds=options.seeds,
            n_jobs=options.jobs,
            fresh=options.fresh,
        )
    except KeyboardInterrupt:
        raise StoppedError("interrupted; what is done is kept, the same command goes on") from None
    print(f"wrote {page}")


REPRODUCE = Command(
    "Make the tables and figures of the paper anew, and measure every peer on the same splits.",
    add_reproduce,
    run_reproduce,
    REPRODUCE_EPILOG,
)
