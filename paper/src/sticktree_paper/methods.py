"""The methods that are compared, each with all that its result depends on."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import sticktree

OURS = "DFP"
NOT_IN_RESULTS = {"n_jobs", "progress", "random_state", "checkpoint", "warm_start", "level"}
AS_IN_THE_PAPER: dict[str, Any] = {
    "depth": 4,
    "scales": "shared",
    "covariance_type": "spherical",
    "leaf_noise": "shared",
    "precision_prior": (1.0, 1.0),
}
"""One σ for all steps and for the noise, and the paper's priors."""
SMALL_K = {"ccle": 3}
"""Components that give the paper's figures for its Gaussian mixture; 5 on other sets."""

SHORTER = {"d31": 60, "ccle": 50, "ccle-dequantised": 50, "ccle-gaps": 20}
"""Sweeps for the larger sets, so that all of it takes an hour."""

ONCE_A_SET = ("DFP as in the paper", "PYDT")
"""Not repeated on dequantised rows, to save time: one has the paper's figures, one is like DDT."""


NO_PART_IN_RESULTS = {
    "cli",
    "datasets",  # rows have a digest of their own
    "display.py",
    "files.py",
    "io",
    "metrics",  # these and peers have digests of their own
    "peers",
    "plotting",
    "present",
    "report",
}
"""What of the library's code a fit does not run."""


@dataclass(frozen=True)
class Length:
    """How long chains run, and of how many seeds trees are compared."""

    n_chains: int
    n_warmup: int
    n_draws: int
    n_seeds: int
    name: str

    def on(self, name: str) -> Length:
        """Return the length for a prepared set: where sweeps take long there are fewer."""
        if self.name == "full" and name in SHORTER:
            return replace(self, n_warmup=SHORTER[name], n_draws=SHORTER[name])
        return self

    def of_diffusions(self, name: str) -> Length:
        """Return the length for diffusion trees, whose sweeps of 24 columns take far longer.

        So they get about the same time.
        """
        if self.name == "full" and name.startswith("ccle"):
            return replace(self, n_chains=2, n_warmup=20, n_draws=20)
        return self

    def of_trees(self) -> Length:
        """Return the length for trees, which take longer to settle than densities do."""
        return replace(self, n_warmup=300, n_draws=300) if self.name == "full" else self

    @property
    def parameters(self) -> dict[str, int]:
        """Parameters of the estimators."""
        return {"n_chains": self.n_chains, "n_warmup": self.n_warmup, "n_draws": self.n_draws}


FULL = Length(4, 100, 100, 3, "full")
QUICK = Length(2, 20, 20, 1, "quick")


@dataclass(frozen=True)
class Method:
    """A method by name; ``make(seed)`` gives an estimator that is not fitted yet.

    Attributes
    ----------
    name : str
        As it stands in tables.
    settings : str
        With the rows, these determine its result.
    make : callable
        From a seed to an estimator.
    random : bool
        Whether other seeds give other results.
    """

    name: str
    settings: str
    make: Callable[[int], Any]
    random: bool = True


def density_methods(name: str, length: Length = FULL) -> dict[str, Method]:
    """Return the methods that estimate a density, for a prepared set."""
    from sticktree import DFPMixture, DirichletDiffusionTree, DPMixture, PitmanYorDiffusionTree
    from sticktree.peers import (
        FixedGaussianMixture,
        GaussianMixtureByBIC,
        GaussianMixtureHeldOut,
        KernelDensityCV,
        TunedVariationalMixture,
        VariationalMixture,
    )

    length = length.on(name)
    # Full covariances of their own for 24 columns are slow, and worse by 4 nats (split 0, raw).
    form = "diag" if name.startswith("ccle") else "full"
    small = SMALL_K.get(name.partition("-")[0], 5)
    known = _named(
        _sampled(OURS, length, DFPMixture),
        _sampled("DFP as in the paper", length, DFPMixture, **AS_IN_THE_PAPER),
        _sampled("DPM", length, DPMixture),
        _sampled("DPM, own noise", length, DPMixture, leaf_noise="own", covariance_type=form),
        _sampled("DDT", length.of_diffusions(name), DirichletDiffusionTree),
        _sampled("PYDT", length.of_diffusions(name), PitmanYorDiffusionTree),
        _peer("GMM by BIC", GaussianMixtureByBIC),
        _peer("GMM by held-out rows", GaussianMixtureHeldOut),
        _peer("GMM, few components", FixedGaussianMixture, n_components=small),
        _peer("Variational mixture", VariationalMixture),
        _peer("Variational mixture, tuned", TunedVariationalMixture),
        _peer("KDE", KernelDensityCV),
    )
    if "-" in name:  # another form of a set that has them
        for method in ONCE_A_SET:
            del known[method]
    return known


def tree_methods(length: Length = FULL) -> dict[str, Method]:
    """Return the methods that give a tree."""
    from sticktree import DFPMixture, DirichletDiffusionTree
    from sticktree.peers import BayesianHierarchicalClustering, HDBSCANTree, LinkageTree
    from sticktree.peers.trees import LINKAGES

    length = length.of_trees()
    own = {"covariance_type": "diag", "leaf_noise": "own"}
    return _named(
        _sampled(OURS, length, DFPMixture),
        _sampled("DFP, own diagonal noise", length, DFPMixture, **own),
        _sampled("DFP as in the paper", length, DFPMixture, **AS_IN_THE_PAPER),
        _sampled("DDT", length, DirichletDiffusionTree),
        _peer("BHC", BayesianHierarchicalClustering, random=False),
        _peer("HDBSCAN", HDBSCANTree, random=False),
        *(_peer(f"{one} linkage", LinkageTree, random=False, method=one) for one in LINKAGES),
    )


def _named(*methods: Method) -> dict[str, Method]:
    return {method.name: method for method in methods}


def _sampled(name: str, length: Length, estimator: type, **parameters: Any) -> Method:
    """Return a method that is one of the library's own mixtures, in one thread."""

    def make(seed: int) -> Any:
        lengths = length.parameters
        return estimator(n_jobs=1, progress=False, random_state=seed, **lengths, **parameters)

    settings = ", ".join(_settings(make(0)))
    return Method(
        name, f"sticktree {sticktree.__version__}, code {code_digest()}, {settings}", make
    )


def _peer(name: str, estimator: type, *, random: bool = True, **parameters: Any) -> Method:
    import sklearn

    def make(seed: int) -> Any:
        return estimator(**parameters, **({"random_state": seed} if random else {}))

    versions = f"scikit-learn {sklearn.__version__}, code {code_digest('peers')}"
    settings = ", ".join([versions, *_settings(make(0))])
    return Method(name, settings, make, random)


def _settings(estimator: Any) -> Iterator[str]:
    for name, value in sorted(estimator.get_params().items()):
        if name not in NOT_IN_RESULTS:
            yield f"{name}={value!r}"


@cache
def code_digest(part: str | None = None) -> str:
    """Return a digest of all code that a fit may run; comments and docstrings do not count.

    ``part`` is the name of one of the library's packages, to take only its code.
    """
    folder = Path(sticktree.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder)
        if place.parts[0] == part or (part is None and place.parts[0] not in NO_PART_IN_RESULTS):
            digest.update(place.as_posix().encode())
            digest.update(meaning(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:12]


def meaning(source: str) -> str:
    """Return the syntax tree of some code without its docstrings, as text."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return ast.dump(tree)
