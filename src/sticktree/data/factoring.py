"""Finding factors: how many there are, their axes, and the noise of every column.

*Axes and noise* are those of principal-axis factor analysis: columns are divided by their noise,
the axes are the first principal ones, and what these leave of each column is its noise, in rounds.
Nothing is as large as columns × columns: the principal axes of n rows come from n × n products.

*How many* factors there are is found as deterministic parallel analysis does (E. Dobriban and A. B.
Owen, Journal of the Royal Statistical Society B 81, 2019), which compares principal values with
those of columns that have nothing in common. What the factors before have taken, of the variance of
every column and of the dimensions of the rows, is left out of the comparison.

*New rows* have narrower scores than those that the axes were found from, by a share that is known
where rows and columns are many (S. Lee, F. Zou and F. A. Wright, Annals of Statistics 38, 2010).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import eigsh

from sticktree.blas import one_thread
from sticktree.checks import FloatArray
from sticktree.data.factors import Factors
from sticktree.data.scaling import FLAT
from sticktree.errors import ParameterError

MOST = 50  # factors, of those that are counted,
ROWS_OF_EACH = 4  # and rows there are for each of them
ROUNDS = 8
ROUNDS_WITH_GAPS = 20
COMMON = 10.0  # rows by which the noise of a column is held to that of all columns
LEAST_NOISE = 0.2  # of a column's standard deviation: else a column that is a factor has none
LARGE = 1_500  # rows and columns, of whose products the first axes alone are computed
NOTHING = 1e-12  # of the variance of all, below which what factors leave is rounding
# On 60 × 40 and 100 × 50 with classes in some columns factors are 2 to 3 nats a row ahead on new
# rows, and on 24 rows × 24 drugs 0.6. On 48 × 24 drugs they are 1.5 behind, on 52 × 13 wines 1.3,
# on 60 × 30 measures of cells 14, as each column there is nearly a sum of others.
FEW_ROWS = 2  # for each column
FEW_COLUMNS = 32


def factors_pay(n_rows: int, n_columns: int) -> bool:
    """Return whether rows are so few for the columns that "auto" looks for factors."""
    return n_columns > FEW_COLUMNS and 2 <= n_rows < FEW_ROWS * n_columns


def find_factors(x: FloatArray, n_factors: int | None = None) -> Factors:
    """Return the factors of standardised rows.

    Parameters
    ----------
    x : float array, shape (n, p)
        The rows; NaN is missing. Units and the order of rows do not matter.
    n_factors : int or None, default=None
        How many; None counts them, and takes one at least. As many as columns are the columns
        themselves.
    """
    n_columns = x.shape[1]
    if n_factors == n_columns:
        ones = np.ones(n_columns)
        return Factors(np.zeros(n_columns), ones, np.eye(n_columns), ones, ones)
    with one_thread():
        return _Search(x).factors(n_factors)


def varies(x: FloatArray) -> bool:
    """Return whether any column has more than one value: else there are no factors to find."""
    return bool(_varied(x)[2].any())


def check_number(n_factors: int, x: FloatArray) -> None:
    """Raise unless rows and columns can have so many factors."""
    n_rows, n_columns = x.shape
    if n_factors == n_columns:
        return
    varied = int(_varied(x)[2].sum())
    for most, why in (
        (n_columns, f"the number of columns, {n_columns}"),
        (varied, f"the number of columns that are not constant, {varied}"),
        (n_rows - 1, f"one less than the {n_rows} rows"),
    ):
        if n_factors > most:
            raise ParameterError("factors", n_factors, f"at most {why}", 'or take "auto"')


class _Search:
    """Rows of which the factors are sought; columns have mean 0 and standard deviation 1."""

    def __init__(self, x: FloatArray) -> None:
        self.centre, self.spread, self.varied = _varied(x)
        z = (x - self.centre)[:, self.varied] / self.spread[self.varied]
        self.missing = np.isnan(z)
        self.has_gaps = bool(self.missing.any())
        self.seen = (~self.missing).mean(axis=0)  # the share of rows that have each column
        z[self.missing] = 0.0
        self.z = z
        self.noise = np.ones(z.shape[1])

    def factors(self, n_factors: int | None) -> Factors:
        if n_factors is None:
            first = count_factors(self.z)
            self.analyse(first, ROUNDS)
            n_factors = count_factors(self.z / self.noise)
            if n_factors != first or self.has_gaps:
                self.analyse(n_factors)
        else:
            self.analyse(n_factors)
        values, axes = self.principal(n_factors)
        sigma, variance, shrinkage = self.new_scores(values, n_factors)
        largest = np.abs(axes).argmax(axis=0)
        axes = axes * np.sign(axes[largest, np.arange(n_factors)])
        return self.in_all_columns(axes, self.noise * sigma, variance, shrinkage)

    def in_all_columns(
        self, axes: FloatArray, noise: FloatArray, variance: FloatArray, shrinkage: FloatArray
    ) -> Factors:
        """Return factors that do not reach columns that are constant."""
        every = np.zeros((self.varied.size, axes.shape[1]))
        every[self.varied] = axes
        spread = FLAT * self.spread
        spread[self.varied] = noise * self.spread[self.varied]
        return Factors(self.centre, spread, every, variance, shrinkage)

    def principal(self, n_factors: int) -> tuple[FloatArray, FloatArray]:
        """Return the first principal values of the rows in units of the noise, and their axes."""
        values, axes = principal_axes(self.z / self.noise, n_factors)
        return values / (len(self.z) - 1), axes

    def analyse(self, n_factors: int, n_rounds: int | None = None) -> None:
        """Find the noise of every column, and fill in gaps by their means, given a number."""
        if n_rounds is None:
            n_rounds = ROUNDS_WITH_GAPS if self.has_gaps else ROUNDS
        n_rows, n_columns = self.z.shape
        # What is left of the noise when the factors have taken their dimensions of it.
        left = max(1.0 - n_factors / (n_rows - 1), 1.0 / n_rows)
        left *= max(1.0 - n_factors / n_columns, 1.0 / n_columns)
        for _ in range(n_rounds):
            values, axes = self.principal(n_factors)
            if self.has_gaps:
                self.fill(values, axes)
            total = (self.z**2).sum(axis=0) / (n_rows - 1)
            taken = self.noise**2 * (axes**2 @ values)
            variance = np.maximum(total - taken, 1e-9) / (left * self.seen)
            common = np.exp(np.log(variance).mean())
            held = (n_rows * variance + COMMON * common) / (n_rows + COMMON)
            self.noise = np.maximum(np.sqrt(held), LEAST_NOISE)

    def fill(self, values: FloatArray, axes: FloatArray) -> None:
        """Put the means of missing entries given the others in their place."""
        _, variance, _ = self.new_scores(values, values.size)
        # z = U f + noise, with f of the variance that scores have beyond the noise.
        prior = np.diag(1.0 / np.maximum(variance - 1.0, 1e-9)) + np.eye(values.size)
        self.z[self.missing] = 0.0
        moments = (self.z / self.noise) @ axes
        for i in np.flatnonzero(self.missing.any(axis=1)).tolist():
            gap = self.missing[i]
            lost = axes[gap]
            found = np.linalg.solve(prior - lost.T @ lost, moments[i])
            self.z[i, gap] = self.noise[gap] * (lost @ found)

    def new_scores(
        self, values: FloatArray, n_factors: int
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return σ of the noise, variances of new scores in units of that, and the shrinkage."""
        n_rows, n_columns = self.z.shape
        seen = n_columns * float(self.seen.mean())
        total = float((self.z**2 / self.noise**2).sum()) / (n_rows - 1)
        ratio = seen / (n_rows - 1)
        least = 1e-9 * total / n_columns
        sigma2 = max((total - values.sum()) / max(seen - n_factors, 1), least)
        for _ in range(20):
            shrinkage = narrowing(values / sigma2, ratio)
            # What new scores do not have is noise.
            left = total - (shrinkage**2 * values).sum()
            sigma2 = max(left / max(seen - n_factors, 1), least)
        variance = np.maximum(shrinkage**2 * values / sigma2, 1.0 + 1e-6)
        return float(np.sqrt(sigma2)), variance, shrinkage


