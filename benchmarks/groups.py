"""What groups cost: a sweep with them against one without, on the same tree."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.measure import Row, ratio_row

N_GROUPS, N_CLUSTERS, TARGET = 10, 12, 1.3
N_WARMUP, N_SWEEPS = 25, 12
MANY_GROUPS, MANY_CLUSTERS = 100, 20


def groups(quick: bool) -> Iterator[Row]:
    """Time sweeps of chains with shared and with own noise."""
    from sticktree.engine import engine_of
    from sticktree.engine.own.predictive import rebuild as rebuild_own
    from sticktree.engine.shared.predictive import rebuild
    from sticktree.model import Groups, Model

    rng = np.random.default_rng(0)
    n_rows, dimension = (500, 3) if quick else (20_000, 10)
    centres = 3.0 * rng.standard_normal((N_CLUSTERS, dimension))
    data = centres[rng.integers(N_CLUSTERS, size=n_rows)]
    data = data + rng.standard_normal(data.shape)
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    of_row = rng.integers(N_GROUPS, size=n_rows).astype(np.int32)
    shape = -np.log1p(-1.0 / np.arange(4.0, 1.0, -1.0))
    for noise, form in (("shared", "full"), ("own", "diag")):
        chains: dict[str, Any] = {}
        for name, given in (("ten", Groups(of_row)), ("none", None)):
            model = Model(
                shape,
                private_step=True,
                covariance_type=form,  # type: ignore[arg-type]
                leaf_noise=noise,  # type: ignore[arg-type]
                precision_prior=(1.0, 0.01),
                scale_prior=(1.0, 10.0),
                groups=given,
            )
            chains[name] = engine_of(model).chain(data, model, np.random.default_rng(1))
        first, second = chains["ten"], chains["none"]
        for _ in range(N_WARMUP):
            first.sweep(tune=True)
        # Both go on from one tree: how many leaves there are is most of what a sweep takes.
        tree, c, d = first.tree(), first.concentration, first.discount
        if noise == "shared":
            second.factor = first.factor.copy()
            rebuild(second.state, tree, c, d, first.parameters()["scales"])
            second._whiten()
        else:
            rebuild_own(second.state, tree, c, d, first.parameters())
        second.effort = first.effort
        seconds = dict.fromkeys(chains, 0.0)
        for chain in chains.values():
            chain.sweep()
        for _ in range(2 if quick else N_SWEEPS):
            for name, chain in chains.items():
                start = time.process_time()
                chain.sweep()
                seconds[name] += time.process_time() - start
        what = f"a sweep with ten groups against none, {noise} noise, {n_rows:,}×{dimension}"
        yield ratio_row(what, seconds["ten"], seconds["none"], TARGET)


def groups_of_many(quick: bool) -> Iterator[Row]:
    """Time sweeps of the sampler for many rows, in which every group has shares of its own."""
    from sticktree.engine import parallel_chain_of
    from sticktree.engine.bulk.partition import partition
    from sticktree.engine.bulk.placement import ThreadPlacement
    from sticktree.engine.bulk.rows import Rows
    from sticktree.model import Groups, Model

    rng = np.random.default_rng(0)
    n_rows, dimension = (5_000, 3) if quick else (1_000_000, 10)
    centres = 3.0 * rng.standard_normal((MANY_CLUSTERS, dimension))
    of_row = rng.integers(MANY_GROUPS, size=n_rows).astype(np.int32)
    shares = rng.dirichlet(np.ones(MANY_CLUSTERS), MANY_GROUPS).cumsum(axis=1)
    cluster = (shares[of_row] < rng.random(n_rows)[:, None]).sum(axis=1)
    data = centres[np.minimum(cluster, MANY_CLUSTERS - 1)]
    data += rng.standard_normal(data.shape)
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    shape = -np.log1p(-1.0 / np.arange(4.0, 1.0, -1.0))
    part = partition(data, 0)
    for noise, form in (("shared", "full"), ("own", "diag")):
        model = Model(
            shape,
            private_step=True,
            covariance_type=form,  # type: ignore[arg-type]
            leaf_noise=noise,  # type: ignore[arg-type]
            precision_prior=(1.0, 0.01),
            scale_prior=(1.0, 10.0),
        )
        grouped = replace(model, groups=Groups(of_row))
        kind = parallel_chain_of(model)
        rows = Rows(ThreadPlacement(part.in_groups(of_row, 0)))
        first = kind(rows, grouped, np.random.default_rng(1))
        for _ in range(2 if quick else 8):
            first.sweep(tune=True)
        # Both go on from one tree.
        plain, rng_of_plain = Rows(ThreadPlacement(part)), np.random.default_rng(2)
        second = kind.restored(plain, model, rng_of_plain, first.snapshot())
        chains: dict[str, Any] = {"groups": first, "none": second}
        seconds = dict.fromkeys(chains, 0.0)
        for chain in chains.values():
            chain.sweep()
        for _ in range(2 if quick else 6):
            for name, chain in chains.items():
                start = time.process_time()
                chain.sweep()
                seconds[name] += time.process_time() - start
        what = f"{n_rows:,}×{dimension} in {MANY_GROUPS} groups against none, {noise} noise"
        yield ratio_row(f"a parallel sweep, {what}", seconds["groups"], seconds["none"], TARGET)
