"""All that the page shows of a fitted mixture, gathered once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sticktree.posterior.diagnostics import Diagnosis
from sticktree.report.branches import Branches
from sticktree.report.chains import convergence_table, levels_table, traces, tree_space_words
from sticktree.report.cloud import cloud
from sticktree.report.clusters import clusters_table
from sticktree.report.escaping import plain
from sticktree.report.features import Features
from sticktree.report.packing import packed
from sticktree.report.rows import MOST_ROWS, Rows
from sticktree.report.tables import pairs_table, table
from sticktree.report.words import summary

__all__ = ["Content"]

VALUE_LENGTH = 300
LEFT_OUT = ("progress", "n_jobs")  # they say nothing of the result


@dataclass(frozen=True, eq=False)
class Content:
    """Pieces of the page.

    Attributes
    ----------
    data : dict
        What the script draws: plain numbers, text and packed arrays, ready for JSON.
    pieces : dict of str
        Pieces of HTML that need no script, by their names in the template.
    """

    data: dict[str, Any]
    pieces: dict[str, str]

    @classmethod
    def of(
        cls,
        estimator: Any,
        names: Any = None,
        classes: Any = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> Content:
        """Gather the content from a fitted estimator."""
        rows = Rows.of(estimator, names, classes)
        features = Features.of(estimator, rows)
        judged = getattr(estimator, "diagnosis_", Diagnosis({}, {})).verdict()
        return cls(
            _data(estimator, rows, features),
            {
                "summary": f"<p>{plain(summary(estimator, rows, features))}</p>{_sampled(rows)}",
                "verdict": f'<p class="verdict {judged.tone}">{plain(judged.text)}</p>',
                "clusters": clusters_table(rows, features),
                "convergence": _convergence(estimator),
                "model": _model(estimator),
                "parameters": _parameters(estimator),
                "provenance": _provenance(provenance),
            },
        )


def _data(estimator: Any, rows: Rows, features: Features) -> dict[str, Any]:
    branches = Branches.of(estimator.tree_)
    shown = rows.sample()
    if shown.size < rows.label.size:
        branches, rows, features = branches.showing(shown), rows.some(shown), features.some(shown)
    order = branches.order
    return {
        "tree": branches.packed(),
        "rows": {
            "number": packed(rows.number[order], "int32"),
            "label": packed(rows.label[order], "int32"),
            "confidence": None
            if rows.confidence is None
            else packed(rows.confidence[order], "float32"),
            "class": None if rows.classes is None else packed(rows.classes.code[order], "int32"),
            "names": None if rows.names is None else [rows.names[i] for i in order],
        },
        "classes": None if rows.classes is None else rows.classes.names,
        "columns": features.packed(order),
        "cloud": cloud(estimator, features, order),
    }


def _sampled(rows: Rows) -> str:
    """Say how many of the rows the page has, if not all."""
    n_rows = rows.label.size
    if n_rows <= MOST_ROWS:
        return ""
    text = (
        f"This page has {MOST_ROWS:,} of the {n_rows:,} rows: some of every cluster, the others at "
        "random. Sizes of branches and the table of clusters count all rows; pictures, search and "
        "what is said of a branch's columns are of those that are here."
    )
    return f"<p>{plain(text)}</p>"


def _convergence(estimator: Any) -> str:
    posterior = getattr(estimator, "posterior_", None)
    diagnosis = getattr(estimator, "diagnosis_", None)
    if posterior is None or diagnosis is None:
        return ""
    scalars = posterior.scalars()
    words = tree_space_words(posterior)
    drawn = traces(scalars, diagnosis)
    pieces = [
        f"<p>{plain(words)}</p>" if words else "",
        "<h3>Traces</h3><p>One line for each chain, from the first draw that was kept to the last. "
        f'Chains that agree overlap.</p><div class="traces">{drawn}</div>'
        if drawn
        else "",
        f'<div class="side-by-side">{convergence_table(diagnosis)}{levels_table(scalars)}</div>',
    ]
    return "".join(pieces)


def _model(estimator: Any) -> str:
    selection = getattr(estimator, "selection_", None)
    if selection is None:
        return "<p>The model was given; nothing was compared.</p>"
    head = ["Model", "Density", "Difference", "Its error", "Weight", "Untrusted rows", "Dropped"]
    lines = [
        [
            str(row["name"]),
            *(f"{row[key]:.1f}".replace("-", "−") for key in ("elpd", "difference")),
            f"{row['se_difference']:.1f}",
            f"{row['weight']:.2f}",
            str(row["n_bad_k"]),
            "" if row["dropped_after"] is None else f"after {row['dropped_after']} sweeps",
        ]
        for row in selection.table
    ]
    return (
        "<p>Models were compared by leave-one-out log density, summed over rows, from short "
        "chains: larger is better. Differences of less than about twice their error say little. "
        "Weights are those of the mixture of models that would foresee best.</p>"
        + table("Models compared", head, lines, numeric=range(1, 6))
    )


def _parameters(estimator: Any) -> str:
    given = estimator.get_params() if hasattr(estimator, "get_params") else {}
    pairs = [(name, _short(repr(value))) for name, value in given.items() if name not in LEFT_OUT]
    return pairs_table("Parameters of the fit", pairs) if pairs else ""


def _provenance(provenance: Mapping[str, Any] | None) -> str:
    from sticktree.version import __version__

    pairs = list(_flat(provenance or {}))
    if not any(name in ("version", "sticktree", "sticktree_version") for name, _ in pairs):
        pairs.insert(0, ("sticktree", __version__))
    return pairs_table("Provenance", pairs)


def _flat(entries: Mapping[str, Any], lead: str = "") -> Any:
    """Yield names and texts of all entries, those of inner mappings with dotted names."""
    for name, value in entries.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{lead}{name}.")
        elif isinstance(value, list | tuple | np.ndarray):
            yield f"{lead}{name}", _short(", ".join(map(str, value)))
        else:
            yield f"{lead}{name}", _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"
