"""For a terminal: whether the chains of a fit agree, and the details behind it."""

from __future__ import annotations

import textwrap

from sticktree.posterior.draws import Diagnosis, r_hat_text, scalar_name
from sticktree.posterior.verdict import ALONE, Verdict

WIDTH = 96


def verdict_text(verdict: Verdict) -> str:
    """Return whether chains agree, a line for each part.

    Examples
    --------
    >>> from sticktree.posterior.settled import Settled
    >>> from sticktree.posterior.verdict import judged
    >>> from sticktree.present.agreement import verdict_text
    >>> print(verdict_text(judged(Settled(4, 0.001, 0.05, 0.02, 0.98, 1.0, 0.89))))
    do the chains agree?
      clusters  yes     labels from two halves of the chains agree by 1.00, cluster trees by 0.98
      tree      nearly  levels at which rows meet correlate by 0.89: large branches agree, small
                        ones differ; rely on branches that have support
      density   yes     0.001 nats a row apart
    """
    if not verdict.parts:
        return "\n".join(textwrap.wrap(verdict.text, WIDTH))
    width = max(len(part.answer) for part in verdict.parts)
    lines = ["do the chains agree?"]
    for part in verdict.parts:
        lead = f"  {part.about:<8}  {part.answer:<{width}}  "
        lines += textwrap.wrap(
            part.words(), WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead)
        )
    if verdict.agreement == "cannot tell":
        lines.append(ALONE)
    return "\n".join(lines)


def scalars_text(diagnosis: Diagnosis) -> str:
    """Return R-hat and effective sample size of every scalar, the worst first."""
    names = sorted(diagnosis.ess, key=lambda name: -diagnosis.r_hat.get(name, 0.0))
    words = [scalar_name(name) for name in names]
    width = max(map(len, words), default=0)
    lines = ["what was sampled, chain by chain; none of it has a say in the verdict"]
    lines.append(f"  {'':<{width}}   R-hat  draws that it is worth")
    for name, word in zip(names, words, strict=True):
        r_hat = diagnosis.r_hat.get(name)
        shown = "–" if r_hat is None else r_hat_text(r_hat, digits=3)
        lines.append(f"  {word:<{width}}  {shown:>6}  {diagnosis.ess[name]:>6.0f}")
    return "\n".join(lines)
