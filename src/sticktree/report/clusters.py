"""The flat clusters: how large, how sure, and what sets each apart."""

from __future__ import annotations

import numpy as np

from sticktree.report.features import Features
from sticktree.report.rows import Rows
from sticktree.report.tables import table

__all__ = ["clusters_table"]


def clusters_table(rows: Rows, features: Features) -> str:
    """Return the table of clusters, with an id by which the script finds it."""
    head = ["Cluster", "Rows", "Share"]
    if rows.confidence is not None:
        head.append("Confidence")
    if rows.classes is not None:
        head += ["Most frequent class", "Its share"]
    head.append("What sets it apart")
    lines = []
    for k, members in rows.members().items():
        line = [str(k), str(members.size), f"{members.size / rows.label.size:.1%}"]
        if rows.confidence is not None:
            line.append(f"{rows.confidence[members].mean():.2f}")
        if rows.classes is not None:
            line += _purity(rows.classes.code[members], rows.classes.names)
        line.append("; ".join(features.standing_out(members)) or "near the overall mean")
        lines.append(line)
    numeric = [k for k, name in enumerate(head) if name in ("Rows", "Share", "Confidence")]
    numeric += [k for k, name in enumerate(head) if name == "Its share"]
    return table("Flat clusters", head, lines, numeric=numeric, identifier="clusters-table")


def _purity(codes: np.ndarray[tuple[int], np.dtype[np.int64]], names: list[str]) -> list[str]:
    known = codes[codes >= 0]
    if not known.size:
        return ["none known", "–"]
    count = np.bincount(known, minlength=len(names))
    k = int(count.argmax())
    return [names[k], f"{count[k] / known.size:.0%}"]
