"""The frozen result of a fit: densities, then clusters, then what is said of them."""

from sticktree.fit.density import Averaging
from sticktree.fit.result import Fit

__all__ = ["Averaging", "Fit"]
