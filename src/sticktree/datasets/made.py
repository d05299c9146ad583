"""Data sets that are made here: by hand, and by the process itself."""

from __future__ import annotations

import numpy as np

from sticktree.datasets.dataset import Dataset

__all__ = ["make_diffusion", "make_synthetic"]

PAPER = (
    'H. Ge, Y. Gal, Z. Ghahramani, "Dirichlet fragmentation processes: a useful variant of '
    'fragmentation processes for modelling hierarchical data", arXiv:1509.04781, 2015'
)
COLUMNS = ("x0", "x1")
TERMS = "Made by this library, on its own licence."

ROWS_PER_CLUSTER = 8
CLUSTER_SD = 0.25
CLUSTER_DISTANCE = 4.0  # of neighbours in a group, in which clusters are the corners of a polygon
# Name and centre of every group, its number of clusters, and by how much its polygon is turned.
GROUPS = (
    ("A", (0.0, 0.0), 3, 0.25),
    ("B", (22.0, 3.0), 4, 0.1),
    ("C", (9.0, 20.0), 5, 0.05),
)


def make_synthetic() -> Dataset:
    """Return small clusters in groups, with more than two clusters to a group."""
    rng = np.random.default_rng(4)
    data, labels = [], []
    for group, centre, n_clusters, turn in GROUPS:
        radius = CLUSTER_DISTANCE / (2 * np.sin(np.pi / n_clusters))
        for k in range(n_clusters):
            angle = 2 * np.pi * (k / n_clusters + turn)
            corner = np.array(centre) + radius * np.array([np.cos(angle), np.sin(angle)])
            data.append(rng.normal(corner, CLUSTER_SD, (ROWS_PER_CLUSTER, 2)))
            labels += [f"{group}{k + 1}"] * ROWS_PER_CLUSTER
    return Dataset(
        name="synthetic",
        title="Synthetic",
        data=np.concatenate(data).round(3),
        columns=COLUMNS,
        labels=tuple(labels),
        groups=tuple(label[0] for label in labels),
        description=(
            "Twelve small round clusters of 8 points in the plane, in groups of three, four and "
            "five. The clusters of a group are the corners of a regular polygon, so that none is "
            "closer to one neighbour than to the other: a tree with branchings in two has to "
            "invent an order, and one with wider branchings need not. Labels are clusters."
        ),
        citation=f"Made by hand after the synthetic set of {PAPER}, Figure 4.",
        terms=TERMS,
        source="sticktree.datasets",
    )


def make_diffusion() -> Dataset:
    """Return data drawn from the model, with steps that get smaller from level to level."""
    from sticktree.processes import (
        DiffusionModel,
        GaussianTransition,
        LogDivergence,
        NestedRestaurant,
    )

    model = DiffusionModel(
        NestedRestaurant(LogDivergence(1.5), depth=4),
        GaussianTransition(dimension=2, level_scales=[1, 64, 8, 1, 0.25], noise=0.05),
    )
    simulation = model.sample(500, np.random.default_rng(9))
    paths = simulation.tree.paths()
    return Dataset(
        name="diffusion",
        title="Diffusion",
        data=simulation.data,
        columns=COLUMNS,
        labels=tuple(f"{path[0]}.{path[1]}" for path in paths),
        groups=tuple(f"{path[0]}" for path in paths),
        description=(
            "500 points in the plane, drawn from the Dirichlet fragmentation process of depth 4 "
            "with Gaussian steps of variance 64, 8, 1 and 0.25 and noise of variance 0.05. Labels "
            "are the nodes of the second level of the tree that made them, groups those of the "
            "first; small ones lie anywhere."
        ),
        citation=f"Drawn from the model of {PAPER}.",
        terms=TERMS,
        source="sticktree.datasets",
    )