def _varied(x: FloatArray) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Return means, standard deviations of columns, and which are not constant."""
    centre = np.nanmean(x, axis=0)
    spread = np.sqrt(np.nansum((x - centre) ** 2, axis=0) / max(len(x) - 1, 1))
    varied = spread > 1e-12 * np.maximum(np.abs(centre), 1.0)
    return centre, np.where(varied, spread, 1.0), varied


def principal_axes(z: FloatArray, n_axes: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of zᵀz, in decreasing order, and their vectors (p, n_axes)."""
    n_rows, n_columns = z.shape
    small = min(n_rows, n_columns)
    wide = n_rows <= n_columns
    product = z @ z.T if wide else z.T @ z
    if small > LARGE and 2 * n_axes < small:
        start = np.random.default_rng(0).standard_normal(small)
        values, vectors = eigsh(product, n_axes, v0=start)
    else:
        first = max(small - n_axes, 0)
        values, vectors = eigh(product, subset_by_index=(first, small - 1))
    values = np.maximum(values[::-1], 1e-300)
    vectors = vectors[:, ::-1]
    if wide:
        vectors = z.T @ vectors
        vectors /= np.maximum(np.sqrt((vectors**2).sum(axis=0)), 1e-150)
        if values[-1] < NOTHING * values[0]:
            # Axes beyond the rank are rounding, which points along the others.
            vectors = np.linalg.qr(vectors)[0]
    return values, np.ascontiguousarray(vectors)


