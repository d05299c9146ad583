"""``sticktree simulate`` and ``demo``: random trees and data from them, without a table."""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from sticktree.checks import check_integer, check_positive
from sticktree.cli import Command
from sticktree.cli.options import add_seed, seed_of
from sticktree.cli.output import output_folder
from sticktree.cli.provenance import provenance
from sticktree.errors import ParameterError
from sticktree.files import atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# ---- simulate ------------------------------------------------------------------------------------

DATA, TREE = "data.csv", "tree.json"
# What each law understands, with its defaults.
OPTIONS: dict[str, dict[str, Any]] = {
    "dfp": {"depth": 4, "divergence": "log", "discount": 0.0},
    "tssb": {"decay": 0.5, "gamma": 1.0},
}

SIMULATE_EPILOG = f"""\
The folder gets two files:
  {DATA}   a row for each datum: its columns x0, x1, … and the path to its leaf, such as 2.1.3
  {TREE}  the tree as arrays (parent, level, count, and the leaf of each datum), the location of
             every node, and all parameters with the seed

examples:
  two columns, four steps, the paper's divergence:
    sticktree simulate -n 1000 --seed 1 -o paper
  the diffusion of the paper's Figure 2:
    sticktree simulate -n 1000 --depth 40 --noise 0 -o diffusion
  ten columns, the same concentration at every level:
    sticktree simulate -n 500 --divergence constant --concentration 2 --dimension 10 -o wide
  well separated clusters: large steps near the root, small ones below:
    sticktree simulate -n 500 --level-scales 1,64,8,1,0.1 --noise 0.1 -o clear
  data that may stop at inner nodes (Adams et al.):
    sticktree simulate -n 200 --law tssb -o inner
  only the table, to the screen:
    sticktree simulate -n 100 -o - | head
"""


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("-n", type=int, default=1000, help="number of data [1000]")
    parser.add_argument(
        "-o",
        "--output",
        default="simulation",
        metavar="FOLDER",
        help="where the files go; - prints the table only [simulation]",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    add_seed(parser, default=None)
    tree = parser.add_argument_group("the tree")
    tree.add_argument(
        "--law",
        choices=["dfp", "tssb"],
        default="dfp",
        help="Dirichlet fragmentation process, or tree-structured stick breaking [dfp]",
    )
    tree.add_argument(
        "--depth",
        type=int,
        metavar="T",
        help="how often the stick breaks; 1 is a Dirichlet process mixture; dfp only [4]",
    )
    tree.add_argument(
        "--divergence",
        choices=["log", "constant", "diffusion"],
        help="how the concentration depends on the level: log is the paper's, "
        "c·log((T−l)/(T−l−1)), whose last step gives every datum a place of its own; diffusion "
        "is that less the discount: a diffusion tree in fine steps; dfp only "
        "[log; constant at depth 1]",
    )
    tree.add_argument(
        "--concentration",
        type=float,
        default=1.0,
        metavar="C",
        help="the factor c: larger means more branches [1]",
    )
    tree.add_argument(
        "--discount",
        type=float,
        metavar="D",
        help="Pitman–Yor discount in [0, 1): larger means more small branches; dfp only [0]",
    )
    tree.add_argument(
        "--decay", type=float, help="how fast concentrations fall with the level; tssb only [0.5]"
    )
    tree.add_argument("--gamma", type=float, help="concentration of children; tssb only [1]")
    data = parser.add_argument_group("the data")
    data.add_argument("--dimension", type=int, default=2, help="number of columns [2]")
    data.add_argument(
        "--covariance",
        type=float,
        default=1.0,
        metavar="V",
        help="variance of a step in every column [1]",
    )
    data.add_argument(
        "--level-scales",
        type=_numbers,
        metavar="V0,V1,…",
        help="factor on that variance for the root and every level [1 everywhere]",
    )
    data.add_argument(
        "--noise",
        type=float,
        default=1.0,
        metavar="R",
        help="factor on that variance for the data around their leaf; 0: none [1]",
    )


def run_simulate(options: argparse.Namespace) -> None:
    """Simulate and write."""
    _complete(options)
    check_integer("-n", options.n, minimum=0)
    model = _model(options)
    seed = seed_of(options)
    to_screen = options.output == "-"
    folder = Path(options.output)
    if not to_screen:
        output_folder(folder, [DATA, TREE], overwrite=options.overwrite)
    simulation = model.sample(options.n, np.random.default_rng(seed))
    if to_screen:
        _write_table(simulation, sys.stdout)
        return
    skipped = ("run", "command", "parser", "argv", "output", "overwrite", "seed")
    parameters = {k: v for k, v in vars(options).items() if k not in skipped and v is not None}
    with (
        atomically(folder / DATA) as path,
        path.open("w", newline="", encoding="utf-8") as file,
    ):
        _write_table(simulation, file)
    with atomically(folder / TREE) as path:
        record = provenance("simulate", {**parameters, "seed": seed})
        text = simulation.tree.to_json(locations=simulation.locations, provenance=record)
        path.write_text(text, encoding="utf-8")
    tree = simulation.tree
    occupied = np.unique(tree.leaf).size
    print(
        f"{tree.n_data} data in {occupied} leaves of a tree with {tree.depth} levels, seed {seed}"
    )
    print(f"wrote {folder / DATA}\nwrote {folder / TREE}")


def _complete(options: argparse.Namespace) -> None:
    """Fill in the defaults of the law, and refuse options that only another law understands."""
    if options.depth == 1 and options.divergence is None:
        options.divergence = "constant"  # a stick that breaks once: the Dirichlet process mixture
    for law, defaults in OPTIONS.items():
        for name, default in defaults.items():
            given = getattr(options, name)
            if law != options.law and given is not None:
                raise ValueError(f"--{name} has no meaning with --law {options.law}: leave it out")
            if law == options.law and given is None:
                setattr(options, name, default)


def _model(options: argparse.Namespace) -> Any:
    """Make the generative model that the options ask for."""
    from sticktree.processes import DiffusionModel, GaussianTransition

    try:
        transition = GaussianTransition(
            options.covariance,
            dimension=options.dimension,
            level_scales=options.level_scales,
            noise=options.noise,
        )
        return DiffusionModel(_law(options), transition)
    except ParameterError as error:
        raise error.renamed(f"--{error.name.replace('_', '-')}") from None


def _law(options: argparse.Namespace) -> Any:
    from sticktree.processes import (
        ConstantDivergence,
        DiffusionDivergence,
        LogDivergence,
        NestedRestaurant,
        TreeStickBreaking,
    )

    factor = check_positive("concentration", options.concentration)
    if options.law == "tssb":
        return TreeStickBreaking(factor, options.decay, options.gamma)
    families: dict[str, Any] = {
        "log": LogDivergence,
        "constant": ConstantDivergence,
        "diffusion": DiffusionDivergence,
    }
    law = families[options.divergence](factor)
    return NestedRestaurant(law, options.depth, discount=options.discount)


def _write_table(simulation: Any, file: IO[str]) -> None:
    from sticktree.tree.structure import format_index

    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([f"x{j}" for j in range(simulation.data.shape[1])] + ["path"])
    paths = map(format_index, simulation.tree.paths())
    writer.writerows(
        [*map(repr, row), path] for row, path in zip(simulation.data.tolist(), paths, strict=True)
    )


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"needs numbers with commas, got {text!r}") from None


