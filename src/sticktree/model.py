"""The model that an engine samples: every choice and every prior, resolved and checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.tree import NULL

CovarianceType = Literal["spherical", "diag", "full"]
LeafNoise = Literal["shared", "own"]
Scales = Literal["shared", "per_level"]
Gamma = tuple[float, float]

SCALE_LIMIT = 1e10
"""The largest v_l, in units of the noise, and the inverse of the smallest.

The Gamma prior of 1/v_l has a tail in v_l that falls off like a power, and where the noise all but
vanishes in some direction the likelihood adds a power only. Sums of scales that differ by more than
this would lose the smaller ones to rounding.
"""


@dataclass(frozen=True)
class Column:
    """One column of the data.

    Attributes
    ----------
    kind : str
        The name of its likelihood; see :mod:`sticktree.engine.own.kinds`.
    n_categories : int
        How many categories it has, if categorical.
    floor : float
        What rounding adds to its variance, if Gaussian: u²/12 for values in units of u. No leaf
        with noise of its own has less.
    trials : int
        The position of the column that has its numbers of trials, if binomial; else NULL.
    """

    kind: str = "gaussian"
    n_categories: int = 1
    floor: float = 0.0
    trials: int = NULL


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows that share a tree, each with its own shares of every branch.

    Attributes
    ----------
    of_row : int array, shape (N,)
        The group of each row, 0 to J − 1.
    concentration : float or None
        γ: how alike groups are; None learns it.
    scale : float
        γ/(γ + scale) is uniform a priori.
    parents : int array, shape (J + C,), or None
        The parent of each group, or NULL: days after days. Numbers from J on are of parents that
        have no rows of their own: conditions of patients.
    kinship : float or None
        κ: how much of a group comes by way of its parent; None learns it.
    """

    of_row: IntArray
    concentration: float | None = None
    scale: float = 10.0
    parents: IntArray | None = None
    kinship: float | None = None

    @property
    def number(self) -> int:
        """How many groups there are."""
        return int(self.of_row.max()) + 1

    def without_rows(self) -> Groups:
        """Return as many groups, but of one row only: enough where rows are known by their sums."""
        return replace(self, of_row=np.array([self.number - 1], dtype=np.int32))

    def asked(self, number: int | None) -> tuple[int | None, int | None]:
        """Return a group that rows are predicted for, or None and the place of its parent, if any.

        A number below NULL is of a new group: NULL − 1 − the number of its parent.
        """
        if number is None or number >= 0 or self.line is None:
            return number if number is None or number >= 0 else None, None
        found = np.flatnonzero(self.line.members == NULL - 1 - number)
        return None, int(found[0]) if found.size else None

    @cached_property
    def line(self) -> Line | None:
        """Who goes by whose sticks, if some group has a parent."""
        if self.parents is None or not (self.parents != NULL).any():
            return None
        parents = self.parents.tolist()
        members = sorted({p for p in parents if p != NULL})
        members.sort(key=lambda member: _generation(parents, member))
        place = {member: p for p, member in enumerate(members)}
        own = [j if j in place else parents[j] for j in range(self.number)]
        return Line(
            np.array(members, dtype=np.int64),
            np.array([place.get(parents[p], NULL) for p in members], dtype=np.int64),
            np.array([place.get(p, NULL) for p in own], dtype=np.int64),
            np.array([int(j in place) for j in range(self.number)], dtype=np.int64),
        )


@dataclass(frozen=True, eq=False)
class Line:
    """Groups that are parents, elder ones first, and which group goes by the sticks of which.

    Attributes
    ----------
    members : int array, shape (P,)
        The numbers of those groups.
    elder : int array, shape (P,)
        The place of the parent of each among them, or NULL.
    above : int array, shape (J,)
        The place of the parent of each group of rows, or its own if it is one of them, or NULL.
    direct : int array, shape (J,)
        1 if it is its own.
    """

    members: npt.NDArray[np.int64]
    elder: npt.NDArray[np.int64]
    above: npt.NDArray[np.int64]
    direct: npt.NDArray[np.int64]


def _generation(parents: list[int], member: int) -> int:
    """Return how many parents are above a group."""
    many = 0
    while parents[member] != NULL:
        member, many = parents[member], many + 1
    return many


