"""The tables of a run as spreadsheets have them: its rows, the nodes of its tree, its groups."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sticktree.files import shown_as_text, write_pieces
from sticktree.lines import csv_lines

if TYPE_CHECKING:
    from sticktree.estimators.mixture import DFPMixture
    from sticktree.tree import Tree

COMPOSITION, CONTRASTS = "composition.csv", "contrasts.csv"
OF_GROUPS = (COMPOSITION, CONTRASTS)
"""Files of a run whose rows belong to groups, or to groups in conditions."""


def clusters_table(
    estimator: DFPMixture,
    by_level: Sequence[Any],
    ids: Sequence[str] | None = None,
    labels: Mapping[str, Sequence[str | None]] | None = None,
) -> dict[str, Sequence[Any]]:
    """Return a table of the rows: their clusters at every level, and how sure they are.

    The first of ``labels`` is the column ``label``, further ones have their name behind a colon.
    """
    columns: dict[str, Sequence[Any]] = {"row": range(len(estimator.labels_))}
    if ids is not None:
        columns["id"] = ids
    columns |= label_columns(labels or {})
    columns["cluster"] = estimator.labels_.tolist()
    columns["confidence"] = [f"{value:.4f}" for value in estimator.confidence_]
    for level, flat in enumerate(by_level, start=1):
        columns[f"level_{level}"] = flat.tolist()
    return columns


def label_columns(labels: Mapping[str, Sequence[str | None]]) -> dict[str, list[str]]:
    """Return labels as columns of a table of rows."""
    return {
        heading(k, name): ["" if word is None else word for word in words]
        for k, (name, words) in enumerate(labels.items())
    }


def heading(k: int, name: str) -> str:
    """Return what the k-th label is called in the table of rows."""
    return "label" if k == 0 else f"label:{name}"


def read_columns(path: Path, n_rows: int) -> dict[str, list[str]]:
    """Return the columns of a table of rows, which must have as many as that."""
    before = csv.field_size_limit(sys.maxsize)  # names may be long
    try:
        with path.open(newline="", encoding="utf-8") as file:
            names, *rows = list(csv.reader(file)) or [[]]
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    finally:
        csv.field_size_limit(before)
    for number, row in enumerate(rows):
        if len(row) != len(names):
            expected = f"{len(row)} cells of {len(names)}"
            raise ValueError(f"{path} is damaged: row {number} has {expected}")
    if len(rows) != n_rows:
        raise ValueError(f"{path} is damaged: it has {len(rows)} rows of {n_rows}")
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def nodes_table(tree: Tree, safe: bool) -> Any:
    """Return the nodes of a tree as a data frame, for spreadsheets if ``safe``."""
    frame = tree.to_frame()
    if safe and "name" in frame:
        frame["name"] = list(map(shown_as_text, frame["name"]))
    return frame


def write_groups(
    folder: Path, estimator: DFPMixture, conditions: Mapping[str, str] | None, safe: bool
) -> list[str]:
    """Write what is known of groups and conditions; return the names of the files."""
    if estimator.fit_.training.groups is None:
        return []
    estimator.composition_.to_csv(folder / COMPOSITION, safe=safe)
    pairs = _compared(estimator, conditions)
    if not pairs:
        return [COMPOSITION]
    lines = []
    for a, b in pairs:
        for within in (None, "parent"):
            found = estimator.compare(a, b, conditions=conditions, within=within)
            shared = {"a": a, "b": b, "within": within or "all"}
            lines += [shared | line for line in found.table]
    write_pieces(folder / CONTRASTS, csv_lines(lines, list(lines[0]), safe))
    return [COMPOSITION, CONTRASTS]


def _compared(estimator: DFPMixture, conditions: Mapping[str, str] | None) -> list[tuple[Any, Any]]:
    """Return pairs whose shares are compared: conditions, parents, or times and those before."""
    groups = estimator.fit_.training.groups
    if groups is not None and groups.in_order:
        return list(zip(groups.names[1:], groups.names[:-1], strict=True))
    found = conditions or estimator.composition_.as_conditions()
    sides: list[Any] = sorted(set(found.values())) if found else []
    return [(a, b) for k, a in enumerate(sides[1:], start=1) for b in sides[:k]]
