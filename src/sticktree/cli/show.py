"""``sticktree summary``, ``report``, ``plot`` and ``export``: a run in other forms."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sticktree.cli import Command
from sticktree.cli.options import add_output, add_run, add_safe_csv, add_tree, is_safe
from sticktree.cli.output import check_file, json_text, output_folder, write_text
from sticktree.cli.runs import RECORD, RunFolder
from sticktree.cli.spreadsheets import nodes_table
from sticktree.data.sources.naming import pick_column, split_list
from sticktree.errors import ParameterError
from sticktree.files import atomically
from sticktree.inference.showing import saying

if TYPE_CHECKING:
    from sticktree.tree import Tree

# ---- summary -------------------------------------------------------------------------------------

SUMMARY_EPILOG = """\
examples:
    sticktree summary run
    sticktree summary run --verbose
    sticktree summary run --tree clusters
    sticktree summary run --json
"""


def add_summary(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    add_tree(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print it as JSON")
    shown.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="add R-hat and effective sample sizes of all that was sampled",
    )


def run_summary(options: argparse.Namespace) -> None:
    """Print the summary."""
    folder = RunFolder.open(options.folder)
    if not options.json:
        data = folder.record["data"]
        print(f"{folder.path}: fitted to {data['name']} on {folder.record['finished'][:10]}\n")
    from sticktree.present.findings import Findings
    from sticktree.present.terminal import summary

    found = Findings(
        folder.estimator.fit_, names=folder.ids, classes=folder.labels, by_level=folder.by_level
    )
    if options.json:
        print(json_text(found.result()), end="")
    else:
        print(summary(found, folder.cluster_tree if options.tree == "clusters" else None))
    if options.verbose:
        from sticktree.present.agreement import scalars_text

        print(f"\n{scalars_text(found.fit.diagnosis)}")


SUMMARY = Command(
    "Print what a run has found: the tree, its clusters and what is typical of them, "
    "and whether the chains agree.",
    add_summary,
    run_summary,
    SUMMARY_EPILOG,
)


# ---- report --------------------------------------------------------------------------------------

REPORT_EPILOG = """\
The page is one file that needs no network: open it in any browser, or send it to a colleague.

examples:
    sticktree report run -o report.html
    sticktree report run -o iris.html --title 'Iris, 150 flowers'
"""


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where the page goes [report.html in the run]"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")
    parser.add_argument("--title", help="the title of the page [the name of the data file]")


def run_report(options: argparse.Namespace) -> None:
    """Write the page."""
    folder = RunFolder.open(options.folder)
    output = options.output or str(folder.path / "report.html")
    path = check_file(output, overwrite=options.overwrite)
    if path is None:
        raise ParameterError("--output", "-", "a file")
    from sticktree.report import write_report

    with saying("making the page"):
        write_report(
            path,
            folder.estimator,
            names=folder.ids,
            annotations=folder.annotations,
            conditions=folder.record["columns"].get("conditions"),
            title=options.title or folder.record["data"]["name"],
            provenance=folder.record,
        )
    print(f"wrote {path}")


REPORT = Command(
    "Write a page on which to explore the tree, its clusters and the rows.",
    add_report,
    run_report,
    REPORT_EPILOG,
)


# ---- plot ----------------------------------------------------------------------------------------

KINDS = {
    "dendrogram": "the tree, with transfer supports, and the labels if there are any",
    "icicle": "the tree as nested areas",
    "heatmap": "the rows in the order of the tree",
    "coclustering": "how often every two rows are in one cluster",
    "traces": "the chains: the course of every scalar",
    "levels": "how many branches there are at each level",
    "scatter": "the rows along two columns, or two principal axes",
    "markers": "what makes each cluster: its columns against all other rows",
    "composition": "the share of every cluster in each group; for runs with --group",
    "relevance": "which columns carry the clusters: shares of variance between these",
    "loadings": "what the factors of many columns are made of",
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
    "markers": "MarkersDisplay",
    "composition": "CompositionDisplay",
    "relevance": "RelevanceDisplay",
    "loadings": "LoadingsDisplay",
}
OF_TREES = ("dendrogram", "icicle", "heatmap", "coclustering")
PLOT_EPILOG = "kinds:\n" + "".join(f"  {kind:<13} {words}\n" for kind, words in KINDS.items())
PLOT_EPILOG += """\
  all           every kind that can be drawn, into a folder

examples:
    sticktree plot run
    sticktree plot run --tree clusters -o clusters.png
    sticktree plot run --kind heatmap -o heatmap.pdf
    sticktree plot run --kind density --columns 0,1
    sticktree plot run --kind all -o figures
