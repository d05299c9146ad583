"""What other programs reached on the same splits, measured elsewhere.

``elsewhere.csv`` has one row for each set, preparation, program and split: FBM is Neal's Flexible
Bayesian Modelling (diffusion trees with two divergence functions, infinite mixtures with shared or
own standard deviations), lace is CrossCat in Rust, TSSB is Adams' tree-structured stick breaking,
bnpy, bayes_gmm and pyrichlet are Dirichlet process mixtures, the rest is scikit-learn 1.9. Settings
were tuned over some 25 configurations on these very splits, which flatters the best of them.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

__all__ = ["measured_elsewhere"]

FILE = "elsewhere.csv"
NOT_REPEATED = ("GMM", "KDE", "BayesianGaussianMixture")
"""Programs that run here too, in the same run; those figures count."""


def measured_elsewhere(name: str) -> dict[str, dict[int, float]]:
    """Return the test log density of each program by split, on the rows prepared as ours are.

    Examples
    --------
    >>> sorted(measured_elsewhere("aggregation")["TSSB"])
    [0, 1, 2, 3, 4]
    """
    return {
        peer: values
        for peer, values in _all().get(name, {}).items()
        if not peer.startswith(NOT_REPEATED)
    }


@cache
def _all() -> dict[str, dict[str, dict[int, float]]]:
    found: dict[str, dict[str, dict[int, float]]] = {}
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines()):
        values = found.setdefault(line["set"], {}).setdefault(line["peer"], {})
        values[int(line["split"])] = float(line["test_log_density"])
    return found