SIMULATE = Command(
    "Draw a random tree, let locations diffuse down it, draw data at its leaves.",
    add_simulate,
    run_simulate,
    SIMULATE_EPILOG,
)


# ---- demo ----------------------------------------------------------------------------------------

RANDOM = ("figure-1-sticks.png", "figure-2-diffusion.png")
LEARNED = ("iris-tree.png", "iris-heatmap.png")
REPORT = "iris-report.html"


def add_demo(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "-o",
        "--output",
        default="demo",
        metavar="FOLDER",
        help="where the figures go; files there are replaced [demo]",
    )
    add_seed(parser, default=4)


def run_demo(options: argparse.Namespace) -> None:
    """Show sticks, a tree and a diffusion; then learn a tree."""
    from sticktree.plotting.base import pyplot

    pyplot().switch_backend("agg")  # files only: no window system needed
    folder = output_folder(Path(options.output), [], overwrite=True)
    seed = seed_of(options)
    for name, figure in zip(RANDOM, _random(np.random.default_rng(seed)), strict=True):
        _write(figure, folder / name)
    _learned(folder, seed)


def _random(rng: np.random.Generator) -> tuple[Figure, Figure]:
    """Print random trees, and return the paper's Figures 1 and 2."""
    from sticktree.plotting import figure_diffusion, figure_recursive_sticks
    from sticktree.present.terminal import tree_text
    from sticktree.processes import (
        DiffusionModel,
        GaussianTransition,
        LogDivergence,
        NestedRestaurant,
        RecursiveSticks,
    )

    sticks = RecursiveSticks(1.0, depth=3).sample(rng, truncation=0.01)
    print(
        "A stick of length 1 breaks into sticks, and each of those again (heaviest pieces shown):\n"
    )
    print(tree_text(sticks, max_lines=12))

    tree = NestedRestaurant(0.5, depth=3).sample(100, rng)
    print("\n100 data choose their way down such a tree, one after another:\n")
    print(tree_text(tree))

    model = DiffusionModel(
        NestedRestaurant(LogDivergence(), depth=40), GaussianTransition(dimension=2, noise=0)
    )
    few = model.sample(20, rng)
    many = model.extend(few, 980, rng)
    print("\nIn 40 small steps the same process is a diffusion: 20 data, then 1,000.\n")
    return figure_recursive_sticks(sticks), figure_diffusion(few, many)


