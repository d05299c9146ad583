"""Data sets that come with scikit-learn."""

from __future__ import annotations

import numpy as np

from sticktree.datasets.dataset import Dataset

__all__ = ["ABOUT", "ship"]

TERMS = "Comes with scikit-learn. The UCI repository asks for citation."
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
        terms=TERMS,
        source=source,
    )
