"""The models that parameters ask for: one, or several for the data to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sticktree.engine.own.kinds import KINDS
from sticktree.errors import ParameterError
from sticktree.model import Column, CovarianceType, LeafNoise, Model
from sticktree.processes.divergence import (
    Concentration,
    ConstantDivergence,
    Divergence,
    LogDivergence,
    resolve_concentration,
)

MOST_COLUMNS = 32  # Gaussian columns for which each leaf may have a full covariance of its own
# A full covariance of as many columns as rows says nothing of the tree: it explains any tree as
# well. Tables of more than a few columns have so many rows for each, or their noise is diagonal.
FEW_COLUMNS, ROWS_OF_COLUMN = 8, 10
# Rate of the prior of 1/v_l. Two rows whose ways part at a level are v_l away from each other in
# every column, so that many columns need small steps only; with one or two, small steps would make
# leaves of nothing but noise.
RATE_OF_SCALES, LARGEST_RATE = 20.0, 10.0
RATE_OF_NOISE = 0.01  # of the prior of its precision, where columns are few
FINEST = 1e-3  # resolution, in standardised units, where each leaf has a full covariance
DEPTH = 4  # if none is asked for, and the data do not choose
# The data choose between one level and this depth, if none is asked for. Depths between the two
# gain at most 0.002 nats a row on eleven sets. With shared noise deeper trees may pay: on 24 drugs,
# 16 steps are 0.6 nats a row ahead of 4. Leaves with their own noise gain nothing by them.
DEEPEST: dict[LeafNoise, int] = {"shared": 16, "own": 4}
OF_MODEL = (  # parameters that the model takes as they are
    "scales",
    "concentration",
    "discount",
    "concentration_prior",
    "discount_prior",
    "node_prior",
)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The models that parameters ask for.

    Attributes
    ----------
    base : Model
        Every choice but those that depend on the data.
    depth : int or None
        The depth that was asked for; None leaves it to the data, or to the divergence.
    divergence : object
        A divergence, array or function of the level.
    covariance_type, leaf_noise : str
        What was asked for, "auto" included.
    steps : dict of Concentration
        The concentrations of each depth to choose from.
    precision_prior, scale_prior : (float, float) or None
        What was asked for; None leaves it to the numbers of rows and columns.
    """

    base: Model
    depth: int | None
    divergence: Any
    covariance_type: str
    leaf_noise: str
    steps: dict[int | None, Concentration]
    precision_prior: tuple[float, float | None] | None
    scale_prior: tuple[float, float] | None

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Candidates:
        """Return what parameters ask for, each of which has been checked by itself."""
        depth, divergence = parameters["depth"], parameters["divergence"]
        if depth == 1 and isinstance(divergence, LogDivergence):
            # Of one step, b(0) = log(1/0) would give every datum a place of its own and leave no
            # level at all. A stick that breaks once is the Dirichlet process mixture.
            divergence = ConstantDivergence(divergence.c)
        usual = _or_usual(divergence, depth)
        resolved = resolve_concentration(divergence, usual, name="divergence")
        base = Model(
            shape=resolved.alpha,
            private_step=resolved.private_step,
            less_discount=isinstance(divergence, Divergence) and divergence.less_discount,
            **{name: parameters[name] for name in OF_MODEL},
        )
        forms = parameters["covariance_type"], parameters["leaf_noise"]
        priors = parameters["precision_prior"], parameters["scale_prior"]
        asked = cls(base, depth, divergence, *forms, {usual: resolved}, *priors)
        for other in asked._depths("shared"):  # they are more than with own noise
            asked.steps[other] = resolve_concentration(divergence, other, name="divergence")
        return asked

    def models(
        self, columns: tuple[Column, ...], level: int | None, n_rows: int | None = None
    ) -> list[tuple[str, Model]]:
        """Return the models for columns, with their names; all have nodes at ``level``.

        Whether the data may choose a full covariance depends on the number of rows; None is any.
        """
        n_gaussian = sum(column.kind == "gaussian" for column in columns)
        full = may_be_full(n_gaussian, n_rows)
        mixed = n_gaussian < len(columns)
        check_noise(self.leaf_noise, [column.kind for column in columns])
        forms: list[tuple[LeafNoise, CovarianceType]] = []
        if self.covariance_type != "auto":
            own = mixed or self.leaf_noise == "own"
            forms.append(("own" if own else "shared", self.covariance_type))  # type: ignore[arg-type]
        else:
            if not mixed and self.leaf_noise != "own":
                forms.append(("shared", "full" if full else "diag"))
            if self.leaf_noise != "shared":
                forms.append(("own", "diag"))
                if full and 2 <= n_gaussian <= MOST_COLUMNS:
                    forms.append(("own", "full"))
        named = [
            (f"{noise} {form}, depth {depth}", self._model(noise, form, depth, columns, full))
            for noise, form in forms
            for depth in self._depths(noise)
        ]
        return [(name, model) for name, model in named if model.depth >= (level or 0)]

    @property
    def most_levels(self) -> int:
        """The most levels that a candidate may have."""
        if self.leaf_noise == "own":
            return self.base.depth
        return max(steps.alpha.size for steps in self.steps.values())

    def _depths(self, leaf_noise: LeafNoise) -> list[Any]:
        """Return the depths to choose from: smaller ones too, if the data choose."""
        known = isinstance(self.divergence, LogDivergence | ConstantDivergence)
        if self.covariance_type != "auto" or not known:
            return [_or_usual(self.divergence, self.depth)]
        # With the log divergence the last step is each datum's own: depth 2 has one level.
        least = 2 if isinstance(self.divergence, LogDivergence) else 1
        deep = DEEPEST[leaf_noise] if self.depth is None else self.depth
        return sorted({min(least, deep), deep})

    def _model(
        self,
        leaf_noise: LeafNoise,
        covariance_type: CovarianceType,
        depth: int,
        columns: tuple[Column, ...],
        enough_rows: bool,
    ) -> Model:
        steps = self.steps[depth]
        if leaf_noise == "own" and covariance_type == "full":
            # Columns that add up to another one would make every leaf flat.
            columns = tuple(replace(c, floor=max(c.floor, FINEST**2 / 12.0)) for c in columns)
        # A fixed rate makes each column that tells nothing of the tree cost several nats: of more
        # than a few columns learned ones predict as well or better, on digits by 6 nats a row. In
        # the plane they have nothing to learn: on R15 they lose 0.006.
        rates = (1.0, RATE_OF_NOISE if len(columns) <= FEW_COLUMNS else None)
        scales = LARGEST_RATE if enough_rows else min(RATE_OF_SCALES / len(columns), LARGEST_RATE)
        return replace(
            self.base,
            precision_prior=self.precision_prior or rates,
            scale_prior=self.scale_prior or (1.0, scales),
            shape=steps.alpha,
            private_step=steps.private_step,
            covariance_type=covariance_type,
            leaf_noise=leaf_noise,
            columns=columns,
        )


def may_be_full(n_columns: int, n_rows: int | None) -> bool:
    """Return whether rows are enough for the data to choose a full covariance."""
    few = n_columns <= FEW_COLUMNS or n_rows is None
    return few or n_columns * ROWS_OF_COLUMN <= n_rows  # type: ignore[operator]


def _or_usual(divergence: Any, depth: Any) -> Any:
    """Return the depth, or the usual one; an array has its own number of steps."""
    if depth is None and (isinstance(divergence, Divergence) or callable(divergence)):
        return DEPTH
    return depth


def check_noise(leaf_noise: str, kinds: Iterable[str]) -> None:
    """Raise if leaves are to share their noise and columns have none that can be shared."""
    others = sorted(kind for kind in set(kinds) if not KINDS[kind].likelihood.is_continuous)
    if others and leaf_noise == "shared":
        raise ParameterError(
            "leaf_noise",
            leaf_noise,
            "own or auto unless all columns are gaussian",
            shown=f"shared with {', '.join(others)} columns",
        )
