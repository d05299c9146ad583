"""How well chains had converged: the verdict on our fits of Table 1, one split of each set."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sticktree.posterior.draws import ConvergenceWarning
from sticktree_paper.methods import OURS, Length, density_methods
from sticktree_paper.splits import SETS, make_split, prepared, title_of

SPLIT = 0
HEAD = ("set", "chains", "model", "clusters", "tree", "density", "R-hat of the log joint density")
WORDS = """\
Whether the chains behind *DFP* in Table 1 agree, on split 0 of each set and at the length that
stands there. Figures are those of the verdict that every fit ends with: of *clusters* the
cophenetic correlation of the cluster trees of two halves of the chains, of the *tree* the
correlation of levels at which rows meet, of the *density* the difference of mean leave-one-out
densities, in nats a row. R-hat has no say in the verdict; well above 1.05 it says that chains of
this length do not mix over whole trees. The code is the one that is named below for this part,
which may be newer than that of Table 1."""
READ = """\
Where density is *no*, the mean of Table 1 still is one over ten splits, each with its own chains,
so that what chains differ by is part of its spread; but longer chains may well move it."""


@dataclass(frozen=True)
class Line:
    """What a fit of one set says of its chains."""

    name: str
    chains: str
    model: str
    clusters: str
    tree: str
    density: str
    r_hat: float
    cpu_seconds: float

    @property
    def row(self) -> dict[str, Any]:
        """The line as a row of a CSV file."""
        return {
            "set": self.name,
            "chains": self.chains,
            "model": self.model,
            "clusters": self.clusters,
            "tree": self.tree,
            "density": self.density,
            "r_hat_log_joint": round(self.r_hat, 3),
            "cpu_seconds": round(self.cpu_seconds, 1),
        }


def judge(name: str, length: Length) -> Line:
    """Fit ours to the training rows of a set, and return what its chains agree on."""
    split = make_split(prepared(name), SETS[name].preparation, SPLIT)
    mixture = density_methods(name, length)[OURS].make(SPLIT)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table says it
        mixture.fit(split.train)
    spent = time.process_time() - began
    found, model = mixture.diagnosis_, mixture.fit_.model
    settled, verdict, used = found.settled, found.verdict(), length.on(name)
    answers = {part.about: part.answer for part in verdict.parts}
    figures = {
        "clusters": f"{settled.cluster_agreement:.2f}",
        "tree": f"{settled.tree_agreement:.2f}",
        "density": f"{abs(settled.elpd_difference):.3f}",
    }
    told = {
        about: f"{answers[about]} ({figures[about]})" if about in answers else "cannot tell"
        for about in figures
    }
    return Line(
        name,
        f"{used.n_chains} of {used.n_warmup} + {used.n_draws}",
        f"{model.leaf_noise} {model.covariance_type}, depth {mixture.fit_.depth}",
        **told,
        r_hat=found.r_hat.get("log_joint", float("nan")),
        cpu_seconds=spent,
    )


def markdown(lines: Sequence[Line]) -> list[str]:
    """Return the table with what is to be known of it."""
    rows = [list(HEAD), ["---"] * len(HEAD)]
    for line in lines:
        title = title_of(SETS[line.name].dataset)
        form = ", dequantised" if SETS[line.name].dequantised else ""
        shown = f"{line.r_hat:.2f}"
        rows.append(
            [title + form, line.chains, line.model, line.clusters, line.tree, line.density, shown]
        )
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return ["## Had the chains converged?", WORDS, table, READ]
