"""``sticktree evaluate``: how well a run predicts rows, and agrees with known labels."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from sticktree.cli import Command
from sticktree.cli.asking import (
    add_which_clusters,
    check_level,
    check_n_clusters,
    named_as_options,
    new_rows,
)
from sticktree.cli.groups import groups_of
from sticktree.cli.options import add_run
from sticktree.cli.output import json_text
from sticktree.cli.reading import READING, add_reading, read_rows
from sticktree.cli.runs import RunFolder
from sticktree.data.sources.naming import pick_column
from sticktree.inference.showing import saying

EVALUATE_EPILOG = """\
What is printed depends on what is given:
  always       leave-one-out log density of the rows of the fit, in nats, in the units of the table
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
    "loo_total": "leave-one-out log density of all rows, in nats",
    "loo": "  per row",
    "loo_se": "  standard error per row",
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
    "density": "log density per row, in nats",
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
    add_which_clusters(parser)
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
    if wanted is None or wanted in folder.annotations:
        return folder.labels if wanted is None else folder.annotations[wanted]
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
        "loo_total": loo.elpd,
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
    table, frame = new_rows(folder, options.test, options)
    labels = None
    if options.label is not None:
        try:
            labels = _column(table, options.label)
        except ValueError as error:
            raise ValueError(f"--label: {error}") from None
    elif folder.record["columns"]["label"] in table.names:
        labels = table.words(folder.record["columns"]["label"])
    groups = groups_of(folder, table)
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