"""
SUFFIXES = (".png", ".pdf", ".svg")


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    add_tree(parser)
    parser.add_argument(
        "--kind", choices=[*KINDS, "all"], default="dendrogram", help="what to draw [dendrogram]"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="a file that ends in .png, .pdf or .svg; a folder for --kind all [in the run]",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    parser.add_argument(
        "--columns", type=split_list, metavar="A,B", help="one or two columns, for the density"
    )
    parser.add_argument("--dpi", type=int, default=160, help="dots per inch of a .png [160]")


def run_plot(options: argparse.Namespace) -> None:
    """Draw and write."""
    if not 10 <= options.dpi <= 2400:
        raise ParameterError("--dpi", options.dpi, "an integer from 10 to 2400")
    folder = RunFolder.open(options.folder)
    columns = _columns(folder, options)
    if options.kind == "composition" and folder.estimator.fit_.training.groups is None:
        raise ValueError("--kind composition is for runs with groups: sticktree fit --group COLUMN")
    if options.kind == "all":
        impossible = set() if columns else {"density"}
        if not folder.estimator.n_factors_:
            impossible.add("loadings")
        if folder.estimator.fit_.training.groups is None:
            impossible.add("composition")
        kinds = [kind for kind in KINDS if kind not in impossible]
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

    from sticktree.plotting.base import pyplot

    plt = pyplot()
    plt.switch_backend("agg")  # files only: no window system needed
    for kind, file in zip(kinds, files, strict=True):
        with saying(f"drawing {file.name}"):
            figure = _figure(kind, folder, columns, options.tree)
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
    from sticktree.engine.own.kinds import KINDS as COLUMN_KINDS

    for name in fitted:
        if kinds[name] not in COLUMN_KINDS:
            raise ValueError(
                f"{folder.path / RECORD} is damaged: column {name!r} is {kinds[name]!r}, which is "
                "no kind of column"
            )
    others = [name for name in fitted if not COLUMN_KINDS[kinds[name]].likelihood.is_continuous]
    if len(set(fitted)) in (1, 2) and not others:
        return fitted
    if options.kind == "density":
        got = f"{others[0]!r}, which is {kinds[others[0]]}" if others else str(len(fitted))
        raise ValueError(
            f"--kind density is for one or two gaussian or lognormal columns, got {got}: choose "
            "them with --columns A,B"
        )
    return None


def _figure(kind: str, folder: RunFolder, columns: list[str] | None, tree: str) -> Any:
    """Return the picture of a kind."""
    from sticktree import plotting

    estimator = folder.estimator
    if kind == "loadings" and not estimator.n_factors_:
        raise ValueError(
            "--kind loadings is for runs with factors: this one was fitted to its columns"
        )
    if kind == "density":
        return plotting.figure_density(estimator, columns=columns)
    labels = folder.labels
    shown: dict[str, Any] = {}
    if kind in OF_TREES:
        shown["tree"] = tree
    if kind in ("dendrogram", "icicle", "heatmap") and labels is not None:
        shown["classes"] = [labels[k] for k in estimator.fit_.training.fitted_rows]
    if kind == "scatter":
        shown["classes"] = labels
    return getattr(plotting, DISPLAYS[kind]).from_estimator(estimator, **shown).figure_


PLOT = Command(
    "Draw pictures of a run.",
    add_plot,
    run_plot,
    PLOT_EPILOG,
)


# ---- export --------------------------------------------------------------------------------------

EXPORT_EPILOG = """\
  newick   for phylogenetics programs: names, lengths, exact supports as labels and transfer
           supports in comments, as FigTree and iTOL read them
  nexus    for FigTree, PAUP*, MrBayes, BEAST and R's ape: the same, with a table of names
  itol     for itol.embl.de, into a folder: the tree, its supports, clusters and labels, and the
           data as a heat map
  linkage  SciPy's matrix: one merge per line (two clusters, height, size); as an array if the
           file's name ends in .npy, else as CSV
  json     arrays, for Tree.from_json
  csv      one node per line: its parent, level, time, supports and number of rows
  graphml  for graph programs; lists of rows and names are JSON
  h5ad     for scanpy and other programs of single cells: no tree alone, but all rows with their
           clusters, confidences, labels and the tree of the clusters; needs sticktree[anndata]

examples:
    sticktree export run --format newick -o tree.nwk
    sticktree export run --format nexus -o tree.nex
    sticktree export run --format newick --tree clusters -o clusters.nwk
    sticktree export run --format linkage -o linkage.npy
    sticktree export run --format csv --min-support 0.5
    sticktree export run --format newick --min-support 0.7 --by transfer
    sticktree export run --format itol -o itol
    sticktree export run --format h5ad -o cells.h5ad
