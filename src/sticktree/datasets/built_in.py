"""Data sets that need no download: made by hand, drawn from the process, shipped."""

from __future__ import annotations

import csv
from importlib import resources

import numpy as np

from sticktree.datasets.dataset import Dataset

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


SHIPPED_TERMS = "Comes with scikit-learn. The UCI repository asks for citation."
# Title, what it is, whom to cite, and where it is published.
ABOUT = {
    "iris": (
        "Iris",
        "Length and width of sepals and petals of 50 flowers of each of three species.",
        'R. A. Fisher, "The use of multiple measurements in taxonomic problems", Annals of '
        "Eugenics 7(2), 1936, 179–188.",
        "https://archive.ics.uci.edu/dataset/53/iris",
    ),
    "wine": (
        "Wine",
        "Thirteen chemical measurements of 178 wines of one region, from three cultivars.",
        'S. Aeberhard, M. Forina, "Wine", UCI Machine Learning Repository, 1992, '
        "https://doi.org/10.24432/C5PC7J.",
        "https://archive.ics.uci.edu/dataset/109/wine",
    ),
    "breast_cancer": (
        "Breast cancer",
        "Thirty measurements of cell nuclei in images of 569 breast masses, benign or malignant.",
        'W. N. Street, W. H. Wolberg, O. L. Mangasarian, "Nuclear feature extraction for breast '
        'tumor diagnosis", Biomedical Image Processing and Biomedical Visualization, SPIE 1905, '
        "1993, 861–870.",
        "https://archive.ics.uci.edu/dataset/17/breast+cancer+wisconsin+diagnostic",
    ),
    "digits": (
        "Digits",
        "Images of 1,797 handwritten digits, 8 × 8 pixels of whole numbers from 0 to 16.",
        'E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning '
        "Repository, 1998, https://doi.org/10.24432/C50P49.",
        "https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
    ),
}


def ship(name: str) -> Dataset:
    """Return one of them; classes go by their names."""
    from sklearn import datasets

    title, description, citation, source = ABOUT[name]
    bunch = getattr(datasets, f"load_{name}")()
    return Dataset(
        name=name,
        title=title,
        data=np.array(bunch.data, dtype=np.float64),
        columns=tuple(map(str, bunch.feature_names)),
        labels=tuple(str(bunch.target_names[k]) for k in bunch.target),
        description=description,
        citation=citation,
        terms=SHIPPED_TERMS,
        source=source,
    )


MEASURED = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
OBSERVED = ("island", "sex", "year")


def read_penguins() -> Dataset:
    """Return the penguins of three islands; the file is a part of this library."""
    path = resources.files("sticktree.datasets") / "penguins.csv"
    lines = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    return Dataset(
        name="penguins",
        title="Penguins",
        data=np.array([[float(line[name]) for name in MEASURED] for line in lines]),
        columns=MEASURED,
        labels=tuple(line["species"] for line in lines),
        annotations={name: tuple(line[name] for line in lines) for name in OBSERVED},
        description=(
            "Bill, flipper and body mass of 342 adult penguins of three species, nesting on three "
            "islands of the Palmer Archipelago, 2007 to 2009; two more birds that were not "
            "measured are left out. The annotations are island, sex (empty for nine birds) and "
            "year: Adélie penguins nest on all three islands, gentoos on Biscoe only, chinstraps "
            "on Dream only."
        ),
        citation=(
            'K. B. Gorman, T. D. Williams, W. R. Fraser, "Ecological sexual dimorphism and '
            "environmental variability within a community of Antarctic penguins (genus "
            'Pygoscelis)", PLoS ONE 9(3), 2014, e90081, '
            "https://doi.org/10.1371/journal.pone.0090081. As a table: A. M. Horst, A. P. Hill, "
            "K. B. Gorman, palmerpenguins, 2020, https://doi.org/10.5281/zenodo.3960218."
        ),
        terms="CC0, by the Palmer Station Long Term Ecological Research program.",
        source="https://allisonhorst.github.io/palmerpenguins/",
    )
