"""The parameters of the estimators: one table.

From it come the checks at ``fit``, the options of ``sticktree fit``, the models that have names of
their own, and the table in the documentation. What a parameter is for at length is in the docstring
of :class:`~sticktree.DFPMixture`, whose signature and first sentences agree with this table.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sticktree.checks import (
    as_numbers,
    check_discount,
    check_integer,
    check_positive,
    is_integer,
)
from sticktree.errors import ParameterError

__all__ = [
    "PARAMETERS",
    "PRESETS",
    "Choice",
    "Family",
    "Flag",
    "Later",
    "Learned",
    "Parameter",
    "Preset",
    "Resolution",
    "Whole",
    "check_level",
    "checked",
    "draws_depend_on",
]

# ---- what is allowed ---------------------------------------------------------------------------


class Allowed(ABC):
    """The values that a parameter may have.

    Attributes
    ----------
    words : str
        The values, as docstrings write them.
    """

    words: str

    @abstractmethod
    def check(self, name: str, value: Any) -> Any:
        """Return a value in the form that the fit uses, or raise a ParameterError."""


@dataclass(frozen=True)
class Choice(Allowed):
    """One of some words."""

    choices: tuple[str, ...]

    @property
    def words(self) -> str:  # type: ignore[override]
        """The words in braces."""
        return "{" + ", ".join(f'"{choice}"' for choice in self.choices) + "}"

    def check(self, name: str, value: Any) -> str:
        """Return one of the words."""
        if not isinstance(value, str) or value not in self.choices:
            raise ParameterError(name, value, f"one of {self.choices}")
        return str(value)


@dataclass(frozen=True)
class Whole(Allowed):
    """An integer of at least ``minimum``; None where ``optional``, for which ``also`` may stand."""

    minimum: int
    optional: bool = False
    also: int | None = None

    @property
    def words(self) -> str:  # type: ignore[override]
        """The type."""
        return "int or None" if self.optional else "int"

    def check(self, name: str, value: Any) -> int | None:
        """Return an int, or None."""
        if (self.optional and value is None) or (self.also is not None and value == self.also):
            return None
        return check_integer(name, value, minimum=self.minimum)


@dataclass(frozen=True)
class Flag(Allowed):
    """True or False, and None if it is allowed."""

    optional: bool = False

    @property
    def words(self) -> str:  # type: ignore[override]
        """The type."""
        return "bool or None" if self.optional else "bool"

    def check(self, name: str, value: Any) -> bool | None:
        """Return a bool, or None."""
        if self.optional and value is None:
            return None
        if not isinstance(value, bool | np.bool_):
            raise ParameterError(name, value, "True, False or None" if self.optional else "a bool")
        return bool(value)


class Learned(Allowed):
    """A number in a range, or None to learn it."""

    words = "float or None"

    def check(self, name: str, value: Any) -> float | None:
        """Return a float, or None."""
        if value is None:
            return None
        return check_discount(value) if name == "discount" else check_positive(name, value)


class Pair(Allowed):
    """Two parameters of a prior."""

    words = "(float, float)"

    def check(self, name: str, value: Any) -> tuple[float, float]:
        """Return two floats."""
        try:
            first, second = value
        except (TypeError, ValueError):
            raise ParameterError(name, value, "two numbers greater than 0") from None
        return check_positive(f"{name}[0]", first), check_positive(f"{name}[1]", second)


class Family(Allowed):
    """A divergence: by name, or as :func:`~sticktree.processes.resolve_concentration` takes it."""

    words = '{"log", "constant", "diffusion"}, array, callable or Divergence'
    choices = ("log", "constant", "diffusion")

    def check(self, name: str, value: Any) -> Any:
        """Return the divergence of a name, and others as they are."""
        from sticktree.processes import ConstantDivergence, DiffusionDivergence, LogDivergence

        if not isinstance(value, str):
            return value  # it is checked together with the depth
        families: tuple[Any, ...] = (LogDivergence, ConstantDivergence, DiffusionDivergence)
        for choice, family in zip(self.choices, families, strict=True):
            if value == choice:
                return family()
        names = ", ".join(f'"{choice}"' for choice in self.choices)
        raise ParameterError(name, value, f"{names}, an array, a function or a Divergence")


class Resolution(Allowed):
    """Numbers of at least 0, or "auto"."""

    words = '"auto", float or array'

    def check(self, name: str, value: Any) -> Any:
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


class Level(Allowed):
    """A level of the tree, whose last one is known when the model is; or None."""

    words = "int or None"

    def check(self, name: str, value: Any) -> Any:
        """Return it as it is: see :func:`check_level`."""
        return value


class Path(Allowed):
    """A folder, or None."""

    words = "path or None"

    def check(self, name: str, value: Any) -> Any:
        """Return it as it is."""
        if value is None or isinstance(value, str | os.PathLike):
            return value
        raise ParameterError(name, value, "a path or None")


@dataclass(frozen=True)
class Later(Allowed):
    """What only the data or another package can check."""

    words: str

    def check(self, name: str, value: Any) -> Any:
        """Return it as it is."""
        return value


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
        The default as the terminal says it, where its value alone does not tell.
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


PARAMETERS: dict[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        Parameter(
            "depth",
            None,
            Whole(1, optional=True),
            "how often the stick breaks",
            "depth",
            "T",
            "chosen by the data together with the covariance, else 4",
        ),
        Parameter(
            "divergence",
            "log",
            Family(),
            "how the concentration depends on the level",
            "divergence",
            default_words="log, as in the paper",
        ),
        Parameter(
            "concentration",
            None,
            Learned(),
            "the factor c of the concentrations: larger means more branches",
            "concentration",
            "C",
            "learn",
        ),
        Parameter(
            "discount",
            0.0,
            Learned(),
            "the Pitman–Yor discount in [0, 1): larger means more small branches",
            "discount",
            "D",
        ),
        Parameter(
            "covariance_type",
            "auto",
            Choice(("auto", "full", "diag", "spherical")),
            "the form of the covariance of the noise",
            "covariance",
            default_words="auto: chosen by the data, together with the depth",
        ),
        Parameter(
            "leaf_noise",
            "auto",
            Choice(("auto", "shared", "own")),
            "whether all leaves have the same noise, or each its own",
            "noise",
            default_words="auto: chosen by the data with the covariance, else shared",
        ),
        Parameter(
            "columns",
            None,
            Later("dict, sequence or None"),
            "the kinds of the columns",
            "kinds",
            "A=KIND,…",
            default_words="by the types of the columns",
        ),
        Parameter(
            "resolution",
            "auto",
            Resolution(),
            "how finely each column was measured: no cluster is narrower",
            "resolution",
            "R",
            "auto: the smallest gap where values repeat",
        ),
        Parameter(
            "scales",
            "per_level",
            Choice(("per_level", "shared")),
            "whether the steps of each level have a variance of their own",
            "scales",
        ),
        Parameter(
            "concentration_prior",
            (1.0, 1.0),
            Pair(),
            "shape and rate of the Gamma prior of c",
        ),
        Parameter(
            "precision_prior",
            (1.0, 0.01),
            Pair(),
            "shape and rate of the Gamma prior of the noise's precision",
        ),
        Parameter(
            "scale_prior",
            (1.0, 10.0),
            Pair(),
            "shape and rate of the Gamma prior of each level's inverse scale",
        ),
        Parameter(
            "node_prior",
            (2.0, 0.5),
            Pair(),
            "with own noise: shape and rate of the Gamma prior of the inverse variance of a step",
        ),
        Parameter(
            "discount_prior",
            (1.0, 1.0),
            Pair(),
            "the two parameters of the Beta prior of the discount",
        ),
        Parameter(
            "standardize",
            True,
            Flag(),
            "whether columns are centred and scaled inside",
            "standardize",
        ),
        Parameter("n_chains", 4, Whole(1), "the number of independent chains", "chains", "K"),
        Parameter(
            "n_warmup",
            1000,
            Whole(0),
            "the first sweeps of each chain, which are thrown away",
            "warmup",
            "N",
        ),
        Parameter(
            "n_draws",
            1000,
            Whole(1),
            "the number of draws that are kept of each chain",
            "draws",
            "N",
            changes_draws=False,
        ),
        Parameter("thin", 1, Whole(1), "sweeps from one draw to the next", "thin", "N"),
        Parameter(
            "level",
            None,
            Level(),
            "the level of the tree whose clusters are reported",
            "level",
            "L",
            "the one on which the draws agree best",
            changes_draws=False,
        ),
        Parameter(
            "n_jobs",
            None,
            Whole(1, optional=True, also=-1),
            "threads that run chains",
            "jobs",
            "N",
            "one for each chain, as far as there are cores",
            changes_draws=False,
        ),
        Parameter(
            "random_state",
            None,
            Later("int, RandomState, Generator or None"),
            "the seed: the same seed gives the same draws",
            "seed",
            "SEED",
            default_words="a fresh one",
        ),
        Parameter(
            "warm_start",
            False,
            Flag(),
            "whether to go on from the last fit",
            changes_draws=False,
        ),
        Parameter(
            "progress",
            None,
            Flag(optional=True),
            "whether to show the progress of every chain",
            default_words="on a terminal",
            changes_draws=False,
        ),
        Parameter(
            "checkpoint",
            None,
            Path(),
            "a folder in which the run is saved every half minute and at its end",
            changes_draws=False,
        ),
        Parameter(
            "algorithm",
            "auto",
            Choice(("auto", "gibbs", "parallel")),
            "how the posterior is sampled",
            "algorithm",
            default_words="auto: by the number of rows",
        ),
    )
}


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
