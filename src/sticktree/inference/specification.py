"""What the parameters of an estimator ask for: one model, or several to choose from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sticktree.checks import check_discount, check_positive
from sticktree.model import Column, CovarianceType, LeafNoise, Model
from sticktree.processes.divergence import (
    Concentration,
    ConstantDivergence,
    DiffusionDivergence,
    Divergence,
    LogDivergence,
    resolve_concentration,
)

__all__ = ["Specification"]

MOST_COLUMNS = 64  # Gaussian columns for which each leaf may have a full covariance of its own
FINEST = 1e-3  # resolution, in standardised units, of columns with a full covariance
DEPTH = 4  # if none is asked for, and the data do not choose
DEEPEST = 4  # the data choose among depths up to this, and the one that was asked for
# With shared noise deeper trees may pay: on 24 drugs, 16 steps are 0.6 nats a row ahead of 4. If no
# depth is asked for, these are candidates too. Leaves with their own noise gain nothing by them.
DEEPER = (8, 16)


@dataclass(frozen=True, eq=False)
class Specification:
    """The parameters of an estimator, checked.

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
    """

    base: Model
    depth: Any
    divergence: Any
    covariance_type: str
    leaf_noise: str

    @classmethod
    def of(cls, parameters: dict[str, Any]) -> Specification:
        """Check the parameters of an estimator that have to do with the model."""
        families = {
            "log": LogDivergence(),
            "constant": ConstantDivergence(),
            "diffusion": DiffusionDivergence(),
        }
        divergence = parameters["divergence"]
        if isinstance(divergence, str):
            if divergence not in families:
                raise ValueError(
                    'divergence must be "log", "constant", "diffusion", an array, a function or a '
                    f"Divergence, got {divergence!r}"
                )
            divergence = families[divergence]
        resolved = _resolve(divergence, _or_usual(divergence, parameters["depth"]))
        for name, allowed in (
            ("covariance_type", ("auto", "full", "diag", "spherical")),
            ("leaf_noise", ("auto", "shared", "own")),
            ("scales", ("per_level", "shared")),
        ):
            if parameters[name] not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, got {parameters[name]!r}")
        if parameters["concentration"] is not None:
            check_positive("concentration", parameters["concentration"])
        if parameters["discount"] is not None:
            check_discount(parameters["discount"])
        base = Model(
            shape=resolved.alpha,
            private_step=resolved.private_step,
            scales=parameters["scales"],
            concentration=parameters["concentration"],
            discount=parameters["discount"],
            concentration_prior=_pair("concentration_prior", parameters),
            precision_prior=_pair("precision_prior", parameters),
            scale_prior=_pair("scale_prior", parameters),
            discount_prior=_pair("discount_prior", parameters),
            node_prior=_pair("node_prior", parameters),
            less_discount=isinstance(divergence, Divergence) and divergence.less_discount,
        )
        return cls(
            base,
            parameters["depth"],
            divergence,
            parameters["covariance_type"],
            parameters["leaf_noise"],
        )

    def candidates(self, columns: tuple[Column, ...], level: int | None) -> list[tuple[str, Model]]:
        """Return the models that are asked for, with their names; all have nodes at ``level``."""
        n_gaussian = sum(column.kind == "gaussian" for column in columns)
        mixed = n_gaussian < len(columns)
        if mixed and self.leaf_noise == "shared":
            kinds = sorted({column.kind for column in columns} - {"gaussian"})
            raise ValueError(
                f'leaf_noise="shared" is for gaussian columns only, got {", ".join(kinds)}; say '
                'leaf_noise="own"'
            )
        forms: list[tuple[LeafNoise, CovarianceType]] = []
        if self.covariance_type != "auto":
            own = mixed or self.leaf_noise == "own"
            forms.append(("own" if own else "shared", self.covariance_type))  # type: ignore[arg-type]
        else:
            if not mixed and self.leaf_noise != "own":
                forms.append(("shared", "full"))
            if self.leaf_noise != "shared":
                forms.append(("own", "diag"))
                if 2 <= n_gaussian <= MOST_COLUMNS:
                    forms.append(("own", "full"))
        named = [
            (f"{noise} {form}, depth {depth}", self._model(noise, form, depth, columns))
            for noise, form in forms
            for depth in self._depths(noise)
        ]
        return [(name, model) for name, model in named if model.depth >= (level or 0)]

    @property
    def most_levels(self) -> int:
        """The most levels that a candidate may have."""
        if self.depth is not None or self.leaf_noise == "own":
            return self.base.depth
        return max(_resolve(self.divergence, depth).depth for depth in self._depths("shared"))

    def _depths(self, leaf_noise: LeafNoise) -> list[Any]:
        """Return the depths to choose from: all that are fewer, if the data choose."""
        known = isinstance(self.divergence, LogDivergence | ConstantDivergence)
        if self.covariance_type != "auto" or not known:
            return [_or_usual(self.divergence, self.depth)]
        # With the log divergence the last step is each datum's own: depth 2 has one level.
        least = 2 if isinstance(self.divergence, LogDivergence) else 1
        if self.depth is None:
            deeper = DEEPER if leaf_noise == "shared" else ()
            return [*range(least, DEEPEST + 1), *deeper]
        return sorted({*range(least, min(self.depth, DEEPEST) + 1), self.depth})

    def _model(
        self,
        leaf_noise: LeafNoise,
        covariance_type: CovarianceType,
        depth: int,
        columns: tuple[Column, ...],
    ) -> Model:
        resolved = _resolve(self.divergence, depth)
        if covariance_type == "full":
            # Columns that add up to another one would make every leaf flat.
            columns = tuple(replace(c, floor=max(c.floor, FINEST**2 / 12.0)) for c in columns)
        return replace(
            self.base,
            shape=resolved.alpha,
            private_step=resolved.private_step,
            covariance_type=covariance_type,
            leaf_noise=leaf_noise,
            columns=columns if leaf_noise == "own" else None,
        )


def _or_usual(divergence: Any, depth: Any) -> Any:
    """Return a depth, the usual one if there is none; an array has as many steps as it has."""
    if depth is None and (isinstance(divergence, Divergence) or callable(divergence)):
        return DEPTH
    return depth


def _resolve(divergence: Any, depth: Any) -> Concentration:
    """Resolve b(l); it is checked as a concentration, but here its name is another."""
    try:
        return resolve_concentration(divergence, depth)
    except ValueError as error:
        text = str(error)
        if not text.startswith("depth must"):
            text = text.replace("concentration", "divergence", 1)
        raise ValueError(text) from None


def _pair(name: str, parameters: dict[str, Any]) -> tuple[float, float]:
    value = parameters[name]
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be two numbers greater than 0, got {value!r}") from None
    return check_positive(f"{name}[0]", first), check_positive(f"{name}[1]", second)