"""
LINES = 100_000  # of a table that are written at once
FORMATS = ("newick", "nexus", "itol", "linkage", "json", "csv", "graphml", "h5ad")


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    add_tree(parser)
    parser.add_argument("--format", choices=FORMATS, required=True, help="see below")
    add_output(parser)
    add_safe_csv(parser)
    parser.add_argument(
        "--min-support",
        type=float,
        metavar="S",
        help="leave out branches with a smaller support [0]",
    )
    parser.add_argument(
        "--by",
        choices=("support", "transfer"),
        default="support",
        help="which support: the share of draws with exactly these rows, or transfer [support]",
    )


def run_export(options: argparse.Namespace) -> None:
    """Write the tree."""
    if options.min_support is not None and not 0 <= options.min_support <= 1:
        raise ParameterError("--min-support", options.min_support, "a number from 0 to 1")
    itol = options.format == "itol"
    path = None if itol else check_file(options.output, overwrite=options.overwrite)
    if itol and options.output in (None, "-"):
        raise ValueError("--format itol writes several files: give a folder with --output")
    if options.format == "h5ad":
        _write_h5ad(options, path)
        return
    run = RunFolder.open(options.folder)
    tree = run.tree_called(options.tree)
    if options.min_support is not None:
        tree = tree.collapsed(options.min_support, by=options.by)
    if itol:
        _write_itol(run, tree, Path(options.output), overwrite=options.overwrite)
    elif options.format == "linkage" and path is not None and path.suffix == ".npy":
        _write_array(tree.to_linkage(), path)
    else:
        safe = [is_safe(options, path)] if options.format == "csv" else []
        write_text(WRITERS[options.format](tree, *safe), path)


def _write_itol(run: RunFolder, tree: Tree, folder: Path, *, overwrite: bool) -> None:
    from sticktree.present.findings import Findings
    from sticktree.tree.itol import itol_files

    fit = run.estimator.fit_
    rows = fit.training.fitted_rows
    given: dict[str, Any] = {"labels": fit.labels[rows]}
    given["annotations"] = {
        name: [words[row] for row in rows] for name, words in run.annotations.items()
    }
    table = Findings(fit).table
    numeric = [d for d, categories in enumerate(table.categories) if not categories]
    if numeric and table.rows.size == fit.training.n_rows:
        given["data"] = table.some(rows).values[:, numeric]
        given["columns"] = [table.names[d] for d in numeric]
    output_folder(folder, list(itol_files(tree, **given)), overwrite=overwrite)
    for path in tree.write_itol(folder, **given):
        print(f"wrote {path}")


def _write_h5ad(options: argparse.Namespace, path: Path | None) -> None:
    if path is None:
        raise ValueError("--format h5ad is no text: give a file with --output")
    if options.min_support is not None:
        raise ValueError("--min-support is for trees, and --format h5ad has all rows")
    from sticktree.optional import optional

    # Before the run is read, which may take long.
    optional("anndata", extra="anndata", asker="--format h5ad")
    from sticktree.anndata import to_anndata

    run = RunFolder.open(options.folder)
    with saying("writing cells"):
        adata = to_anndata(run.estimator, names=run.ids, annotations=run.annotations)
        with atomically(path) as temporary:
            adata.write_h5ad(temporary)
    if not adata.n_vars:
        print("the run has no rows of numbers at hand: X is empty, clusters are in obs")
    print(f"wrote {path}")


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
    from sticktree.tree.formats import json_pieces

    return json_pieces(tree)


def _csv(tree: Any, safe: bool) -> Iterator[str]:
    """Yield the frame as CSV in pieces, which pandas cannot do itself."""
    frame = nodes_table(tree, safe)
    for first in range(0, len(frame), LINES):
        part = frame.iloc[first : first + LINES]
        yield part.to_csv(lineterminator="\n", header=first == 0)


def _linkage(tree: Any) -> Iterator[str]:
    yield "first,second,height,size\n"
    for a, b, height, size in tree.to_linkage().tolist():
        yield f"{int(a)},{int(b)},{height!r},{int(size)}\n"


def _nexus(tree: Any) -> Iterator[str]:
    from sticktree.tree.nexus import nexus_pieces

    return nexus_pieces(tree)


def _graphml(tree: Any) -> str:
    return str(tree.to_graphml())  # raises with what to install if there is no networkx


WRITERS: dict[str, Any] = {
    "newick": _newick,
    "nexus": _nexus,
    "linkage": _linkage,
    "json": _json,
    "csv": _csv,
    "graphml": _graphml,
}


EXPORT = Command(
    "Write the tree of a run in a form that other programs read.",
    add_export,
    run_export,
    EXPORT_EPILOG,
)