def count_factors(z: FloatArray, most: int | None = None) -> int:
    """Return how many factors centred rows have, one at least.

    Parameters
    ----------
    z : float array, shape (n, p)
        The rows.
    most : int or None, default=None
        No more than that; None is a quarter of the rows, 50 and one less than the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.data.factoring import count_factors
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 500)) + rng.normal(size=(60, 500))
    >>> count_factors(z - z.mean(axis=0))
    3
    """
    n_rows, n_columns = z.shape
    if most is None:
        most = min(n_rows // ROWS_OF_EACH, MOST)
    most = max(min(most, n_columns - 1, n_rows - 2), 1)
    values, axes = principal_axes(z, most)
    squares = (z**2).sum(axis=0)
    least = NOTHING * squares.sum()
    for k in range(most):
        if squares.sum() <= least:
            return max(k, 1)
        # The factors before have taken k dimensions of the rows and of the columns.
        left, share = n_rows - 1 - k, 1.0 - k / n_columns
        if values[k] <= left * largest_of_noise(squares / (left * share), left, share):
            return max(k, 1)
        squares = np.maximum(squares - values[k] * axes[:, k] ** 2, 0.0)
    return most


def largest_of_noise(variance: FloatArray, n_rows: int, share: float = 1.0) -> float:
    """Return the largest eigenvalue of the covariance of n rows of independent columns.

    It is the upper edge of the generalised Marchenko–Pastur law, min over 0 < u < 1/max variance of
    1/u + Σ v/(1 − v u)/n (J. W. Silverstein and S.-I. Choi, Journal of Multivariate Analysis 54,
    1995). Of the columns a ``share`` counts, with the same variances.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.data.factoring import largest_of_noise
    >>> round(largest_of_noise(np.ones(400), 100), 4)  # (1 + √4)²
    9.0
    """
    largest = float(variance.max())
    if largest <= 0.0:
        return 0.0
    part = variance / largest

    def value(u: float) -> float:
        return float(1.0 / u + share * (part / (1.0 - part * u)).sum() / n_rows)

    found = minimize_scalar(value, bounds=(1e-6, 1.0 - 1e-9), method="bounded",
                            options={"xatol": 1e-9})  # fmt: skip
    return largest * float(found.fun)


def narrowing(values: FloatArray, ratio: float) -> FloatArray:
    """Return by how much scores of new rows are narrower than those of the rows of a fit.

    Parameters
    ----------
    values : float array
        Principal values of the rows of a fit, variances in units of that of the noise.
    ratio : float
        Columns for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.data.factoring import narrowing
    >>> print(narrowing(np.array([1000.0, 40.0]), ratio=20.0).round(2))
    [0.98 0.47]
    """
    sums = values + 1.0 - ratio
    true = (sums + np.sqrt(np.maximum(sums**2 - 4.0 * values, 0.0))) / 2.0
    beyond = np.maximum(true, 1.0 + np.sqrt(ratio)) - 1.0
    return np.asarray(beyond / (beyond + ratio))
