"""``sticktree predict``, ``cluster``, ``markers`` and ``evaluate``: answers, and their quality."""

from __future__ import annotations

import argparse
import difflib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sticktree.checks import check_integer
from sticktree.cli import Command
from sticktree.cli.runs import RunFolder, add_output, add_run, check_file, json_text, write_text
from sticktree.cli.table import READING, add_reading, read_rows, reading_of, telling_options
from sticktree.data.sources.files import pick_column
from sticktree.errors import ParameterError
from sticktree.files import csv_pieces
from sticktree.inference.showing import saying

if TYPE_CHECKING:
    from sticktree.data.sources.file_table import FileTable
    from sticktree.estimators.mixture import DFPMixture

# ---- predict -------------------------------------------------------------------------------------

PREDICT_EPILOG = """\
The table has a line for each row: its number from 0, its name if the file has the column that
named the rows of the fit, the most probable cluster, the probability of that cluster, and the log
density of the row in its own units. Columns are matched by name; others are ignored. Values may be
missing. Clusters are those of the fit, unless --n-clusters or --level asks for others.

examples:
    sticktree predict run new.csv -o predicted.csv
    sticktree predict run new.csv --n-clusters 3
    sticktree predict run new.csv --proba -o -
    sticktree predict run gaps.csv --impute -o filled.csv
"""


