"""What is known of each data set that comes as files: its files, their checksums, whom to cite.

Nothing of the data is kept here. The checksum of a file is that of its bytes; a fingerprint is that
of the numbers and labels read from it, whatever form the file has.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sticktree.datasets.dataset import Contents

LABEL = "label"


@dataclass(frozen=True, kw_only=True)
class Original:
    """A file as its public source has it; the first of its addresses that answers is used."""

    name: str
    urls: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A data set; either a table ``file`` in the project's form, or all originals."""

    name: str
    title: str
    file: str
    shape: tuple[int, int]
    columns: tuple[str, ...] | None  # None: those of the file
    labelled: bool = False
    row_names: str | None = None  # the header of the column that has them
    originals: tuple[Original, ...] = ()
    read: Callable[..., Contents] | None = None  # takes the paths of the originals
    fingerprint: str | None = None
    description: str
    citation: str
    terms: str
    source: str

    @property
    def header(self) -> str:
        """The header of the table, for messages."""
        columns = self.columns or tuple(f"x{k}" for k in range(self.shape[1]))
        names = [*columns, LABEL] if self.labelled else list(columns)
        return ",".join(names if self.row_names is None else [self.row_names, *names])


def read_arff(path: Path) -> Contents:
    """Read a file of attributes and values whose last attribute is the class."""
    from scipy.io import arff

    values, about = arff.loadarff(path)
    *features, label = about.names()
    return Contents(
        data=np.column_stack([values[feature] for feature in features]).astype(np.float64),
        columns=tuple(features),
        labels=tuple(word.decode() for word in values[label].tolist()),
    )


def read_uci(path: Path) -> Contents:
    """Read a table without header: the row's number, the features, the class."""
    with path.open(newline="", encoding="utf-8") as stream:
        lines = [line for line in csv.reader(stream) if line]
    return Contents(
        data=np.array([line[1:-1] for line in lines], dtype=np.float64),
        columns=tuple(f"x{k}" for k in range(len(lines[0]) - 2)),
        labels=tuple(line[-1] for line in lines),
    )


def read_sensitivity(values: Path, cell_names: Path, drug_names: Path) -> Contents:
    """Read a matrix of numbers and the names of its rows and columns, each in a file."""
    return Contents(
        data=np.loadtxt(values, dtype=np.float64, ndmin=2),
        columns=_drugs(drug_names),
        rows=_cell_lines(cell_names),
    )


