"""The parameters of the estimators: one table.

From it come the checks at ``fit``, the options of ``sticktree fit``, the models that have names of
their own, and the table in the documentation. What a parameter is for at length is in the docstring
of :class:`~sticktree.DFPMixture`, whose signature and first sentences agree with this table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from sticktree.checks import (
    as_numbers,
    check_discount,
    check_integer,
    check_positive,
    is_integer,
    is_real,
)
from sticktree.errors import ParameterError

MOST = 10**9  # sweeps, chains and the like: of more nothing would ever come
DEEPEST = 10_000  # levels; what a sweep costs grows with their square

# ---- what is allowed ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Allowed:
    """The values that a parameter may have.

    Attributes
    ----------
    words : str
        The values, as docstrings write them.
    check : callable
        Takes the name of the parameter and a value; returns the value in the form that the fit
        uses, or raises a ParameterError.
    typed : str
        How a terminal gives it: "whole" numbers, "number", "choice", "switch", or not at all.
    choices : tuple of str
        Words to choose from.
    word : str or None
        A word that may stand in place of a number.
    """

    words: str
    check: Callable[[str, Any], Any]
    typed: Literal["whole", "number", "choice", "switch", "not"] = "not"
    choices: tuple[str, ...] = ()
    word: str | None = None


def _later(words: str, typed: Literal["whole", "not"] = "not") -> Allowed:
    """Allow what only the data or the model can check."""
    return Allowed(words, lambda name, value: value, typed)


def _one_of(*choices: str) -> Allowed:
    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ParameterError(name, value, f"one of {choices}")
        return str(value)

    return Allowed("{" + _quoted(choices) + "}", check, "choice", choices)


def _whole(
    minimum: int, *, optional: bool = False, also: int | None = None, most: int = MOST
) -> Allowed:
    """Allow integers; None where it is ``optional``, and ``also`` a number that means None."""

    def check(name: str, value: Any) -> int | None:
        if optional and (value is None or (is_integer(value) and value == also)):
            return None
        return _at_most(most, name, check_integer(name, value, minimum=minimum))

    return Allowed("int or None" if optional else "int", check, "whole")


def _whole_or_auto(minimum: int) -> Allowed:
    """Allow integers, and the word "auto", which is None to the fit."""

    def check(name: str, value: Any) -> int | None:
        if isinstance(value, str) and value == AUTO:
            return None
        if not is_integer(value) or value < minimum:
            raise ParameterError(name, value, f'"auto" or an integer of at least {minimum}')
        return _at_most(MOST, name, int(value))

    return Allowed('"auto" or int', check, "whole", word=AUTO)


def _at_most(most: int, name: str, value: int) -> int:
    """Return a number, or raise if it is so large that nothing would ever come of it."""
    if value > most:
        raise ParameterError(name, value, f"an integer of at most {most}")
    return value


def _check_factors(name: str, value: Any) -> int | str | None:
    """Return a number of factors, "auto", or None for none, as which 0 is understood too."""
    if value is None or (isinstance(value, str) and value == AUTO):
        return value
    if not is_integer(value) or value < 0:
        raise ParameterError(name, value, 'None, "auto" or an integer of at least 0')
    return int(value) or None


def _flag(*, optional: bool = False) -> Allowed:
    def check(name: str, value: Any) -> bool | None:
        if optional and value is None:
            return None
        if not isinstance(value, bool | np.bool_):
            raise ParameterError(name, value, "True, False or None" if optional else "a bool")
        return bool(value)

    return Allowed("bool or None" if optional else "bool", check, "switch")


def _check_pair(name: str, value: Any) -> tuple[float, float]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ParameterError(name, value, "two numbers greater than 0") from None
    return check_positive(f"{name}[0]", first), check_positive(f"{name}[1]", second)


def _check_pair_or_auto(name: str, value: Any) -> tuple[float, float] | None:
    """Return two numbers, or None for "auto"."""
    if isinstance(value, str):
        if value == AUTO:
            return None
        raise ParameterError(name, value, '"auto" or two numbers greater than 0')
    return _check_pair(name, value)


def _check_open_pair(name: str, value: Any) -> tuple[float, float | None] | None:
    """Return two numbers, the second of which may be left open, or None for "auto"."""
    try:
        first, second = value
    except (TypeError, ValueError):
        if isinstance(value, str) and value == AUTO:
            return None
        expected = '"auto", or two numbers greater than 0, the second of which may be None'
        raise ParameterError(name, value, expected) from None
    if second is None:
        return check_positive(f"{name}[0]", first), None
    return _check_pair(name, value)


def _check_divergence(name: str, value: Any) -> Any:
    """Return the divergence of a name; others are checked together with the depth."""
    from sticktree.processes import ConstantDivergence, DiffusionDivergence, LogDivergence

    if not isinstance(value, str):
        return value
    if value not in FAMILIES:
        expected = f"{_quoted(FAMILIES)}, an array, a function or a Divergence"
        raise ParameterError(name, value, expected)
    return (LogDivergence, ConstantDivergence, DiffusionDivergence)[FAMILIES.index(value)]()


def _check_kinship(name: str, value: Any) -> float | None:
    """Return κ; at 0 parents do not matter, at 1 a group has nothing but what its parent has."""
    if value is not None and not (is_real(value) and 0.0 < float(value) < 1.0):
        raise ParameterError(name, value, "above 0 and below 1, or None to learn it")
    return None if value is None else float(value)


def _check_resolution(name: str, value: Any) -> Any:
    """Return the resolutions as an array, or None if they are to be estimated."""
    if isinstance(value, str) and value == "auto":
        return None
    try:
        values = as_numbers(name, value)
    except ParameterError:
        values = np.array(np.nan)
    if values.ndim > 1 or not (np.isfinite(values) & (values >= 0)).all():
        expected = '"auto", or a number of at least 0 for all columns or for each'
        raise ParameterError(name, value, expected)
    return values


def _check_path(name: str, value: Any) -> Any:
    if value is None or isinstance(value, str | os.PathLike):
        return value
    raise ParameterError(name, value, "a path or None")


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f'"{word}"' for word in words)


AUTO = "auto"
FAMILIES = ("log", "constant", "diffusion")
DIVERGENCE = Allowed(
    f"{{{_quoted(FAMILIES)}}}, array, callable or Divergence",
    _check_divergence,
    "choice",
    FAMILIES,
)
POSITIVE = Allowed(
    "float or None",
    lambda name, value: None if value is None else check_positive(name, value),
    "number",
    word="learn",
)
DISCOUNT = Allowed(
    "float or None",
    lambda name, value: None if value is None else check_discount(value),
    "number",
    word="learn",
)
KINSHIP = Allowed("float or None", _check_kinship, "number", word="learn")
RESOLUTION = Allowed('"auto", float or array', _check_resolution, "number", word="auto")
SECONDS = Allowed(
    "float or None",
    lambda name, value: None if value is None else check_positive(name, value),
    "number",
)
FACTORS = Allowed('"auto", int or None', _check_factors, "whole", word=AUTO)
PAIR = Allowed("(float, float)", _check_pair)
PAIR_OR_AUTO = Allowed('"auto" or (float, float)', _check_pair_or_auto)
OPEN_PAIR = Allowed('"auto" or (float, float or None)', _check_open_pair)
PATH = Allowed("path or None", _check_path)

# ---- the table ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A parameter of the estimators.

    Attributes
    ----------
    name, default : str, object
        As in the signature.
    allowed : Allowed
        What it may be.
    help : str
        What it is for, in a phrase.
    option, metavar : str or None
        The name by which ``sticktree fit`` keeps it, and how its help calls the value.
    default_words : str or None
        The default in the help of the terminal, where its value alone would not explain it.
    changes_draws : bool
        Whether draws depend on it: a fit goes on from an earlier one only if it is the same.
    """

    name: str
    default: Any
    allowed: Allowed
    help: str
    option: str | None = None
    metavar: str | None = None
    default_words: str | None = None
    changes_draws: bool = True

    def check(self, value: Any) -> Any:
        """Return a value in the form that the fit uses, or raise a ParameterError."""
        return self.allowed.check(self.name, value)

    @property
    def flag(self) -> str | None:
        """The option as it is typed; one that is on by default can only be switched off."""
        if self.option is None:
            return None
        return f"--no-{self.option}" if self.default is True else f"--{self.option}"


