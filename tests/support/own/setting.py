"""All that the columns model takes as given: hyper-parameters and what the columns are."""

from dataclasses import dataclass

import numpy as np

from sticktree.processes import NestedRestaurant

KAPPA, A, B = range(3)


def coordinates_of(kinds, categories=()):
    """Return where each column's coordinates of φ begin, and how many it has.

    ``categories`` are the numbers of categories of the categorical columns, in their order.
    """
    left = iter(categories)
    width = [next(left) if kind == "categorical" else int(kind != "trials") for kind in kinds]
    width = np.array(width)
    return np.cumsum(width) - width, width


@dataclass(frozen=True, eq=False)
class Setting:
    """Hyper-parameters, as one state of a chain has them.

    ``shape`` is b(l), (L,); ``v`` is (L, P); ``hyper`` is (3, D), rows κ, a and b; ``psi`` is
    (G, G) and used by the full form only; ``floor`` is (D,), variances.
    """

    kinds: tuple
    form: str
    offset: np.ndarray
    width: np.ndarray
    floor: np.ndarray
    shape: np.ndarray
    c: float
    discount: float
    v: np.ndarray
    hyper: np.ndarray
    psi: np.ndarray | None = None
    less_discount: bool = False

    @property
    def depth(self):
        return len(self.shape)

    @property
    def n_coordinates(self):
        return int(self.width.sum())

    @property
    def law(self):
        alpha = self.c * self.shape - self.discount * self.less_discount
        return NestedRestaurant(alpha, discount=self.discount)

    @property
    def gaussian(self):
        return gaussian_columns(self.kinds)

    @property
    def blocks(self):
        """The columns that are independent of all others given the tree, as lists."""
        single = [[d] for d, kind in enumerate(self.kinds) if kind not in ("gaussian", "trials")]
        if self.form == "diag":
            return single + [[d] for d in self.gaussian]
        return single + [self.gaussian] * bool(self.gaussian)

    def coordinates(self, columns):
        """Return the coordinates of φ that the columns own."""
        return [p for d in columns for p in range(self.offset[d], self.offset[d] + self.width[d])]

    @property
    def used(self):
        """Which of κ, a and b have a part in the model, (3, D)."""
        return used_hyper(self.kinds, self.form)


def trials_of(kinds):
    """Return where the trials of each column are: next to a binomial one."""
    return [d + 1 if kind == "binomial" else -1 for d, kind in enumerate(kinds)]


def gaussian_columns(kinds):
    return [d for d, kind in enumerate(kinds) if kind == "gaussian"]


def used_hyper(kinds, form):
    used = np.zeros((3, len(kinds)), dtype=bool)
    for d, kind in enumerate(kinds):
        if kind == "gaussian" and form != "diag" and d != gaussian_columns(kinds)[0]:
            continue
        used[KAPPA, d] = kind != "trials"
        used[A, d] = kind in ("gaussian", "negative_binomial")
        used[B, d] = kind == "gaussian" and form != "full"
    return used
