"""What other programs reached on the same splits, measured elsewhere.

``STICKTREE_PEERS`` names a folder with ``density.csv``, whose columns are set, preprocessing, peer,
split and test_log_density; without it, a folder ``peers`` beside that of the data is used.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

from benchmarks.density.interval import paired_difference
from benchmarks.folder import data_folder

VARIABLE = "STICKTREE_PEERS"


def peers_file() -> Path | None:
    """Return the file of the peers' results, or None if there is none."""
    named, data = os.environ.get(VARIABLE), data_folder()
    if named:
        folder = Path(named).expanduser()
    elif data is not None:
        folder = data.resolve().parent / "peers"
    else:
        return None
    file = folder / "density.csv"
    return file if file.is_file() else None


def peers_on(name: str, preprocessing: str) -> dict[str, dict[int, float]]:
    """Return each peer's log density by split, where the data were prepared in the same way."""
    file = peers_file()
    found: dict[str, dict[int, float]] = {}
    if file is None:
        return found
    with file.open(newline="", encoding="utf-8") as lines:
        for line in csv.DictReader(lines):
            if (line["set"], line["preprocessing"]) == (name, preprocessing):
                values = found.setdefault(line["peer"], {})
                values[int(line["split"])] = float(line["test_log_density"])
    return found


def best_peers(
    ours: dict[int, float], peers: dict[str, dict[int, float]], n_best: int = 4
) -> dict[str, dict[int, float]]:
    """Return the peers that we lead by least, on the splits that both have.

    Means would not do: some peers have only some of the splits, and splits differ.
    """
    shared = {
        peer: {split: value for split, value in values.items() if split in ours}
        for peer, values in peers.items()
        if values.keys() & ours.keys()
    }
    order = sorted(shared, key=lambda peer: paired_difference(ours, shared[peer]).mean)
    return {peer: shared[peer] for peer in order[:n_best]}
