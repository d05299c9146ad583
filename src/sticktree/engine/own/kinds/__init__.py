"""The kinds of columns. To add one, write its file and list it here; nothing else knows its name.

Gaussian columns are first: they alone may belong together, which the engine knows by their code, 0.
"""

from __future__ import annotations

from sticktree.engine.own.kinds.binomial import BINOMIAL, TRIALS
from sticktree.engine.own.kinds.categorical import BERNOULLI, CATEGORICAL
from sticktree.engine.own.kinds.gaussian import GAUSSIAN, LOGNORMAL
from sticktree.engine.own.kinds.kind import ColumnKind, LeafColumn, Likelihood
from sticktree.engine.own.kinds.negative_binomial import NEGATIVE_BINOMIAL
from sticktree.engine.own.kinds.poisson import POISSON

__all__ = [
    "CODES",
    "DECLARED",
    "KINDS",
    "LIKELIHOODS",
    "ColumnKind",
    "Kernels",
    "LeafColumn",
    "Likelihood",
]

REGISTRY = (
    GAUSSIAN,
    LOGNORMAL,
    BERNOULLI,
    CATEGORICAL,
    POISSON,
    NEGATIVE_BINOMIAL,
    BINOMIAL,
    TRIALS,
)
KINDS: dict[str, ColumnKind] = {kind.name: kind for kind in REGISTRY}
DECLARED = tuple(kind.name for kind in REGISTRY if kind.is_declared)
"""Names of the kinds that users may give."""
LIKELIHOODS: dict[str, Likelihood] = {
    kind.likelihood.name: kind.likelihood for kind in KINDS.values()
}
CODES = {name: code for code, name in enumerate(LIKELIHOODS)}