# fmt: off
PARAMETERS = {parameter.name: parameter for parameter in (
    Parameter("depth", None, _whole(1, optional=True, most=DEEPEST),
              "how often the stick breaks", "depth", "T",
              "chosen by the data together with the covariance, else 4"),
    Parameter("divergence", "log", DIVERGENCE,
              "how the concentration depends on the level", "divergence", None,
              "log, as in the paper"),
    Parameter("concentration", None, POSITIVE,
              "the factor c of the concentrations: larger means more branches",
              "concentration", "C", "learn"),
    Parameter("discount", 0.0, DISCOUNT,
              "the Pitman–Yor discount in [0, 1): larger means more small branches",
              "discount", "D"),
    Parameter("group_concentration", None, POSITIVE,
              "how alike groups are: larger means more alike", "group-concentration", "G", "learn"),
    Parameter("kinship", None, KINSHIP,
              "how much of a group comes by way of its parent, from 0 to 1", "kinship", "K",
              "learn"),
    Parameter("covariance_type", "auto", _one_of("auto", "full", "diag", "spherical"),
              "the form of the covariance of the noise", "covariance", None,
              "auto: chosen by the data, together with the depth"),
    Parameter("leaf_noise", "auto", _one_of("auto", "shared", "own"),
              "whether all leaves have the same noise, or each its own", "noise", None,
              "auto: chosen by the data with the covariance, else shared"),
    Parameter("columns", None, _later("dict, sequence or None"),
              "the kinds of the columns", "kinds", "A=KIND,…"),
    Parameter("resolution", "auto", RESOLUTION,
              "how finely each column was measured: no cluster is narrower", "resolution", "R",
              "auto: the smallest gap where values repeat"),
    Parameter("factors", "auto", FACTORS,
              "scores that stand for many columns, the rest of which is noise", "factors", "Q",
              "auto: counted where rows are few for the columns; 0 is none"),
    Parameter("scales", "per_level", _one_of("per_level", "shared"),
              "whether the steps of each level have a variance of their own", "scales"),
    Parameter("concentration_prior", (1.0, 1.0), PAIR,
              "shape and rate of the Gamma prior of c"),
    Parameter("precision_prior", AUTO, OPEN_PAIR,
              "shape and rate of the Gamma prior of the noise's precision"),
    Parameter("scale_prior", AUTO, PAIR_OR_AUTO,
              "shape and rate of the Gamma prior of each level's inverse scale"),
    Parameter("node_prior", (2.0, 0.5), PAIR,
              "with own noise: shape and rate of the Gamma prior of a step's inverse variance"),
    Parameter("discount_prior", (1.0, 1.0), PAIR,
              "the two parameters of the Beta prior of the discount"),
    Parameter("standardize", True, _flag(),
              "whether columns are centred and scaled inside", "standardize"),
    Parameter("n_chains", "auto", _whole_or_auto(1),
              "the number of independent chains", "chains", "K",
              "auto: 4, and 4 more where these disagree"),
    Parameter("n_warmup", "auto", _whole_or_auto(0),
              "the first sweeps of each chain, which are discarded", "warmup", "N",
              "auto: the first half of all sweeps"),
    Parameter("n_draws", "auto", _whole_or_auto(1),
              "the number of draws that are kept of each chain", "draws", "N",
              "auto: as many as it takes for the answer to be stable", changes_draws=False),
    Parameter("max_time", None, SECONDS,
              "seconds after which sampling ends with what there is", "max-time", "SECONDS",
              "no limit", changes_draws=False),
    Parameter("thin", 1, _whole(1),
              "sweeps from one draw to the next", "thin", "N"),
    Parameter("averaging", "stack", _one_of("stack", "best"),
              "whether densities are of all models that predict well, or of the best one",
              "averaging", None, "stack, by weights that predict best", changes_draws=False),
    Parameter("level", None, _later("int or None", "whole"),  # see check_level
              "the level of the draws' trees that clusters are made from", "level", "L",
              "the deepest with at most about 4 √N branches", changes_draws=False),
    Parameter("n_jobs", None, _whole(1, optional=True, also=-1),
              "threads that run chains", "jobs", "N",
              "one for each chain, as far as there are cores", changes_draws=False),
    Parameter("random_state", None, _later("int, RandomState, Generator or None"),
              "the seed: the same seed gives the same draws", "seed", "SEED"),
    Parameter("warm_start", False, _flag(),
              "whether to go on from the last fit", changes_draws=False),
    Parameter("progress", None, _flag(optional=True),
              "whether to show the progress of every chain", changes_draws=False),
    Parameter("checkpoint", None, PATH,
              "a folder in which the run is saved every half minute and at its end",
              changes_draws=False),
    Parameter("algorithm", "auto", _one_of("auto", "gibbs", "parallel"),
              "how the posterior is sampled", "algorithm", None, "auto: by the number of rows"),
)}
# fmt: on


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all parameters in the form that the fit uses.

    Raises
    ------
    ParameterError
        For the first one that has a value it cannot have, in the order of the table.
    """
    return {name: parameter.check(values[name]) for name, parameter in PARAMETERS.items()}


def draws_depend_on(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what must stay the same for a run to go on, as text that can be compared and kept."""
    return {k: repr(v) for k, v in values.items() if PARAMETERS[k].changes_draws}


