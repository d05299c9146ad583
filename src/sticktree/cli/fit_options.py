"""The options of ``sticktree fit``, most of them from the table of parameters."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from sticktree.checks import is_real
from sticktree.cli.reading import NAMES, READING, add_reading, naming_options, reading_of
from sticktree.cli.table import AUTO
from sticktree.data.columns import nearest
from sticktree.data.planning import DATES, ROLES
from sticktree.data.sources.naming import split_list
from sticktree.engine.own.kinds import DECLARED
from sticktree.inference.parameters import PARAMETERS, PRESETS, Parameter, check_level, checked

if TYPE_CHECKING:
    from sticktree.estimators.mixture import DFPMixture

COLUMNS = (
    *("columns", "drop", "label", "id", "weights", "group", "condition", "parent", "time", "kinds"),
)
OPTIONS = {
    parameter.option: parameter
    for parameter in PARAMETERS.values()
    if parameter.option is not None and parameter.allowed.typed != "not"
}
"""Options that set a parameter of the estimator as they stand."""
PASSING = ("jobs", "max-time")
"""Options that have nothing to do with what is drawn."""
LASTING = (*READING, *COLUMNS, "model", *(name for name in OPTIONS if name not in PASSING), "seed")
"""Options that a run keeps when it goes on."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options; none has a default, so that those given can be told apart."""
    add_reading(parser)
    _add_columns(parser)
    model = parser.add_argument_group("the model")
    titles = "; ".join(f"{name}: {preset.title}" for name, preset in PRESETS.items())
    model.add_argument("--model", choices=list(PRESETS), help=f"{titles} [dfp]")
    sampling = parser.add_argument_group("the sampling")
    group = model
    for parameter in OPTIONS.values():
        group = sampling if parameter.name == "n_chains" else group
        _add_parameter(group, parameter)
    sampling.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on the Dask cluster of this scheduler; workers read the file by the same path",
    )
    sampling.add_argument(
        "--seed",
        type=int,
        help="the same seed gives the same draws [a fresh one, which is printed]",
    )