def add_predict(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    parser.add_argument("data", help="a file of rows like those of the fit; - is standard input")
    add_output(parser)
    _add_which_clusters(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--proba", action="store_true", help="add the probability of every cluster")
    what.add_argument(
        "--impute", action="store_true", help="write the rows with missing values filled in instead"
    )
    add_reading(parser)


def _add_which_clusters(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask for other clusters than those of the fit."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--n-clusters",
        type=int,
        metavar="K",
        help="number of clusters that the cluster tree is cut into [that of the fit]",
    )
    which.add_argument(
        "--level",
        type=int,
        metavar="L",
        help="the clusters of least loss at this level of the draws' trees instead, which "
        "clusters.csv has as level_L",
    )


def run_predict(options: argparse.Namespace) -> None:
    """Predict and write."""
    path = check_file(options.output, overwrite=options.overwrite)
    folder = RunFolder.open(options.folder)
    level = check_level(folder, options.level)
    check_n_clusters(options.n_clusters, folder.record["data"]["rows"])
    table, frame = _new_rows(folder, options.data, options)
    columns: dict[str, Any] = {"row": range(len(frame))}
    name = folder.record["columns"]["id"]
    if name in table.names:
        columns["id"] = ["" if word is None else word for word in table.words(name)]
    with saying(f"predicting {len(frame):,} rows"):
        groups = _groups(folder, table)
        columns |= _answers(folder.estimator, frame, groups, level, options)
    write_text(csv_pieces(columns), path)


def _groups(folder: RunFolder, table: FileTable) -> list[str | None] | None:
    """Return the groups of new rows, if the run has groups and the file their column."""
    name = folder.record["columns"].get("group")
    if name not in table.names or folder.estimator.fit_.training.groups is None:
        return None
    return table.words(name)


def _answers(
    estimator: DFPMixture,
    frame: Any,
    groups: list[str | None] | None,
    level: int | None,
    options: argparse.Namespace,
) -> dict[str, list[Any]]:
    """Return what is asked of the rows, column by column."""
    if options.impute:
        filled: Any = estimator.impute(frame)
        return {column: filled[column].tolist() for column in filled}
    with named_as_options():
        probability = estimator.predict_proba(frame, level, options.n_clusters, groups)
    columns = {
        "cluster": probability.argmax(axis=1).tolist(),
        "probability": _digits(probability.max(axis=1)),
        "log_density": _digits(estimator.score_samples(frame, groups)),
    }
    if options.proba:
        columns |= {f"p_{k}": _digits(probability[:, k]) for k in range(probability.shape[1])}
    return columns


@contextmanager
def named_as_options() -> Iterator[None]:
    """Let errors about numbers of clusters name the option."""
    try:
        yield
    except ParameterError as error:
        if error.name != "n_clusters":
            raise
        raise error.renamed("--n-clusters") from None


def check_level(folder: RunFolder, level: int | None) -> int | None:
    """Return a level that the tree of the run has."""
    last = folder.record["result"]["levels"]
    if level is not None and not 0 <= level <= last:
        raise ParameterError("--level", level, f"an integer from 0 to {last}")
    return level


def _new_rows(folder: RunFolder, name: str, options: argparse.Namespace) -> tuple[FileTable, Any]:
    """Read new rows with the columns of a run, in the form that they had then."""
    # Options for the first file most likely hold for another one; its format may differ.
    before = {k: v for k, v in folder.record["options"].items() if k in READING and k != "format"}
    table = read_rows(name, before | reading_of(options))
    wanted = folder.record["columns"]["fitted"]
    absent = [column for column in wanted if column not in table.names]
    if absent:
        near = difflib.get_close_matches(absent[0], table.names, 1)
        guess = f" (is {near[0]!r} the column {absent[0]!r}?)" if near else ""
        shown = ", ".join(map(repr, absent[:10])) + ", …" * (len(absent) > 10)
        raise ValueError(f"{name} lacks column{'s' * (len(absent) > 1)} {shown}{guess}")
    with telling_options():
        frame = table.typed_like(folder.estimator.columns_)
    return table, frame


def _digits(values: Any) -> list[str]:
    return [f"{value:.6g}" for value in values]


PREDICT = Command(
    "Assign new rows to the clusters of a run, compute how probable each row is, or "
    "fill in what is missing.",
    add_predict,
    run_predict,
    PREDICT_EPILOG,
)


# ---- cluster -------------------------------------------------------------------------------------

CLUSTER_EPILOG = """\
walk  cuts the cluster tree: rows are together if chains of draws in which they share a branch
      connect them, so that a bent cluster is one though draws cover it by many branches. Small
      branches apart from all clusters are strays, which join the nearest cluster or get -1
loss  is the clustering whose mean distance to those of the draws is the least; it is as fine as
      they are

examples:
    sticktree cluster run --n-clusters 3
    sticktree cluster run --strays label -o with-strays.csv
    sticktree cluster run --method loss --level 1 --loss binder -o coarse.csv
"""


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    add_output(parser)
    parser.add_argument(
        "--n-clusters",
        type=int,
        metavar="K",
        help="number of clusters [that of the fit; with --method loss, that of least loss]",
    )
    parser.add_argument(
        "--method",
        choices=["walk", "loss"],
        default="walk",
        help="how clusters are made from the draws, see below [walk]",
    )
    parser.add_argument(
        "--strays",
        choices=["join", "label"],
        default="join",
        help="whether strays join the nearest cluster, or are labelled -1 [join]",
    )
    parser.add_argument(
        "--level",
        type=int,
        metavar="L",
        help="level of the draws' trees that the walk steps in [that of the fit]; with --method "
        "loss, the one whose clusters are meant [the one on which the draws agree best]",
    )
    parser.add_argument(
        "--loss",
        choices=["vi", "binder"],
        help="with --method loss: variation of information, or Binder's loss [vi]",
    )


def run_cluster(options: argparse.Namespace) -> None:
    """Cluster and write."""
    path = check_file(options.output, overwrite=options.overwrite)
    folder = RunFolder.open(options.folder)
    level = check_level(folder, options.level)
    n_rows = folder.record["data"]["rows"]
    check_n_clusters(options.n_clusters, n_rows)
    _check_method(options)
    with saying("looking for clusters"), named_as_options():
        labels = folder.estimator.cluster(
            options.n_clusters,
            method=options.method,
            strays=options.strays,
            level=level,
            loss=options.loss,
        )
    columns: dict[str, Any] = {"row": range(n_rows)}
    for name, words in (("id", folder.ids), ("label", folder.labels)):
        if words is not None:
            columns[name] = ["" if word is None else word for word in words]
    columns["cluster"] = labels.tolist()
    write_text(csv_pieces(columns), path)


def _check_method(options: argparse.Namespace) -> None:
    """Raise if an option is given that the method has no use for."""
    if options.method == "walk" and options.loss is not None:
        expected = "left out unless --method loss is given"
        raise ParameterError("--loss", options.loss, expected, shown=options.loss)
    if options.method == "loss" and options.strays == "label":
        expected = "join, or left out, where --method is loss, which knows no strays"
        raise ParameterError("--strays", options.strays, expected, shown=options.strays)


def check_n_clusters(n_clusters: int | None, n_rows: int) -> None:
    """Raise if there cannot be so many clusters."""
    if n_clusters is None:
        return
    check_integer("--n-clusters", n_clusters, minimum=1)
    if n_clusters > n_rows:
        expected = f"at most {n_rows}, the number of rows"
        raise ParameterError("--n-clusters", n_clusters, expected)


CLUSTER = Command(
    "Cut the cluster tree of a run into flat clusters: a given number, or as many as there are.",
    add_cluster,
    run_cluster,
    CLUSTER_EPILOG,
)


# ---- markers -------------------------------------------------------------------------------------

MARKERS_EPILOG = """\
A line is a cluster in a column, against all other rows: means inside and outside (geometric ones of
lognormal columns, rates of binomial ones, of categories the share of the one that is more frequent
by most), the difference in standard deviations (Cohen's d; h of shares) with its 94 % interval, the
posterior probability that inside is higher, and that of the direction found. Lines are sorted by
this evidence, then by effect. To a file they are written as CSV, to the screen as a table.

The clusters were made from these columns: probabilities describe the clusters, and are no test of
whether there are any.

examples:
    sticktree markers run
    sticktree markers run --top 3 -o markers.csv
    sticktree markers run --n-clusters 2 -o -
"""


def add_markers(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    add_output(parser, "a table on the screen; - is CSV there")
    parser.add_argument(
        "--top", type=int, metavar="N", help="lines of each cluster [all; on the screen 5]"
    )
    parser.add_argument(
        "--n-clusters", type=int, metavar="K", help="number of clusters [those of the fit]"
    )


def run_markers(options: argparse.Namespace) -> None:
    """Compare and write."""
    path = check_file(options.output, overwrite=options.overwrite)
    if options.top is not None:
        check_integer("--top", options.top, minimum=1)
    folder = RunFolder.open(options.folder)
    check_n_clusters(options.n_clusters, folder.record["data"]["rows"])
    with saying("comparing every cluster with the other rows"):
        labels = None
        if options.n_clusters is not None:
            labels = folder.estimator.cluster(n_clusters=options.n_clusters)
        found = folder.estimator.markers(labels, n_top=options.top)
    if options.output is None:
        print(found)
    else:
        write_text(found.csv(), path)


MARKERS = Command(
    "Compare each cluster of a run with all other rows, column by column: what makes it.",
    add_markers,
    run_markers,
    MARKERS_EPILOG,
)


# ---- evaluate ------------------------------------------------------------------------------------

EVALUATE_EPILOG = """\
What is printed depends on what is given:
  always       leave-one-out log density of the rows of the fit, in their units
  labels       purity of the consensus tree and of the cluster tree; adjusted Rand index, normalised
               mutual information and variation of information of the flat clusters. Labels are
               those of fit --label, or a column of the data file that is named here
  test rows    their mean log density, and their clusters against their labels

examples:
    sticktree evaluate run
    sticktree evaluate run --test test.csv --label species
    sticktree evaluate run --n-clusters 3 --json
"""
WORDS = {
    "loo": "leave-one-out log density per row",
    "loo_se": "  its standard error",
    "loo_bad": "  rows for which it is unreliable",
    "loo_models": "  models that it is averaged over",
    "purity_pairs": "dendrogram purity, over pairs of a class",
    "purity_leaves": "dendrogram purity, by leaves",
    "cluster_tree_purity_pairs": "  of the cluster tree, over pairs",
    "cluster_tree_purity_leaves": "  of the cluster tree, by leaves",
    "ari": "adjusted Rand index",
    "nmi": "normalised mutual information",
    "vi": "variation of information, in nats",
    "n_labelled": "rows with a label",
    "n_classes": "classes",
    "n_clusters": "clusters",
    "density": "log density per row",
    "density_se": "  its standard error",
    "n_rows": "rows",
}


def add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    parser.add_argument("--test", metavar="FILE", help="rows that were not fitted")
    parser.add_argument(
        "--label", metavar="COLUMN", help="the column with known classes [that of the fit]"
    )
    _add_which_clusters(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    add_reading(parser)


def run_evaluate(options: argparse.Namespace) -> None:
    """Evaluate and print."""
    folder = RunFolder.open(options.folder)
    level = check_level(folder, options.level)
    check_n_clusters(options.n_clusters, folder.record["data"]["rows"])
    if options.test is None:
        given = [name for name in READING if getattr(options, name) is not None]
        if given:
            raise ValueError(f"--{given[0]} is for the file of --test, which is not given")
    with saying("computing densities and agreement"), named_as_options():
        test = None if options.test is None else _test(folder, options, level)
        labels = _labels(folder, options)
        agreement = _agreement(folder, labels, level, options.n_clusters)
        result: dict[str, Any] = {"fit": {**_loo(folder), **agreement}}
    if test is not None:
        result["test"] = test
    if options.json:
        print(json_text(result), end="")
        return
    print("rows of the fit")
    print(_lines(result["fit"]))
    if labels is None:
        print("  (no labels: name their column with --label)")
    if test is not None:
        print(f"rows of {options.test}")
        print(_lines(test))


def _labels(folder: RunFolder, options: argparse.Namespace) -> Sequence[str | None] | None:
    """Return the labels of the rows of the fit, if there are any."""
    wanted = options.label
    if wanted is None or wanted == folder.record["columns"]["label"]:
        return folder.labels
    data, before = folder.record["data"], folder.record["options"]
    if data["path"] == "-":
        if options.test is not None:
            return None
        raise ValueError("--label: the data came from standard input, and were not kept")
    try:
        table = read_rows(data["path"], {k: v for k, v in before.items() if k in READING})
        if table.source["sha256"] != data["sha256"]:
            raise ValueError(f"{data['path']} has changed since the fit")
        return _column(table, wanted)
    except ValueError as error:
        if options.test is not None:
            return None
        raise ValueError(f"--label {wanted}: {error}") from None


def _column(table: Any, wanted: str) -> list[str | None]:
    words: list[str | None] = table.words(pick_column(table.names, wanted))
    return words


def _loo(folder: RunFolder) -> dict[str, Any]:
    loo = folder.estimator.loo()
    n_rows = loo.pointwise.size
    return {
        "n_rows": n_rows,
        "loo": loo.elpd / n_rows,
        "loo_se": loo.se / n_rows,
        "loo_bad": loo.n_bad_k,
        "loo_models": loo.n_models,
    }


def _agreement(
    folder: RunFolder,
    labels: Sequence[str | None] | None,
    level: int | None,
    n_clusters: int | None,
) -> dict[str, Any]:
    """Compare trees and flat clusters with labels; rows without one do not count."""
    if labels is None:
        return {}
    import numpy as np

    from sticktree.metrics import dendrogram_purity

    estimator = folder.estimator
    found: Any = estimator.cluster(n_clusters)
    if level is not None:
        found = folder.by_level[level - 1] if level else np.zeros_like(found)
    result = _flat(labels, found)
    of_tree = [labels[k] for k in estimator.fit_.training.fitted_rows]
    known = [label for label in of_tree if label is not None]
    if len(set(known)) == len(known):  # no two rows of one class
        return result
    trees = {"purity": estimator.tree_, "cluster_tree_purity": estimator.cluster_tree_}
    purity = {
        f"{name}_{weighting}": dendrogram_purity(tree, of_tree, weighting=weighting)
        for name, tree in trees.items()
        for weighting in ("pairs", "leaves")
    }
    return purity | result


def _flat(labels: Sequence[str | None], found: Any) -> dict[str, Any]:
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    from sticktree.metrics import variation_of_information

    pairs = [(a, int(b)) for a, b in zip(labels, found, strict=True) if a is not None]
    sizes = {
        "n_labelled": len(pairs),
        "n_classes": len({a for a, _ in pairs}),
        "n_clusters": len({b for _, b in pairs}),
    }
    if not pairs:
        return sizes
    classes, clusters = zip(*pairs, strict=True)
    return {
        "ari": float(adjusted_rand_score(classes, clusters)),
        "nmi": float(normalized_mutual_info_score(classes, clusters)),
        "vi": float(variation_of_information(classes, clusters)),
        **sizes,
    }


def _test(folder: RunFolder, options: argparse.Namespace, level: int | None) -> dict[str, Any]:
    table, frame = _new_rows(folder, options.test, options)
    labels = None
    if options.label is not None:
        try:
            labels = _column(table, options.label)
        except ValueError as error:
            raise ValueError(f"--label: {error}") from None
    elif folder.record["columns"]["label"] in table.names:
        labels = table.words(folder.record["columns"]["label"])
    groups = _groups(folder, table)
    density = folder.estimator.score_samples(frame, groups)
    n_rows = len(density)
    result: dict[str, Any] = {
        "n_rows": n_rows,
        "density": float(density.mean()),
        "density_se": float(density.std(ddof=1)) / math.sqrt(n_rows) if n_rows > 1 else math.inf,
    }
    if labels is not None:
        found = folder.estimator.predict(frame, level, options.n_clusters, groups)
        result |= _flat(labels, found)
    return result


def _lines(result: dict[str, Any]) -> str:
    width = max(len(WORDS[key]) for key in result)
    return "\n".join(
        f"  {WORDS[key]:<{width}}  {_written(value):>10}" for key, value in result.items()
    )


def _written(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


EVALUATE = Command(
    "Measure how well a run predicts rows, and how well its tree and its clusters "
    "agree with known labels.",
    add_evaluate,
    run_evaluate,
    EVALUATE_EPILOG,
)
