"""``sticktree export``: the tree for other programs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from sticktree.cli.run_argument import add_output, add_run, check_file, open_run, write_text
from sticktree.files import atomically

__all__ = ["add_to"]

EPILOG = """\
  newick   for phylogenetics programs: names, lengths and supports
  linkage  SciPy's matrix: one merge a line (two clusters, height, size); to a file that ends
           in .npy as an array, else as CSV
  json     arrays, for Tree.from_json
  csv      one node a line: its parent, level, time, support and number of rows
  graphml  for graph programs

examples:
    sticktree export run --format newick -o tree.nwk
    sticktree export run --format linkage -o linkage.npy
    sticktree export run --format csv --min-support 0.5
"""
LINES = 100_000  # of a table in one piece
FORMATS = ("newick", "linkage", "json", "csv", "graphml")


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "export",
        help="the tree for other programs",
        description="Write the tree of a run for other programs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, command="export", parser=parser)
    add_run(parser)
    parser.add_argument("--format", choices=FORMATS, required=True)
    add_output(parser)
    parser.add_argument(
        "--min-support",
        type=float,
        metavar="S",
        help="leave out branches with a smaller posterior probability [0]",
    )


def run(options: argparse.Namespace) -> None:
    """Write the tree."""
    path = check_file(options.output, overwrite=options.overwrite)
    if options.min_support is not None and not 0 <= options.min_support <= 1:
        raise ValueError(f"--min-support must be a number from 0 to 1, got {options.min_support}")
    tree = open_run(options).tree
    if options.min_support is not None:
        tree = tree.collapsed(options.min_support)
    if options.format == "linkage" and path is not None and path.suffix == ".npy":
        _write_array(tree.to_linkage(), path)
    else:
        write_text(WRITERS[options.format](tree), path)


def _write_array(array: Any, path: Path) -> None:
    import numpy as np

    with atomically(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)
    print(f"wrote {path}")


def _newick(tree: Any) -> Iterator[str]:
    from sticktree.tree.newick import newick_pieces

    yield from newick_pieces(tree)
    yield "\n"


def _json(tree: Any) -> Iterator[str]:
    from sticktree.tree.json import json_pieces

    return json_pieces(tree)


def _csv(tree: Any) -> Iterator[str]:
    """Yield the frame as CSV in pieces, which pandas has no word for."""
    frame = tree.to_frame()
    for first in range(0, len(frame), LINES):
        part = frame.iloc[first : first + LINES]
        yield part.to_csv(lineterminator="\n", header=first == 0)


def _linkage(tree: Any) -> Iterator[str]:
    yield "first,second,height,size\n"
    for a, b, height, size in tree.to_linkage().tolist():
        yield f"{int(a)},{int(b)},{height!r},{int(size)}\n"


def _graphml(tree: Any) -> str:
    graph = tree.to_networkx()  # says what to install if there is no networkx
    # GraphML has no lists.
    for attributes in (graph.graph, *(values for _, values in graph.nodes(data=True))):
        for key, value in list(attributes.items()):
            if value is None:
                del attributes[key]
            elif isinstance(value, list | tuple):
                attributes[key] = ", ".join(map(str, value))
    return "\n".join(import_module("networkx").generate_graphml(graph)) + "\n"


WRITERS: dict[str, Any] = {
    "newick": _newick,
    "linkage": _linkage,
    "json": _json,
    "csv": _csv,
    "graphml": _graphml,
}