class OneColumn(argparse.Action):
    """Take the name of a column, and no second one."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: Any = None
    ) -> None:
        """Note the column."""
        before = getattr(namespace, self.dest)
        if before is not None:
            text = f"can be one column only, got {before!r} and {values!r}"
            raise argparse.ArgumentError(self, text)
        setattr(namespace, self.dest, values)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "the columns",
        "What each column is for is shown before the work, and --kinds changes any of it.\n"
        "Names, positions from 0, ranges such as 2-5, or patterns such as 'gene*'.",
    )
    group.add_argument(
        "--columns", type=split_list, metavar="A,B,…", help="columns to fit [all that are left]"
    )
    group.add_argument("--drop", type=split_list, metavar="A,B,…", help="columns to leave out")
    group.add_argument(
        "--label",
        action="append",
        metavar="COLUMN",
        help="known classes of the rows: never fitted, kept to evaluate and to colour; may be "
        "given more than once",
    )
    group.add_argument(
        "--id", action=OneColumn, metavar="COLUMN", help="names of the rows: never fitted"
    )
    group.add_argument(
        "--weights", action=OneColumn, metavar="COLUMN", help="how often each row occurs"
    )
    group.add_argument(
        "--group",
        action=OneColumn,
        metavar="COLUMN",
        help="groups of rows, such as patients: one tree for all, shares of branches for each",
    )
    group.add_argument(
        "--condition",
        action=OneColumn,
        metavar="COLUMN",
        help="conditions of groups, such as treated or not, whose shares are compared",
    )
    group.add_argument(
        "--parent",
        action=OneColumn,
        metavar="COLUMN",
        help="parents of groups, such as conditions of patients: groups of one parent are alike, "
        "and parents have their own shares",
    )
    group.add_argument(
        "--time",
        action=OneColumn,
        metavar="COLUMN",
        help="times of rows, such as days, in place of --group: each time is like the one before",
    )
    group.add_argument(
        "--kinds",
        type=_kinds,
        metavar="A=KIND,…",
        help=f"what columns are: {', '.join(DECLARED)}; two columns that are one, as in "
        f"successes/trials=binomial; not fitted: {', '.join(ROLES)}; dates as numbers: days; "
        "auto has leave-one-out choose kinds that are in question [numbers are gaussian, text is "
        "categorical; names, dates and empty or constant columns are not fitted]",
    )
    group.add_argument(
        "--plan", action="store_true", help="show what each column is for, and end there"
    )


def _add_parameter(group: argparse._ArgumentGroup, parameter: Parameter) -> None:
    """Add the option of a parameter in the form that its values ask for."""
    allowed, words = parameter.allowed, parameter.help
    form: dict[str, Any] = {"type": int, "metavar": parameter.metavar}
    if allowed.typed == "switch":  # the one there is can only be switched off
        form = {"action": "store_const", "const": False}
        words = "take columns in their own units inside: do not centre and scale them"
    elif allowed.typed == "choice":
        form = {"choices": allowed.choices}
    elif allowed.word is not None:
        number = float if allowed.typed == "number" else int
        form["type"] = _number_or(allowed.word, number)
        words += f"; a number, or {allowed.word}"
    elif allowed.typed == "number":
        form["type"] = float
    if allowed.typed != "switch":
        words += f" [{_default(parameter)}]"
    group.add_argument(str(parameter.flag), dest=parameter.option, help=words, **form)


def _default(parameter: Parameter) -> str:
    """Return the default in words, and those of the models that have another."""
    models: dict[str, list[str]] = {}
    for name, preset in PRESETS.items():
        if parameter.name in preset.defaults:
            value = preset.defaults[parameter.name]
            models.setdefault("learn" if value is None else str(value), []).append(name)
    usual = parameter.default_words
    if usual is None:
        usual = f"{parameter.default:g}" if is_real(parameter.default) else str(parameter.default)
    return "; ".join([usual, *(f"{value} with {', '.join(of)}" for value, of in models.items())])


def lasting(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given and that a run keeps."""
    values = {name: getattr(options, name) for name in LASTING} | reading_of(options)
    return {name: value for name, value in values.items() if value is not None}


def parameters_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the estimator that options ask for, checked."""
    from sticktree.inference.candidates import Candidates

    model = options.get("model", "dfp")
    preset = PRESETS[model]
    given = {
        parameter.name: None if options[name] == "learn" else options[name]
        for name, parameter in OPTIONS.items()
        if name in options
    }
    for name in given.keys() & preset.fixed.keys():
        raise ValueError(f"{NAMES[name]} has no meaning with --model {model}: leave it out")
    asked = {**preset.fixed, **preset.defaults, **given}
    with naming_options():
        usual = {name: parameter.default for name, parameter in PARAMETERS.items()}
        candidates = Candidates.of(checked(usual | asked))
        check_level(asked.get("level"), candidates.most_levels)
    return asked


def estimator_of(options: dict[str, Any], **others: Any) -> DFPMixture:
    """Return the estimator that options ask for, its parameters checked."""
    from sticktree.estimators.mixture import DFPMixture

    return DFPMixture(**parameters_of(options), **others)


def _kinds(text: str) -> dict[str, str]:
    kinds: dict[str, str] = {}
    known = (*DECLARED, *ROLES, *DATES)
    for part in split_list(text):
        if part == AUTO:
            kinds[AUTO] = AUTO
            continue
        column, equals, kind = part.rpartition("=")
        if not equals or not column:
            raise argparse.ArgumentTypeError(f"needs COLUMN=KIND with commas between, got {part!r}")
        if kind not in known:
            guess = nearest(kind, known) or f": choose from {', '.join(known)}"
            raise argparse.ArgumentTypeError(f"{kind!r} is no kind of column{guess}")
        kinds[column] = kind
    return kinds


def _number_or(word: str, number: type[int] | type[float]) -> Any:
    def parse(text: str) -> float | str:
        if text == word:
            return word
        try:
            return number(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"needs a number or {word}, got {text!r}") from None

    return parse
