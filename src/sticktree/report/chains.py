"""How the chains went: R-hat, effective sizes, traces, and branches at each level."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.posterior.diagnostics import R_HAT_LIMIT, Diagnosis, r_hat_text, scalar_name
from sticktree.posterior.draws import Posterior
from sticktree.posterior.tree_space import tree_space
from sticktree.present.findings import Findings
from sticktree.present.words import many, number
from sticktree.report.markup import attribute, plain, table

__all__ = ["convergence"]

Scalars = dict[str, npt.NDArray[Any]]
"""Numbers of every draw, each of shape (chains, draws)."""

MOST_TRACES = 8
MOST_POINTS = 150  # of a line
MOST_CHAINS = 6  # lines of a trace; more cannot be told apart
FIRST = ("log_joint", "concentration", "meeting_level")
WIDTH, HEIGHT, EDGE = 240, 84, 4


def convergence(found: Findings) -> str:
    """Return what there is to see of the chains."""
    posterior, diagnosis = found.fit.posterior, found.fit.diagnosis
    if not posterior.n_draws:
        return ""
    scalars = posterior.columns()
    drawn = _traces(scalars, diagnosis)
    pieces = [
        _tree_space(posterior),
        "<h3>Traces</h3><p>One line for each chain, from the first draw that was kept to the last. "
        f'Chains that agree overlap.</p><div class="traces">{drawn}</div>'
        if drawn
        else "",
        f'<div class="side-by-side">{_scalars_table(diagnosis)}{_levels_table(scalars)}</div>',
    ]
    return "".join(pieces)


def _scalars_table(diagnosis: Diagnosis) -> str:
    """Return the table of R-hat and effective sample sizes, the worst first."""
    names = sorted(diagnosis.ess, key=lambda name: -diagnosis.r_hat.get(name, 0.0))
    lines = []
    for name in names:
        r_hat = diagnosis.r_hat.get(name, np.nan)
        judged = "" if np.isnan(r_hat) else ("run longer" if r_hat > R_HAT_LIMIT else "agrees")
        shown = "–" if np.isnan(r_hat) else r_hat_text(r_hat, digits=3)
        lines.append([scalar_name(name), shown, f"{diagnosis.ess[name]:.0f}", judged])
    if not lines:
        return ""
    head = ("Scalar", "R-hat", "Effective draws", "Verdict")
    return table("Convergence of every scalar that varies", head, lines, numeric=(1, 2))


def _levels_table(scalars: Scalars) -> str:
    """Return the table of branches at each level: posterior mean and middle 90 %."""
    lines = []
    for level, nodes in enumerate(_nodes(scalars), start=1):
        low, high = np.quantile(nodes, [0.05, 0.95])
        lines.append([str(level), f"{nodes.mean():.1f}", f"{low:.0f} to {high:.0f}"])
    head = ("Level", "Branches, mean", "Middle 90 %")
    return table("Branches at each level of the drawn trees", head, lines, numeric=(0, 1, 2))


def _nodes(scalars: Scalars) -> list[npt.NDArray[Any]]:
    """Return the numbers of branches at each level."""
    return [values for name, values in scalars.items() if name.startswith("nodes[")]


def _traces(scalars: Scalars, diagnosis: Diagnosis) -> str:
    """Return small pictures of how the scalars went in every chain."""
    last = f"nodes[{len(_nodes(scalars)) - 1}]"
    chosen = [name for name in (*FIRST, last) if name in scalars and np.ptp(scalars[name]) > 0]
    by_worst = sorted(diagnosis.r_hat, key=lambda name: -diagnosis.r_hat[name])
    chosen += [name for name in by_worst if name in scalars and name not in chosen]
    return "".join(_trace(name, scalars[name].astype(float)) for name in chosen[:MOST_TRACES])


def _trace(name: str, values: npt.NDArray[Any]) -> str:
    """Return the lines of one scalar as SVG."""
    n_draws = values.shape[1]
    kept = np.unique(np.linspace(0, n_draws - 1, min(n_draws, MOST_POINTS)).astype(int))
    low, high = float(values.min()), float(values.max())
    across = EDGE + kept / max(n_draws - 1, 1) * (WIDTH - 2 * EDGE)
    lines = []
    for k, chain in enumerate(values[:MOST_CHAINS]):
        down = HEIGHT - EDGE - (chain[kept] - low) / ((high - low) or 1.0) * (HEIGHT - 2 * EDGE)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
        lines.append(f'<polyline class="chain chain-{k}" points="{points}"/>')
    title = scalar_name(name)
    chains = f"{many(len(values), 'chain')} of {many(n_draws, 'draw')}"
    spoken = f"{title}: {chains}, {number(low)} to {number(high)}"
    return (
        f'<figure class="trace"><figcaption>{plain(title)} <span class="range">{number(low)} to '
        f'{number(high)}</span></figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'preserveAspectRatio="none" aria-label="{attribute(spoken)}">{"".join(lines)}</svg>'
        "</figure>"
    )


def _tree_space(posterior: Posterior) -> str:
    """Return a paragraph on whether the chains visit the same trees, where that can be measured."""
    known = all(any(draw.labelled for draw in chain) for chain in posterior.chains)
    if posterior.n_chains < 2 or not known:
        return ""
    return f"<p>{plain(f'Compared as whole trees, {tree_space(posterior).in_words()}.')}</p>"
