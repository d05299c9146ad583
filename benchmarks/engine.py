"""What a sweep costs, how that grows with the rows, and what drawing from the processes costs.

Against a peer's E-step, against itself with a deep tree, and against the least it could cost.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Literal

import numpy as np
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from benchmarks.data import (
    TITLES,
    crowd,
    default_chain,
    grid,
    n_leaves,
    on_data,
    standardised,
    warm,
)
from benchmarks.measure import (
    Row,
    Target,
    duration,
    duration_row,
    median,
    processor_seconds,
    race,
    ratio_row,
    seconds_of,
    slope,
    verdict,
)
from sticktree import Tree
from sticktree.checks import FloatArray
from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.datum import move_data
from sticktree.engine.own.predictive import rebuild
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.datum import datum_sweep
from sticktree.jit import jit
from sticktree.model import Model
from sticktree.processes import NestedRestaurant, RecursiveSticks

# Times per sweep of FBM (Neal's Flexible Bayesian Modelling), measured elsewhere.
FBM = {
    "r15": "FBM elsewhere: mixture 0.6 ms, diffusion tree 1.8 ms",
    "d31": "FBM elsewhere: mixture 3–6 ms, diffusion tree 9.5 ms",
}
MILLISECONDS = {"r15": 0.4, "d31": 2.2}


def engine(quick: bool = False) -> Iterator[Row]:
    share = 20 if quick else 1
    yield datum_moves(100_000 // share, 2, 100)
    yield datum_moves(20_000 // share, 16, 50)
    yield by_column(20_000 // share, 16, 50)
    for dimension in (2, 10):
        for depth in (2, 4):
            yield own_rows(1_000 // share, dimension, "diag", depth)
            yield own_rows(1_000 // share, dimension, "full", depth)
    n_sweeps = 20 if quick else 200
    what = "one sweep, 40 breaks of the stick vs 4, R15"
    yield from on_data("r15", what, lambda data: [deep(what, standardised(data), n_sweeps)])
    for name in FBM:
        yield from whole_sweep(name, n_sweeps)


def datum_moves(n_rows: int, dimension: int, n_clusters: int) -> Row:
    rng = np.random.default_rng(0)
    data = crowd(n_rows, dimension, n_clusters, rng)
    model = Model(np.ones(3), covariance_type="spherical", precision_prior=(1.0, 0.01))
    chain = warm(Chain(data, model, rng), 3)
    n_components = n_leaves(chain)
    peer = GaussianMixture(
        n_components, covariance_type="spherical", max_iter=1, init_params="random"
    )
    peer.means_init = data[rng.choice(n_rows, n_components, replace=False)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        peer.fit(data)
    return ratio_row(
        f"datum sweep, {n_rows:,}×{dimension}, {n_components} leaves, "
        "vs one E-step of GaussianMixture",
        *race(
            lambda: datum_sweep(chain.state, chain.words),
            lambda: peer.score_samples(data),
            rounds=5,
        ),
        target=0.5,
    )


def by_column(n_rows: int, dimension: int, n_clusters: int) -> Row:
    """Compare leaves with a variance of their own in every column with the scalar kernel."""
    rng = np.random.default_rng(0)
    data = crowd(n_rows, dimension, n_clusters, rng)
    shared = Model(np.ones(2), covariance_type="diag", precision_prior=(1.0, 0.01))
    own = Model(np.ones(2), covariance_type="diag", leaf_noise="own")
    columns, scalar = warm(ColumnsChain(data, own, rng), 3), warm(Chain(data, shared, rng), 3)
    every = np.arange(n_rows)
    return ratio_row(
        f"datum sweep, {n_rows:,}×{dimension}, own variances in {n_leaves(columns)} leaves, vs "
        f"shared ones in {n_leaves(scalar)}",
        *race(
            lambda: move_data(columns.state, every, columns.words),
            lambda: datum_sweep(scalar.state, scalar.words),
            rounds=5,
        ),
        target=4,
    )


N_LEAVES = 12
MICROSECONDS = {2: 1.0, 10: 1.5}  # by the number of columns


def own_rows(n_rows: int, dimension: int, form: Literal["diag", "full"], depth: int) -> Row:
    """Measure what a row's move costs where leaves have their own noise.

    The chain starts from the clusters that are there: what it costs to find them is another matter.
    """
    rng = np.random.default_rng(0)
    centres = rng.normal(0.0, 10.0 if dimension == 2 else 3.0, (N_LEAVES, dimension))
    label = rng.integers(N_LEAVES, size=n_rows)
    data = standardised(centres[label] + rng.normal(size=(n_rows, dimension)))
    model = Model(np.ones(depth), covariance_type=form, leaf_noise="own")
    chain = ColumnsChain(data, model, rng)
    tree = Tree.from_paths([(1 + k % 3,) * (depth - 1) + (1 + k,) for k in label.tolist()])
    parameters = {
        "phi": np.zeros((int((tree.level < depth).sum()), dimension)),
        "variance": np.full((depth, dimension), 0.5),
        "hyper": chain.state.hyper,
        "psi": 0.02 * np.eye(chain.state.psi.shape[0]),
    }
    rebuild(chain.state, tree, 1.0, 0.1, parameters)
    warm(chain, 10)
    every = np.arange(n_rows)
    seconds = min(
        processor_seconds(lambda: move_data(chain.state, every, chain.words)) for _ in range(9)
    )
    return duration_row(
        f"a row's move, own noise, {form}, depth {depth}, {dimension} columns, "
        f"{n_leaves(chain)} leaves",
        seconds / n_rows,
        MICROSECONDS[dimension],
        "µs",
    )


def deep(what: str, data: FloatArray, n_sweeps: int) -> Row:
    with threadpool_limits(limits=1):
        chains = [warm(default_chain(data, n_steps), n_sweeps) for n_steps in (40, 4)]
    return ratio_row(what, *race(chains[0].sweep, chains[1].sweep, rounds=n_sweeps), target=3)


def whole_sweep(name: str, n_sweeps: int) -> Iterator[Row]:
    what = f"one sweep of all moves, 3 levels, {TITLES[name]}"

    def measure(data: FloatArray) -> Iterator[Row]:
        with threadpool_limits(limits=1):
            chain = warm(default_chain(standardised(data)), n_sweeps)
            seconds = median([seconds_of(chain.sweep) for _ in range(n_sweeps)])
        yield duration_row(what, seconds, MILLISECONDS[name], "ms", peer=FBM[name])

    yield from on_data(name, what, measure)


EXPONENT = Target(1.1)
SIDE = 4
# So small that clusters far apart need no second leaf, however many rows there are.
CONCENTRATION = 0.01


def growth(quick: bool = False) -> Iterator[Row]:
    sizes = (300, 1_000, 3_000) if quick else (1_000, 10_000, 100_000)
    model = Model(
        np.ones(3),
        covariance_type="spherical",
        precision_prior=(1.0, 0.01),
        concentration=CONCENTRATION,
    )
    seconds, leaves = [], []
    with threadpool_limits(limits=1):
        for n_rows in sizes:
            rng = np.random.default_rng(0)
            chain = warm(Chain(grid(n_rows, SIDE, rng), model, rng), 20)
            seconds.append(median([seconds_of(chain.sweep) for _ in range(15)]))
            leaves.append(n_leaves(chain))
    exponent = slope(sizes, seconds)
    yield Row(
        "time per sweep, exponent in the number of rows: "
        + ", ".join(f"{n:,} ({k} leaves)" for n, k in zip(sizes, leaves, strict=True)),
        ours=", ".join(duration(taken) for taken in seconds),
        figure=f"{exponent:.2f}",
        target=str(EXPONENT),
        verdict=verdict(EXPONENT.met(exponent)),
    )


@jit
def plain_restaurant(alpha: float, discount: float, uniform: FloatArray) -> int:
    """Seat data in one restaurant by walking along the tables, the textbook way."""
    count = np.zeros(uniform.size, dtype=np.int64)
    table = np.empty(uniform.size, dtype=np.int64)
    n_tables = 0
    for i in range(uniform.size):
        left = uniform[i] * (i + alpha)
        k = 0
        while k < n_tables and left >= count[k] - discount:
            left -= count[k] - discount
            k += 1
        n_tables = max(n_tables, k + 1)
        count[k] += 1
        table[i] = k
    return n_tables


def processes(quick: bool = False) -> Iterator[Row]:
    for discount in (0.0, 0.3):
        yield sticks(discount)
    for discount in (0.0, 0.3):
        yield restaurant(discount)


def sticks(discount: float) -> Row:
    rng = np.random.default_rng(0)
    law = RecursiveSticks(1.0, depth=5, discount=discount)
    return ratio_row(
        f"1,000,000 paths of depth 5 from recursive sticks, d = {discount:g}, "
        "vs 5,000,000 uniforms",
        *race(lambda: law.sample_paths(1_000_000, rng), lambda: rng.random(5_000_000)),
        target=10,
    )


def restaurant(discount: float) -> Row:
    rng = np.random.default_rng(0)
    law = NestedRestaurant(1.0, depth=5, discount=discount)
    return ratio_row(
        f"100,000 data in the nested restaurant of depth 5, d = {discount:g}, "
        "vs one plain restaurant in numba",
        *race(
            lambda: law.sample(100_000, rng),
            lambda: plain_restaurant(1.0, discount, rng.random(100_000)),
        ),
        target=3,
    )
