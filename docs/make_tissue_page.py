"""Make results/groups-ccle.png and the tables of results/groups.md: cancer cell lines by tissue.

Needs the table "ccle_activity" (see sticktree.datasets): python docs/make_tissue_page.py
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sticktree import DFPMixture, datasets
from sticktree.plotting import plot_composition

HERE = Path(__file__).parent / "results"
N_CLUSTERS = 8
BLOOD, SKIN = "HAEMATOPOIETIC_AND_LYMPHOID_TISSUE", "SKIN"
SETTINGS = {"covariance_type": "diag", "leaf_noise": "own", "n_chains": 2}
SETTINGS |= {"n_warmup": 150, "n_draws": 150, "random_state": 0, "progress": False}


def fitted():
    """Fit all cell lines with their tissues, which is what follows a name's first underscore."""
    table = datasets.load("ccle_activity")
    tissue = [row.partition("_")[2] or None for row in table.rows]
    frame = table.to_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DFPMixture(**SETTINGS).fit(frame, groups=tissue)


def tables(mixture):
    """Return markers of the clusters, and blood and skin against all other tissues."""
    labels = mixture.cluster(N_CLUSTERS)
    lines = ["| cluster | cell lines | marked by (Cohen's d) |", "| --- | --- | --- |"]
    marks = mixture.markers(labels, n_top=4).table
    for k in range(N_CLUSTERS):
        own = [f"{m['column']} {m['effect']:+.1f}" for m in marks if str(m["cluster"]) == str(k)]
        lines.append(f"| {k} | {int((labels == k).sum())} | {', '.join(own)} |")
    for tissue in (BLOOD, SKIN):
        lines += ["", f"{tissue} over all others:", ""]
        lines += [
            "| branch | ratio of shares | 94 % interval | P(larger) |",
            "| --- | --- | --- | --- |",
        ]
        for line in mixture.compare(tissue, n_clusters=N_CLUSTERS).table:
            if line["branch"].isdigit():
                ratio, low, high = np.exp([line["log_ratio"], line["low"], line["high"]])
                said = f"{ratio:.2f} | {low:.2f}–{high:.2f} | {line['p_greater']:.3f}"
                lines.append(f"| {line['branch']} | {said} |")
    return "\n".join([*lines, "", str(mixture.groups_matter())])


if __name__ == "__main__":
    mixture = fitted()
    print(tables(mixture))
    plot_composition(mixture.composition(N_CLUSTERS))
    plt.savefig(HERE / "groups-ccle.png", dpi=110, bbox_inches="tight")
