"""Chains in the processes of a joblib backend, which are sent there and back a few times.

From one leg to the next chains are what a checkpoint has of them, so that they go on to the same
draws as in threads.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from sticktree.checks import FloatArray
from sticktree.data.store import MemoryStore, Store
from sticktree.engine.draw import Draw
from sticktree.inference.blas import one_thread
from sticktree.inference.sampling import Run, Schedule
from sticktree.io.packing import Arrays, pack_chain, unpack_chain
from sticktree.model import Model

__all__ = ["sample_in_legs", "table_of"]

LEGS = 10


def table_of(data: FloatArray | Store) -> FloatArray | None:
    """Return rows that can be sent to processes, or None if they are not in memory."""
    if isinstance(data, MemoryStore):
        return data.data
    return data if isinstance(data, np.ndarray) else None


def sample_in_legs(
    runs: list[Run], schedule: Schedule, data: FloatArray, watch: Callable[[int, Run], None]
) -> bool:
    """Sweep all runs with joblib until they are done; return False if interrupted.

    ``watch(k, run)`` is called after every leg of run k. On Ctrl-C the leg is lost, and all draws
    before it are kept.
    """
    from joblib import Parallel, delayed

    length = -(-schedule.n_sweeps // LEGS)
    going = [k for k, run in enumerate(runs) if run.n_sweeps < schedule.n_sweeps]
    try:
        for k in going:
            if not runs[k].n_sweeps:
                # A chain that was never swept has sums in the order in which it was made, and goes
                # on from a copy to the same but for rounding.
                next(runs[k].sweeps(schedule))
                watch(k, runs[k])
        going = [k for k in going if runs[k].n_sweeps < schedule.n_sweeps]
        while going:
            tasks = [
                delayed(leg)(
                    pack_chain(runs[k].chain),
                    data,
                    runs[k].chain.model,
                    schedule,
                    runs[k].n_sweeps,
                    length,
                )
                for k in going
            ]
            for k, (arrays, draws, n_sweeps) in zip(going, Parallel()(tasks), strict=True):
                run = runs[k]
                run.chain = unpack_chain(arrays, data, run.chain.model)
                run.draws += draws
                run.n_sweeps = n_sweeps
                watch(k, run)
            going = [k for k in going if runs[k].n_sweeps < schedule.n_sweeps]
    except KeyboardInterrupt:
        return False
    return True


def leg(
    arrays: Arrays,
    data: FloatArray,
    model: Model,
    schedule: Schedule,
    n_sweeps: int,
    length: int,
) -> tuple[Arrays, list[Draw], int]:
    """Sweep a chain for a while; return it, the draws it made, and how many sweeps it has."""
    with one_thread():
        run = Run(unpack_chain(arrays, data, model), [], n_sweeps)
        for _ in islice(run.sweeps(schedule), length):
            pass
        return pack_chain(run.chain), run.draws, run.n_sweeps