def check_level(level: Any, last: int) -> None:
    """Raise unless ``level`` is None or a level of a tree whose last level is ``last``."""
    if level is not None and not (is_integer(level) and 0 <= level <= last):
        raise ParameterError("level", level, f"an integer between 0 and {last}")


# ---- models with names of their own ------------------------------------------------------------


@dataclass(frozen=True)
class Preset:
    """A model that the mixture contains.

    Attributes
    ----------
    title : str
        Its name in full.
    fixed : dict
        Parameters that make it this model.
    defaults : dict
        Parameters that have another default than in the mixture.
    """

    title: str
    fixed: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)


_DIFFUSION = {"divergence": "diffusion", "scales": "shared"}
PRESETS = {
    "dfp": Preset("Dirichlet fragmentation process"),
    "dpm": Preset(
        "Dirichlet process mixture: one level, no tree",
        {"depth": 1, "divergence": "constant", "scales": "per_level"},
        {"covariance_type": "full"},
    ),
    "ddt": Preset(
        "Dirichlet diffusion tree, in fine steps",
        _DIFFUSION,
        {"depth": 40, "covariance_type": "full"},
    ),
    "pydt": Preset(
        "Pitman–Yor diffusion tree, in fine steps",
        _DIFFUSION,
        {"depth": 40, "covariance_type": "full", "discount": None},
    ),
}
"""Models by the name that the terminal has for them."""