def read_activity(measurements: Path, cell_names: Path, drug_names: Path) -> Contents:
    """Turn a table with a row for each measurement into one with a row for each cell line.

    What was not measured is NaN. Both files of names put rows and columns into the order of the
    other matrix, so that the two can be compared entry by entry.
    """
    rows, columns = _cell_lines(cell_names), _drugs(drug_names)
    row_of = {row: k for k, row in enumerate(rows)}
    column_of = {column: k for k, column in enumerate(columns)}
    data = np.full((len(rows), len(columns)), np.nan)
    with measurements.open(newline="", encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            at = row_of[line["CCLE Cell Line Name"]], column_of[line["Compound"]]
            data[at] = float(line["ActArea"])
    return Contents(data=data, columns=columns, rows=rows)


def _cell_lines(path: Path) -> tuple[str, ...]:
    # Some program took the NA of URINARY for a missing value when the file was made.
    return tuple(path.read_text(encoding="utf-8").replace("NaN", "NA").split())


def _drugs(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8").replace("_", "-").split())


PLANE = ("x0", "x1")
OXIDES = ("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")
DRUGS = (
    *("PD-0332991", "Nilotinib", "RAF265", "PHA-665752", "Nutlin-3", "LBW242", "PLX4720"),
    *("Paclitaxel", "AEW541", "TAE684", "TKI258", "AZD0530", "L-685458", "PF2341066"),
    *("Sorafenib", "ZD-6474", "Irinotecan", "17-AAG", "Lapatinib", "Topotecan"),
    *("PD-0325901", "AZD6244", "Panobinostat", "Erlotinib"),
)

RAW = "https://raw.githubusercontent.com"
SHAPES = (
    f"{RAW}/deric/clustering-benchmark/1c771aeec97f9e931c710fa6f35a558889576496"
    "/src/main/resources/datasets/artificial"
)
PYDT = f"{RAW}/davidaknowles/pydt/248783ae53f4b9915f1cbc3513f86938b6ecb74c"
CCLE_AT = "haiderinam/pair_con_select/c511c2b053a8fd1f022f8b7c1c1a1aab2d3e0802/data"
CCLE_FILE = "CCLE_NP24.2009_Drug_data_2015.02.24.csv"

VEENMAN = (
    'C. J. Veenman, M. J. T. Reinders, E. Backer, "A maximum variance cluster algorithm", IEEE '
    "Transactions on Pattern Analysis and Machine Intelligence 24(9), 2002, 1273–1280."
)
BARRETINA = (
    'J. Barretina et al., "The Cancer Cell Line Encyclopedia enables predictive modelling of '
    'anticancer drug sensitivity", Nature 483, 2012, 603–607.'
)
KNOWLES = (
    'D. A. Knowles, Z. Ghahramani, "Pitman–Yor diffusion trees for Bayesian hierarchical '
    'clustering", IEEE Transactions on Pattern Analysis and Machine Intelligence 37(2), 2015, '
    "271–289."
)
SHAPE_TERMS = (
    "One of the shape sets of the University of Eastern Finland's clustering data; offered for "
    "research, with citation."
)
CCLE_TERMS = "The Cancer Cell Line Encyclopedia has terms of use of its own: see its web site."

CELL_NAMES = Original(
    name="cell_names.txt",
    urls=(f"{PYDT}/cell_names.txt",),
    sha256="e857158098aecda16b25933f7f0e199ff330e5d05bc74c097a6bf13b2861b55d",
)
DRUG_NAMES = Original(
    name="drug_names.txt",
    urls=(f"{PYDT}/drug_names.txt",),
    sha256="ecc59b60d6b25c7be0c3ec1b64fa804daa1768962195fc97396cfce5e2f1fd11",
)

ENTRIES = (
    Entry(
        name="r15",
        title="R15",
        file="r15.csv",
        shape=(600, 2),
        columns=PLANE,
        labelled=True,
        originals=(
            Original(
                name="R15.arff",
                urls=(f"{SHAPES}/R15.arff",),
                sha256="074099b26c9fa2c46530a897faadd3349cc4a458d9cfc010c245780c922d14bf",
            ),
        ),
        read=read_arff,
        fingerprint="a2363bdf85fb287cbe098067bb38494af9300a7e4b16af4e415bf65d225270c4",
        description="Fifteen Gaussian clusters of 40 points in the plane, around one of them.",
        citation=VEENMAN,
        terms=SHAPE_TERMS,
        source="https://github.com/deric/clustering-benchmark",
    ),
    Entry(
        name="d31",
        title="D31",
        file="d31.csv",
        shape=(3100, 2),
        columns=PLANE,
        labelled=True,
        originals=(
            Original(
                name="D31.arff",
                urls=(f"{SHAPES}/D31.arff",),
                sha256="291780f7909426a91f0f2f73c5688aa99f22d34ba8a55f07eda61d1bbc7b3296",
            ),
        ),
        read=read_arff,
        fingerprint="2fba1f8fa692469abc62779e3e4faf4fd678c4ca08f753ac7e6072b9159c7814",
        description="Thirty-one Gaussian clusters of 100 points in the plane.",
        citation=VEENMAN,
        terms=SHAPE_TERMS,
        source="https://github.com/deric/clustering-benchmark",
    ),
    Entry(
        name="aggregation",
        title="Aggregation",
        file="aggregation.csv",
        shape=(788, 2),
        columns=PLANE,
        labelled=True,
        originals=(
            Original(
                name="aggregation.arff",
                urls=(f"{SHAPES}/aggregation.arff",),
                sha256="667bc279cde757f880b96f1ac3712945c2996314c5b61eb30442dca11ed871f9",
            ),
        ),
        read=read_arff,
        fingerprint="379824fadb788a93f5855f90537f5fdcef973b43ce3e2b55bd850c1e94ea27ff",
        description=(
            "Seven shapes in the plane, of 34 to 273 points, evenly filled; some touch. The points "
            "lie on a grid of 0.05."
        ),
        citation=(
            'A. Gionis, H. Mannila, P. Tsaparas, "Clustering aggregation", ACM Transactions on '
            "Knowledge Discovery from Data 1(1), 2007, 1–30."
        ),
        terms=SHAPE_TERMS,
        source="https://github.com/deric/clustering-benchmark",
    ),
    Entry(
        name="glass",
        title="Glass",
        file="glass.csv",
        shape=(214, 9),
        columns=OXIDES,
        labelled=True,
        originals=(
            Original(
                name="glass.data",
                urls=(
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/glass/glass.data",
                ),
                sha256="dd67373f4baf2807345df02cbfef2093d342e61ad0d82a4fb79af43ef8ce449d",
            ),
        ),
        read=read_uci,
        fingerprint="d4280486767396457231659329df6689f0bb6318bd2ec119ecd47c0119974558",
        description=(
            "Pieces of glass: the refractive index and the weight percent of eight oxides, in the "
            "order of the UCI repository. Labels are its codes of where the glass is from: 1 "
            "windows of buildings, float processed, 2 the same, not float processed, 3 windows of "
            "vehicles, float processed, 5 containers, 6 tableware, 7 headlamps; there is no 4. Two "
            "rows are the same."
        ),
        citation=(
            'B. German, "Glass Identification", UCI Machine Learning Repository, 1987, '
            "https://doi.org/10.24432/C5WW2P."
        ),
        terms="The UCI repository asks for citation.",
        source="https://archive.ics.uci.edu/dataset/42/glass+identification",
    ),
    Entry(
        name="ccle",
        title="CCLE",
        file="ccle_pydt.csv",
        shape=(504, 24),
        columns=DRUGS,
        row_names="cell_line",
        originals=(
            Original(
                name="sensitivity.txt",
                urls=(f"{PYDT}/sensitivity.txt",),
                sha256="d6a624c146376bdd6722d7d34ff59fe054718a4424682a4104da2db8cefe46f0",
            ),
            CELL_NAMES,
            DRUG_NAMES,
        ),
        read=read_sensitivity,
        fingerprint="26d45285eeca080f0396c7b9b72fa2ddc9aed869dd1f365c3e66f71806c1f9c4",
        description=(
            "Sensitivity of 504 cancer cell lines to 24 drugs: log10 of the activity area rounded "
            "to two decimals, the matrix that comes with the code of the Pitman–Yor diffusion "
            "tree. An exact 0 stands for a missing value (426 times), for a rounded area of 0 "
            "(374 times) or for one of 1 (39 times). 'ccle_activity' has the areas themselves."
        ),
        citation=f"{BARRETINA} This matrix: {KNOWLES}",
        terms=f"{CCLE_TERMS} The repository of this matrix states no licence.",
        source="https://github.com/davidaknowles/pydt",
    ),
    Entry(
        name="ccle_activity",
        title="CCLE activity",
        file="ccle.csv",
        shape=(504, 24),
        columns=DRUGS,
        row_names="cell_line",
        originals=(
            Original(
                name=CCLE_FILE,
                urls=(
                    f"{RAW}/{CCLE_AT}/depmap_alkati/Data_cosmic/{CCLE_FILE}",
                    f"https://media.githubusercontent.com/media/{CCLE_AT}/{CCLE_FILE}",
                ),
                sha256="57bdedeb6a9522af76ee1f728a4d1960feb9dddfe1f2c7a5306e2cfb03232923",
            ),
            CELL_NAMES,
            DRUG_NAMES,
        ),
        read=read_activity,
        fingerprint="f3a895350fbe08c811aa73f6fbe22191f9f0bea4d438fac05a08b98955a682ca",
        description=(
            "Activity area, from 0 to 7.8, of 24 drugs in 504 cancer cell lines; larger is more "
            "sensitive. 426 values are missing, and 305 cell lines have none missing. Rows and "
            "columns are those of 'ccle', in the same order."
        ),
        citation=BARRETINA,
        terms=CCLE_TERMS,
        source="https://github.com/haiderinam/pair_con_select",
    ),
    Entry(
        name="macaque",
        title="Macaque",
        file="macaque.csv",
        shape=(228, 10),
        columns=None,
        description="Ten linear measurements of the skulls of 228 rhesus macaques.",
        citation=(
            'K. E. Willmore, C. P. Klingenberg, B. Hallgrímsson, "The relationship between '
            'fluctuating asymmetry and environmental variance in rhesus macaque skulls", Evolution '
            "59(4), 2005, 898–909. As data for densities: R. P. Adams, I. Murray, D. J. C. MacKay, "
            '"The Gaussian process density sampler", Advances in Neural Information Processing '
            "Systems 21, 2009."
        ),
        terms="Not public; those of whoever gives you the file.",
        source=(
            "no public copy is known: ask the authors of the study (Willmore, Klingenberg and "
            "Hallgrímsson, Evolution 59, 2005) or of a paper that used it (Adams, Murray and "
            "MacKay, The Gaussian process density sampler, 2009)"
        ),
    ),
)
