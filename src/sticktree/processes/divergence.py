"""Divergence functions: the concentration α(l) = c·b(l) of every level.

A concentration may be infinite in the last step, and there only: then every datum gets a child of
its own. No tree represents those children one by one. The last step becomes a *private step*: the
tree has one level less, and each datum takes the step from its leaf by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_discount, check_integer, check_positive, is_real
from sticktree.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Concentration:
    """The concentrations of a tree, resolved for a number of steps.

    Attributes
    ----------
    alpha : read-only float array, shape (L,)
        Finite, and greater than −d: ``alpha[l]`` rules how data at level l choose among its
        children.
    private_step : bool
        Whether a step with infinite concentration follows the last level.
    discount : float
        The Pitman–Yor discount d of the law that they are for.
    """

    alpha: FloatArray
    private_step: bool = False
    discount: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        """Check and freeze the concentrations."""
        alpha = np.array(self.alpha, dtype=np.float64, ndmin=1)
        least = 0.0 - check_discount(self.discount)
        wrong = np.flatnonzero(~((alpha > least) & np.isfinite(alpha)))
        if wrong.size:
            level = int(wrong[0])
            bound = f"greater than {least:g}" + ", the discount below 0" * (least < 0)
            valid = bound if not alpha[level] > least else "finite"
            shown = f"{alpha[level]:g} at level {level}"
            raise ParameterError("concentration", alpha, f"{valid} at every level", shown=shown)
        alpha.setflags(write=False)
        object.__setattr__(self, "alpha", alpha)

    @property
    def depth(self) -> int:
        """Number of levels below the root, L."""
        return self.alpha.size


class Divergence(ABC):
    """A family of divergence functions α(l) = c·b(l), b fixed by the number of steps.

    Parameters
    ----------
    c : float, default=1
        The factor that is learned from data.

    Attributes
    ----------
    less_discount : bool
        Whether the discount d of the law is taken off: α(l) = c·b(l) − d.
    """

    less_discount: bool = False

    def __init__(self, c: float = 1.0) -> None:
        self.c = check_positive("c", c)

    @abstractmethod
    def shape(self, n_steps: int) -> FloatArray:
        """Return b(0), …, b(n_steps − 1)."""

    def alpha(self, n_steps: int) -> FloatArray:
        """Return α(0), …, α(n_steps − 1)."""
        return self.c * self.shape(check_integer("n_steps", n_steps, minimum=1))

    def __repr__(self) -> str:
        """Return the family and its factor."""
        return f"{type(self).__name__}(c={self.c:g})"


class LogDivergence(Divergence):
    """The divergence of the paper and of the Dirichlet diffusion tree: c·log((T − l)/(T − l − 1)).

    It is the increase of a(s) = ∫₀ˢ c/(1 − u) du = −c·log(1 − s) over the l-th of T equal steps of
    the unit interval, and so infinite in the last one.

    Examples
    --------
    >>> from sticktree.processes import LogDivergence
    >>> LogDivergence().alpha(3).round(4)
    array([0.4055, 0.6931,    inf])
    """

    def shape(self, n_steps: int) -> FloatArray:
        """Return b(0), …, b(n_steps − 1), the last infinite."""
        left = np.arange(n_steps, 0, -1, dtype=np.float64)  # T − l
        with np.errstate(divide="ignore"):
            return -np.log1p(-1.0 / left)


class DiffusionDivergence(LogDivergence):
    """The divergence of diffusion trees in continuous time: the log divergence less the discount.

    With α(l) = c·b(l) − d, a datum that follows n others who have not parted yet leaves them with
    probability c·b/(n − d + c·b), which tends to a(t)dt/(n − d) as steps get finer,
    a(t) = c/(1 − t); and at a point where the path has parted K ways it opens another with
    probability (c·b + d(K − 1))/(n − d + c·b), which tends to d(K − 1)/(n − d). This is the
    Pitman–Yor diffusion tree of Knowles and Ghahramani (2011) with their α = d and θ = −d, and the
    Dirichlet diffusion tree of Neal (2003) if d = 0. With α(l) = c·b(l) and d > 0 data would leave
    an only child with probability d/n in every step, however fine, and there is no limit. With
    other θ a path parts in the first place and again by different rules, and the tree is not a
    nested restaurant.

    Examples
    --------
    >>> from sticktree.processes import DiffusionDivergence, NestedRestaurant
    >>> NestedRestaurant(DiffusionDivergence(), depth=3, discount=0.5)
    NestedRestaurant([-0.0945, 0.1931], discount=0.5)
    """

    less_discount = True


class ConstantDivergence(Divergence):
    """The same concentration c at every level."""

    def shape(self, n_steps: int) -> FloatArray:
        """Return ones."""
        return np.ones(n_steps)


ConcentrationLike = float | npt.ArrayLike | Callable[[int], float] | Divergence | Concentration
"""A number for all levels, one number per level, a function of the level, or a divergence."""


def resolve_concentration(
    concentration: ConcentrationLike,
    depth: int | None = None,
    *,
    discount: float = 0.0,
    name: str = "concentration",
) -> Concentration:
    """Turn what a user may give into the concentrations of ``depth`` steps.

    Parameters
    ----------
    concentration : float, array, callable or Divergence
        A number for all levels; an array with one number for each step; a function of the level;
        or a divergence.
    depth : int, optional
        How often the stick breaks. Arrays know it themselves.
    discount : float, default=0
        The Pitman–Yor discount d of the law; concentrations must be greater than −d.
    name : str, default="concentration"
        What errors call the concentration.

    Examples
    --------
    >>> from sticktree.processes import LogDivergence, resolve_concentration
    >>> resolve_concentration(LogDivergence(c=2), depth=3)
    Concentration(alpha=array([0.81093022, 1.38629436]), private_step=True)
    """
    if isinstance(concentration, Concentration):
        _check_depth(depth, concentration.depth + concentration.private_step, name)
        if concentration.discount == discount:
            return concentration
        return Concentration(concentration.alpha, concentration.private_step, discount)
    if depth is None and (
        is_real(concentration) or isinstance(concentration, Divergence) or callable(concentration)
    ):
        raise ParameterError("depth", None, "an integer of at least 1")
    if depth is not None:
        depth = check_integer("depth", depth, minimum=1)
    alpha = _alpha(concentration, depth, name)
    if isinstance(concentration, Divergence) and concentration.less_discount:
        alpha = alpha - discount
    _check_depth(depth, alpha.size, name)
    infinite = np.flatnonzero(np.isposinf(alpha))
    if infinite.size and infinite[0] < alpha.size - 1:
        raise ValueError(
            f"{name} is infinite at level {infinite[0]}: only the last of the "
            f"{alpha.size} steps may be infinite"
        )
    if infinite.size and alpha.size == 1:
        expected = "at least 2 where the last step has infinite concentration"
        raise ParameterError("depth", 1, expected, "with 1 no level would be left")
    try:
        return Concentration(alpha[: alpha.size - infinite.size], bool(infinite.size), discount)
    except ParameterError as error:
        raise (error.renamed(name) if error.name == "concentration" else error) from None


def _alpha(concentration: ConcentrationLike, depth: int | None, name: str) -> FloatArray:
    values: object = concentration
    if depth is not None:
        if isinstance(concentration, Divergence):
            return concentration.alpha(depth)
        if callable(concentration):
            values = [concentration(level) for level in range(depth)]
        elif is_real(concentration):
            values = [concentration] * depth
    try:
        alpha = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        alpha = np.empty(0)
    if alpha.ndim != 1 or alpha.size == 0:
        expected = "a number, one number per level, a function of the level or a Divergence"
        raise ParameterError(name, concentration, expected)
    return alpha


def _check_depth(depth: int | None, given: int, name: str) -> None:
    if depth is not None and depth != given:
        raise ValueError(f"depth is {depth}, but {name} has {given} steps")


class NestedLaw:
    """A law over trees with one kind of choice at every level: the base of sticks and restaurant.

    Parameters
    ----------
    concentration : float, array, callable or Divergence
        α(l) > −d for every level; see :func:`resolve_concentration`.
    depth : int, optional
        How often data choose a branch; not needed where ``concentration`` is an array.
    discount : float, default=0
        The Pitman–Yor discount d in [0, 1).
    """

    def __init__(
        self,
        concentration: ConcentrationLike,
        depth: int | None = None,
        *,
        discount: float = 0.0,
    ) -> None:
        self.discount = check_discount(discount)
        self.concentration = resolve_concentration(concentration, depth, discount=self.discount)

    @property
    def depth(self) -> int:
        """Number of levels of its trees below the root."""
        return self.concentration.depth

    def __repr__(self) -> str:
        """Return the concentrations and the discount."""
        alpha = self.concentration.alpha.round(4).tolist()
        return f"{type(self).__name__}({alpha}, discount={self.discount:g})"
