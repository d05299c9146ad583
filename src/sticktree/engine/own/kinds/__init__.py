"""The kinds of columns. To add one, write its file and list it here; nothing else knows its name.

Gaussian columns are first: they alone may belong together, which the engine knows by their code, 0.
"""

from __future__ import annotations

from sticktree.engine.own.kinds.categorical import BERNOULLI, CATEGORICAL
from sticktree.engine.own.kinds.gaussian import GAUSSIAN, LOGNORMAL
from sticktree.engine.own.kinds.kind import ColumnKind, Kernels, LeafColumn, Likelihood
from sticktree.engine.own.kinds.negative_binomial import NEGATIVE_BINOMIAL
from sticktree.engine.own.kinds.poisson import POISSON

__all__ = ["CODES", "KINDS", "LIKELIHOODS", "ColumnKind", "Kernels", "LeafColumn", "Likelihood"]

KINDS: dict[str, ColumnKind] = {
    kind.name: kind
    for kind in (GAUSSIAN, LOGNORMAL, BERNOULLI, CATEGORICAL, POISSON, NEGATIVE_BINOMIAL)
}
LIKELIHOODS: dict[str, Likelihood] = {
    kind.likelihood.name: kind.likelihood for kind in KINDS.values()
}
CODES = {name: code for code, name in enumerate(LIKELIHOODS)}
