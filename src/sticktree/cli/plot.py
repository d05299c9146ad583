"""``sticktree plot``: pictures of a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sticktree.cli.run_argument import add_run, check_file, open_run
from sticktree.files import atomically

if TYPE_CHECKING:
    from sticktree.run_folder import RunFolder

__all__ = ["add_to"]

KINDS = {
    "dendrogram": "the tree, with supports, and the labels if there are any",
    "icicle": "the tree as nested areas",
    "heatmap": "the rows in the order of the tree",
    "coclustering": "how often each two rows are together",
    "traces": "the chains: what each scalar did",
    "levels": "how many branches there are at each level",
    "density": "rows, tree and density; for two columns",
}
EPILOG = "kinds:\n" + "".join(f"  {kind:<13} {words}\n" for kind, words in KINDS.items())
EPILOG += """\
  all           each of them that can be drawn, into a folder

examples:
    sticktree plot run
    sticktree plot run --kind heatmap -o heatmap.pdf
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
    parser.add_argument("--dpi", type=int, default=160, help="dots per inch of a .png [160]")


def run(options: argparse.Namespace) -> None:
    """Draw and write."""
    if not 10 <= options.dpi <= 2400:
        raise ValueError(f"--dpi must be an integer from 10 to 2400, got {options.dpi}")
    folder = open_run(options)
    two = len(folder.record["columns"]["fitted"]) == 2
    if options.kind == "all":
        kinds = [kind for kind in KINDS if kind != "density" or two]
        target = Path(options.output or folder.path / "figures")
        if target.exists() and not target.is_dir():
            raise ValueError(f"--output {target} is a file: for --kind all give a folder")
        files = [target / f"{kind}.png" for kind in kinds]
    else:
        if options.kind == "density" and not two:
            raise ValueError("--kind density is for two columns: choose them with fit --columns")
        kinds = [options.kind]
        files = [Path(options.output or folder.path / f"{options.kind}.png")]
        if files[0].suffix.lower() not in SUFFIXES:
            raise ValueError(f"--output must end in {', '.join(SUFFIXES)}, got {files[0]}")
    if options.kind == "all":
        target.mkdir(parents=True, exist_ok=True)
    for file in files:
        check_file(str(file), overwrite=options.overwrite)

    from sticktree.plotting.style import pyplot

    plt = pyplot()
    plt.switch_backend("agg")  # files only: no window system needed
    for kind, file in zip(kinds, files, strict=True):
        figure = _figure(kind, folder)
        with atomically(file) as path:
            figure.savefig(path, dpi=options.dpi)
        plt.close(figure)
        print(f"wrote {file}")


def _figure(kind: str, folder: RunFolder) -> Any:
    """Return the picture of a kind."""
    raise NotImplementedError