@dataclass(frozen=True, eq=False)
class Model:
    """A DFP mixture.

    Attributes
    ----------
    shape : float array, shape (L,)
        b(l): the concentration of level l is c·b(l), or c·b(l) − d.
    private_step : bool
        Whether every datum makes one more step from its leaf by itself. Its variance merges with
        the noise.
    covariance_type : {"spherical", "diag", "full"}
        The form of Σ, or of the covariance that each leaf has for itself.
    leaf_noise : {"shared", "own"}
        Whether all leaves have the noise Σ, or each its own.
    columns : tuple of Column or None
        The columns, if leaves have their own noise; None is all Gaussian without a floor.
    node_prior : (float, float)
        With own noise: 1/v ~ Gamma(shape, rate) for the variance of each step between inner nodes,
        for each level and coordinate.
    hyper_prior : (float array, float array) or None
        With own noise: means and standard deviations of the logs of κ, a and b of each column,
        both of shape (3, D); a deviation of 0 fixes one. None takes those of the kinds.
    psi : float
        With own full covariances: the mean of Ψ is psi·I.
    scales : {"shared", "per_level"}
        Whether every step has variance Σ, as in the paper, or v_l Σ with v_l learned.
    concentration_prior : (float, float)
        c ~ Gamma(shape, rate).
    precision_prior : (float, float or None)
        τ ~ Gamma(shape, rate) for the precision of the noise, in standardised units; for a full
        covariance, the inverse Wishart that has these as its one-dimensional margins. None learns
        a rate for every column.
    rate_prior : (float, float)
        b ~ Gamma(shape, rate) for the rates of the precisions, where they are learned.
    scale_prior : (float, float)
        1/v_l ~ Gamma(shape, rate), with v_l within `SCALE_LIMIT` and its inverse.
    discount_prior : (float, float)
        d ~ Beta(a, b).
    concentration, discount : float or None
        Fixed values; None learns them.
    less_discount : bool
        Whether the concentration of level l is c·b(l) − d. In fine steps that is a diffusion tree;
        see :class:`~sticktree.processes.DiffusionDivergence`.
    groups : Groups or None
        The groups of the rows, if they share the tree in their own ways.
    """

    shape: FloatArray
    private_step: bool = False
    covariance_type: CovarianceType = "spherical"
    scales: Scales = "per_level"
    concentration_prior: Gamma = (1.0, 1.0)
    precision_prior: tuple[float, float | None] = (1.0, 1.0)
    scale_prior: Gamma = (1.0, 1.0)
    discount_prior: Gamma = (1.0, 1.0)
    concentration: float | None = None
    discount: float | None = 0.0
    leaf_noise: LeafNoise = "shared"
    columns: tuple[Column, ...] | None = None
    node_prior: Gamma = (2.0, 0.5)
    psi: float = 0.2
    less_discount: bool = False
    hyper_prior: tuple[FloatArray, FloatArray] | None = None
    rate_prior: Gamma = (0.5, 0.5)
    groups: Groups | None = None

    @property
    def depth(self) -> int:
        """Number of levels below the root."""
        return self.shape.size

    @property
    def learns_rates(self) -> bool:
        """Whether the rates of the shared noise's precisions are learned."""
        return self.leaf_noise == "shared" and self.precision_prior[1] is None

    @property
    def noise(self) -> float:
        """The variance of a datum around its leaf, in units of Σ.

        With shared scales a private step adds one unit. Per-level scales have no need of a scale
        for it: it cannot be told from the noise.
        """
        return 2.0 if self.private_step and self.scales == "shared" else 1.0

    @cached_property
    def floors(self) -> FloatArray | None:
        """The variance that rounding adds to each column, None if it adds nothing to any."""
        floors = np.array([column.floor for column in self.columns or ()])
        return floors if floors.any() else None

    def of_sums(self) -> Model:
        """Return the model of a state that has sums of rows and no rows."""
        groups = None if self.groups is None else self.groups.without_rows()
        return replace(self, groups=groups)

    def jitter(self, n_columns: int) -> FloatArray | None:
        """Return over which width the values of each column are spread, or None.

        With full covariances of leaves that takes the place of a floor: a leaf with the same value
        many times would be flat otherwise.
        """
        if self.leaf_noise == "shared" or self.covariance_type != "full":
            return None
        floors = [column.floor for column in self.columns or (Column(),) * n_columns]
        width = np.sqrt(12.0 * np.array(floors))
        return width if width.any() else None

    def first_scales(self, between: float) -> FloatArray:
        """Return v_l to start from, if rows are about so far from 0, in units of the noise."""
        if self.scales == "shared":
            return np.ones(self.depth + 1)
        return np.full(self.depth + 1, max(between / (self.depth + 1), 1e-3))