def _learned(folder: Path, seed: int) -> None:
    """Learn a tree of irises, print it, and write pictures and a page."""
    from sklearn.datasets import load_iris

    from sticktree import DFPMixture
    from sticktree.metrics import dendrogram_purity
    from sticktree.plotting import DendrogramDisplay, HeatmapDisplay
    from sticktree.posterior.draws import ConvergenceWarning
    from sticktree.present.agreement import verdict_text
    from sticktree.present.table import SUPPORT_MEANINGS
    from sticktree.present.terminal import tree_text
    from sticktree.report import write_report

    iris = load_iris()
    species = [str(iris.target_names[k]) for k in iris.target]
    print("\nThe other way round: 150 irises, and the tree that made them. The sampler is compiled")
    print("when it is first used, which takes about half a minute, once.\n", flush=True)
    mixture = DFPMixture(covariance_type="full", leaf_noise="own", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is printed below
        mixture.fit(iris.data)
    print("The consensus of all draws; at which level branches meet, their rows, and their")
    print(f"transfer support ({SUPPORT_MEANINGS['transfer']}):\n")
    print(tree_text(mixture.tree_, max_lines=14))
    print(f"\npurity by species: {dendrogram_purity(mixture.tree_, species):.3f}")
    print(f"{verdict_text(mixture.diagnosis_.verdict())}\n")
    names = [f"{one} {k}" for k, one in enumerate(species, start=1)]
    columns = [str(name) for name in iris.feature_names]
    tree = DendrogramDisplay.from_estimator(mixture, classes=species, names=names)
    heatmap = HeatmapDisplay.from_estimator(mixture, classes=species, names=names, columns=columns)
    for name, figure in zip(LEARNED, (tree.figure_, heatmap.figure_), strict=True):
        _write(figure, folder / name)
    write_report(folder / REPORT, mixture, names=names, classes=species, title="Irises")
    print(f"wrote {folder / REPORT}")


def _write(figure: Figure, path: Path) -> None:
    with atomically(path) as temporary:
        figure.savefig(temporary, dpi=160)
    print(f"wrote {path}")


DEMO = Command(
    "Break sticks, grow a tree, and let data diffuse down it; then learn the tree "
    "of a table that comes with scikit-learn. Shown in the terminal, as figures, and as a page "
    "to explore in a browser.",
    add_demo,
    run_demo,
)
