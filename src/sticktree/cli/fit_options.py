"""The options of ``sticktree fit``, and the estimator that they ask for."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sticktree.checks import check_integer
from sticktree.cli.table_options import READING, add_reading, reading_of
from sticktree.data.sources.reading.names import split_list
from sticktree.inference.parameters import PRESETS

if TYPE_CHECKING:
    from sticktree.estimators.mixture import DFPMixture

__all__ = ["LASTING", "PARAMETERS", "add_options", "estimator_of", "lasting", "naming_options"]

COLUMNS = ("columns", "drop", "label", "id", "weights", "kinds")
PARAMETERS = {
    "depth": "depth",
    "divergence": "divergence",
    "concentration": "concentration",
    "discount": "discount",
    "covariance": "covariance_type",
    "noise": "leaf_noise",
    "scales": "scales",
    "resolution": "resolution",
    "standardize": "standardize",
    "algorithm": "algorithm",
    "chains": "n_chains",
    "warmup": "n_warmup",
    "draws": "n_draws",
    "thin": "thin",
    "level": "level",
    "jobs": "n_jobs",
}
"""Options, and the parameters of the estimator that they set."""
LASTING = (*READING, *COLUMNS, "model", *(name for name in PARAMETERS if name != "jobs"), "seed")
"""Options that a run keeps when it goes on."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options; none has a default, so that those given can be told apart."""
    add_reading(parser)
    _add_columns(parser)
    _add_model(parser)
    _add_sampling(parser)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "the columns", "Names, positions from 0, ranges such as 2-5, or patterns such as 'gene*'."
    )
    group.add_argument(
        "--columns", type=split_list, metavar="A,B,…", help="columns to fit [all that are left]"
    )
    group.add_argument("--drop", type=split_list, metavar="A,B,…", help="columns to leave out")
    group.add_argument(
        "--label",
        metavar="COLUMN",
        help="known classes of the rows: never fitted, kept to evaluate and to colour",
    )
    group.add_argument("--id", metavar="COLUMN", help="names of the rows: never fitted")
    group.add_argument("--weights", metavar="COLUMN", help="how often each row occurs")
    group.add_argument(
        "--kinds",
        type=_kinds,
        metavar="A=KIND,…",
        help="kinds of columns: gaussian, lognormal, bernoulli, categorical, poisson, "
        "negative_binomial [numbers are gaussian, text is categorical]",
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the model")
    group.add_argument(
        "--model",
        choices=list(PRESETS),
        help="Dirichlet fragmentation process; Dirichlet process mixture (one level, no tree); "
        "Dirichlet or Pitman–Yor diffusion tree in fine steps [dfp]",
    )
    group.add_argument(
        "--depth",
        type=int,
        metavar="T",
        help="how often the stick breaks [by --covariance auto, or 4; ddt and pydt 40]",
    )
    group.add_argument(
        "--covariance",
        choices=["auto", "full", "diag", "spherical"],
        help="form of the noise; auto lets the data choose it, and a depth up to --depth [auto; "
        "dpm, ddt and pydt full]",
    )
    group.add_argument(
        "--noise",
        choices=["auto", "shared", "own"],
        help="whether all leaves have the same noise, or each its own [auto]",
    )
    group.add_argument(
        "--divergence",
        choices=["log", "constant", "diffusion"],
        help="how the concentration depends on the level; diffusion is log less the discount [log]",
    )
    group.add_argument(
        "--concentration", type=_number_or("learn"), metavar="C", help="a number, or learn [learn]"
    )
    group.add_argument(
        "--discount",
        type=_number_or("learn"),
        metavar="D",
        help="Pitman–Yor discount in [0, 1), or learn [0; pydt learn]",
    )
    group.add_argument(
        "--scales",
        choices=["per_level", "shared"],
        help="whether each level's steps have a variance of their own [per_level]",
    )
    group.add_argument(
        "--resolution",
        type=_number_or("auto"),
        metavar="R",
        help="how finely columns were measured: no cluster is narrower [auto]",
    )
    group.add_argument(
        "--no-standardize",
        dest="standardize",
        action="store_const",
        const=False,
        help="take columns in their own units inside",
    )


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the sampling")
    group.add_argument(
        "--algorithm",
        choices=["auto", "gibbs", "parallel"],
        help="move one row at a time, or all rows side by side, which is for many rows [auto: by "
        "the number of rows]",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on the Dask cluster of this scheduler; workers read the file by the same path",
    )
    group.add_argument("--chains", type=int, metavar="K", help="independent chains [4]")
    group.add_argument("--warmup", type=int, metavar="N", help="sweeps thrown away [1000]")
    group.add_argument("--draws", type=int, metavar="N", help="draws kept of each chain [1000]")
    group.add_argument("--thin", type=int, metavar="N", help="sweeps from draw to draw [1]")
    group.add_argument(
        "--level",
        type=int,
        metavar="L",
        help="level of the tree that clusters are told of [where draws agree best]",
    )
    group.add_argument("--jobs", type=int, metavar="N", help="threads [one a chain and core]")
    group.add_argument(
        "--seed", type=int, help="the same seed gives the same draws [a fresh one, which is told]"
    )


def lasting(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given and that a run keeps."""
    values = {name: getattr(options, name) for name in LASTING} | reading_of(options)
    return {name: value for name, value in values.items() if value is not None}


def estimator_of(options: dict[str, Any], **others: Any) -> DFPMixture:
    """Return the estimator that options ask for, its parameters checked."""
    from sticktree.estimators.mixture import DFPMixture
    from sticktree.inference.candidates import Candidates
    from sticktree.inference.parameters import checked

    model = options.get("model", "dfp")
    for name in options.keys() & PRESETS[model].fixed.keys():
        raise ValueError(f"--{name} has no meaning with --model {model}: leave it out")
    given = {
        parameter: None if options[name] == "learn" else options[name]
        for name, parameter in PARAMETERS.items()
        if name in options
    }
    parameters = {**PRESETS[model].fixed, **PRESETS[model].defaults, **given}
    estimator = DFPMixture(**parameters, **others)
    with naming_options():
        levels = Candidates.of(checked(estimator.model_parameters())).most_levels
    if estimator.level is not None:
        check_integer("--level", estimator.level, minimum=0)
        if estimator.level > levels:
            raise ValueError(
                f"--level must be at most {levels}, the last level of the tree, got "
                f"{estimator.level}"
            )
    if estimator.resolution != "auto" and not estimator.resolution >= 0:
        raise ValueError(f"--resolution must be auto or at least 0, got {estimator.resolution}")
    return estimator


def defaults() -> dict[str, Any]:
    """Return the defaults of the estimator's parameters that options set."""
    from sticktree.estimators.mixture import DFPMixture

    signature = inspect.signature(DFPMixture.__init__).parameters
    return {
        name: signature[parameter].default
        for name, parameter in PARAMETERS.items()
        if parameter in signature
    }


@contextmanager
def naming_options() -> Iterator[None]:
    """Call a parameter of the estimator by its option where an error begins with it."""
    names = {parameter: f"--{name}" for name, parameter in PARAMETERS.items()}
    names |= {"columns": "--kinds", "sample_weight": "--weights"}
    try:
        yield
    except ValueError as error:
        text = re.sub(r"^\w+", lambda match: names.get(match[0], match[0]), str(error))
        raise ValueError(text.split("\n")[0]) from None


def _kinds(text: str) -> dict[str, str]:
    from sticktree.data.kinds import KINDS, nearest

    kinds: dict[str, str] = {}
    for part in split_list(text):
        column, equals, kind = part.rpartition("=")
        if not equals or not column:
            raise argparse.ArgumentTypeError(f"needs COLUMN=KIND with commas between, got {part!r}")
        if kind not in KINDS:
            guess = nearest(kind, KINDS) or f": choose from {', '.join(KINDS)}"
            raise argparse.ArgumentTypeError(f"{kind!r} is no kind of column{guess}")
        kinds[column] = kind
    return kinds


def _number_or(word: str) -> Any:
    def parse(text: str) -> float | str:
        if text == word:
            return word
        try:
            return float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"needs a number or {word}, got {text!r}") from None

    return parse
