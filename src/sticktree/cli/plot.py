"""``sticktree plot``: pictures of a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sticktree.cli.run_argument import add_run, check_file, open_run
from sticktree.data.sources.names import pick_column, split_list
from sticktree.files import atomically

if TYPE_CHECKING:
    from sticktree.cli.run_folder import RunFolder

__all__ = ["add_to"]

KINDS = {
    "dendrogram": "the tree, with supports, and the labels if there are any",
    "icicle": "the tree as nested areas",
    "heatmap": "the rows in the order of the tree",
    "coclustering": "how often each two rows are together",
    "traces": "the chains: what each scalar did",
    "levels": "how many branches there are at each level",
    "scatter": "the rows along two columns, or two principal axes",
    "density": "rows, tree and density; for one or two columns",
}
DISPLAYS = {
    "dendrogram": "DendrogramDisplay",
    "icicle": "IcicleDisplay",
    "heatmap": "HeatmapDisplay",
    "coclustering": "CoclusteringDisplay",
    "traces": "TracesDisplay",
    "levels": "LeavesPerLevelDisplay",
    "scatter": "ScatterDisplay",
}
EPILOG = "kinds:\n" + "".join(f"  {kind:<13} {words}\n" for kind, words in KINDS.items())
EPILOG += """\
  all           each of them that can be drawn, into a folder

examples:
    sticktree plot run
    sticktree plot run --kind heatmap -o heatmap.pdf
    sticktree plot run --kind density --columns 0,1
    sticktree plot run --kind all -o figures
"""
SUFFIXES = (".png", ".pdf", ".svg")


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "plot",
        help="pictures of the tree, the rows and the chains",
        description="Draw a run.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, command="plot", parser=parser)
    add_run(parser)
    parser.add_argument(
        "--kind", choices=[*KINDS, "all"], default="dendrogram", help="what to draw [dendrogram]"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="a file that ends in .png, .pdf or .svg; a folder for --kind all [in the run]",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")
    parser.add_argument(
        "--columns", type=split_list, metavar="A,B", help="one or two columns, for the density"
    )
    parser.add_argument("--dpi", type=int, default=160, help="dots per inch of a .png [160]")


def run(options: argparse.Namespace) -> None:
    """Draw and write."""
    if not 10 <= options.dpi <= 2400:
        raise ValueError(f"--dpi must be an integer from 10 to 2400, got {options.dpi}")
    folder = open_run(options)
    columns = _columns(folder, options)
    if options.kind == "all":
        kinds = [kind for kind in KINDS if kind != "density" or columns]
        target = Path(options.output or folder.path / "figures")
        if target.exists() and not target.is_dir():
            raise ValueError(f"--output {target} is a file: for --kind all give a folder")
        files = [target / f"{kind}.png" for kind in kinds]
        for file in filter(Path.exists, files):
            check_file(str(file), overwrite=options.overwrite)
        target.mkdir(parents=True, exist_ok=True)
    else:
        kinds = [options.kind]
        files = [Path(options.output or folder.path / f"{options.kind}.png")]
        if files[0].suffix.lower() not in SUFFIXES:
            raise ValueError(f"--output must end in {', '.join(SUFFIXES)}, got {files[0]}")
        check_file(str(files[0]), overwrite=options.overwrite)

    from sticktree.plotting.style import pyplot

    plt = pyplot()
    plt.switch_backend("agg")  # files only: no window system needed
    for kind, file in zip(kinds, files, strict=True):
        figure = _figure(kind, folder, columns)
        with atomically(file) as path:
            figure.savefig(path, dpi=options.dpi)
        plt.close(figure)
        print(f"wrote {file}")


def _columns(folder: RunFolder, options: argparse.Namespace) -> list[str] | None:
    """Return the one or two columns whose density can be drawn, or None."""
    kinds = folder.record["columns"]["fitted"]
    fitted = list(kinds)
    if options.columns is not None:
        if options.kind not in ("density", "all"):
            raise ValueError(f"--columns is for --kind density, not {options.kind}")
        try:
            fitted = [pick_column(fitted, name) for name in options.columns]
        except ValueError as error:
            raise ValueError(f"--columns: {error}") from None
    others = [name for name in fitted if kinds[name] not in ("gaussian", "lognormal")]
    if len(set(fitted)) in (1, 2) and not others:
        return fitted
    if options.kind == "density":
        got = f"{others[0]!r}, which is {kinds[others[0]]}" if others else str(len(fitted))
        raise ValueError(
            f"--kind density is for one or two gaussian or lognormal columns, got {got}: choose "
            "them with --columns A,B"
        )
    return None


def _figure(kind: str, folder: RunFolder, columns: list[str] | None) -> Any:
    """Return the picture of a kind."""
    import numpy as np

    from sticktree import plotting

    estimator = folder.estimator
    if kind == "density":
        return plotting.figure_density(estimator, columns=columns)
    labels = folder.labels
    shown: dict[str, Any] = {}
    if kind in ("dendrogram", "icicle", "heatmap") and labels is not None:
        shown["classes"] = [labels[k] for k in np.unique(estimator._rows)]
    if kind == "scatter":
        shown["classes"] = labels
    return getattr(plotting, DISPLAYS[kind]).from_estimator(estimator, **shown).figure_
