"""Runs as named arrays, for files: draws end to end, and a chain as it stands.

A file takes arrays without pickling; checkpoints and saved estimators both keep runs in this form.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from sticktree.data.training import TrainingData
from sticktree.engine import engine_of, parallel_chain_of
from sticktree.engine.draw import Draw
from sticktree.model import Model

if TYPE_CHECKING:
    from sticktree.engine.chain import ChainLike

Arrays = dict[str, npt.NDArray[Any]]

VALUES, SHAPES = "draw_values_", "draw_shapes_"  # before the name of a parameter
PARALLEL = "parallel"  # an array that snapshots of chains for many rows have
CHAIN = "chain_"  # before the name of an array of a snapshot


def pack_draws(draws: list[Draw]) -> Arrays:
    """Put draws end to end: trees differ in size, and so may parameters."""
    if not draws:
        return {"draw_sizes": np.empty(0, dtype=np.int64)}
    parameters = {}
    for name in draws[0].parameters:
        values = [draw.parameters[name] for draw in draws]
        parameters[f"{VALUES}{name}"] = np.concatenate([value.ravel() for value in values])
        parameters[f"{SHAPES}{name}"] = np.array([value.shape for value in values], dtype=np.int64)
    # Each draw has the smallest integers that hold it; together they get the smallest for all.
    labelled = [draw for draw in draws if draw.labelled] or draws[:1]
    return (
        parameters
        | _pack_unlabelled(draws)
        | {
            "draw_sizes": np.array([draw.parent.size for draw in draws]),
            "draw_leaf": np.stack([draw.leaf for draw in labelled]),
            "draw_parent": np.concatenate([draw.parent for draw in draws]),
            "draw_level": np.concatenate([draw.level for draw in draws]),
            "draw_traced": np.array(draws[0].traced, dtype=np.str_),
            "draw_scalars": np.array(
                [[draw.concentration, draw.discount, draw.log_joint] for draw in draws]
            ),
        }
    )


def _pack_unlabelled(draws: list[Draw]) -> Arrays:
    """Return what tells of rows where labels do not; nothing, if all draws have labels."""
    known = [draw.counts for draw in draws if draw.counts is not None]
    levels = [draw.meeting_level for draw in draws]
    if not known and all(draw.labelled and draw.meeting_level is None for draw in draws):
        return {}
    return {
        "draw_labelled": np.array([draw.labelled for draw in draws]),
        "draw_n_data": np.array([draw.n_data for draw in draws], dtype=np.int64),
        "draw_counted": np.array([draw.counts is not None for draw in draws]),
        "draw_counts": np.concatenate([np.empty(0, dtype=np.int64), *known]),
        "draw_meeting_level": np.array([np.nan if x is None else x for x in levels]),
    }


def _unpack_unlabelled(arrays: Arrays, sizes: npt.NDArray[Any]) -> list[dict[str, Any]]:
    """Return the same for each draw, ready for :class:`Draw`; files of old have none of it."""
    n_draws = len(sizes)
    if "draw_labelled" not in arrays:
        return [{"leaf": arrays["draw_leaf"][k]} for k in range(n_draws)]
    leaf = iter(arrays["draw_leaf"])
    counted = arrays["draw_counted"]
    # What is behind the last end is nothing.
    counts = iter(np.split(arrays["draw_counts"], np.cumsum(sizes[counted])))
    parts = []
    for k in range(n_draws):
        level = float(arrays["draw_meeting_level"][k])
        parts.append(
            {
                "leaf": next(leaf) if arrays["draw_labelled"][k] else arrays["draw_leaf"][0, :0],
                "n_data": int(arrays["draw_n_data"][k]),
                "counts": next(counts).copy() if counted[k] else None,
                "meeting_level": None if np.isnan(level) else level,
            }
        )
    return parts


def unpack_draws(arrays: Arrays) -> list[Draw]:
    """Return the draws that were packed."""
    sizes = arrays["draw_sizes"]
    if not sizes.size:
        return []
    ends = np.cumsum(sizes)
    names = [name.removeprefix(VALUES) for name in arrays if name.startswith(VALUES)]
    parameters = {
        name: _parts(arrays[f"{VALUES}{name}"], arrays[f"{SHAPES}{name}"]) for name in names
    }
    traced = tuple(arrays["draw_traced"].tolist())
    of_rows = _unpack_unlabelled(arrays, sizes)
    draws = []
    for k, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        small = np.min_scalar_type(int(size))
        part = slice(int(end - size), int(end))
        level = arrays["draw_level"][part]
        concentration, discount, log_joint = arrays["draw_scalars"][k].tolist()
        draws.append(
            Draw(
                leaf=of_rows[k].pop("leaf").astype(small),
                parent=arrays["draw_parent"][part].astype(small),
                level=level.astype(np.min_scalar_type(int(level.max()))),
                parameters={name: parts[k] for name, parts in parameters.items()},
                traced=traced,
                concentration=concentration,
                discount=discount,
                log_joint=log_joint,
                **of_rows[k],
            )
        )
    return draws


def _parts(values: npt.NDArray[Any], shapes: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Cut values into one array for each draw."""
    sizes = shapes.prod(axis=1, dtype=np.int64)
    parts = np.split(values, np.cumsum(sizes)[:-1])
    # Copies: a part alone would keep the values of all draws in memory.
    return [part.reshape(shape).copy() for part, shape in zip(parts, shapes, strict=True)]


def pack_chain(chain: ChainLike) -> Arrays:
    """Return all that it takes to go on with the identical draws, but the data and the model."""
    if isinstance(chain, RestingChain) and chain.arrays is not None:
        return chain.arrays
    arrays = {f"{CHAIN}{name}": array for name, array in chain.snapshot().items()}
    arrays["generator"] = np.array(json.dumps(chain.rng.bit_generator.state))
    return arrays


def unpack_chain(arrays: Arrays, training: TrainingData, model: Model) -> ChainLike:
    """Return a chain that goes on where it was packed; ``arrays`` may hold more."""
    rng = np.random.default_rng()
    rng.bit_generator.state = json.loads(str(arrays["generator"]))
    snapshot = {
        name.removeprefix(CHAIN): array for name, array in arrays.items() if name.startswith(CHAIN)
    }
    if PARALLEL in snapshot:
        from sticktree.engine.online.rows import restored_rows

        store = training.stored()
        n_groups = 0 if model.groups is None else model.groups.number
        rows = restored_rows(store.rows(1, model.jitter(store.shape[1])), snapshot, n_groups)
        return parallel_chain_of(model).restored(rows, model, rng, snapshot)
    return engine_of(model).chain.restored(training.data, model, rng, snapshot)


def resting(arrays: Arrays, training: TrainingData, model: Model) -> ChainLike:
    """Return a chain that is unpacked when it is first asked for anything but its model.

    Most who read a file never go on with its chains, and to wake one loads kernels.
    """
    return cast("ChainLike", RestingChain(arrays, training, model))


class RestingChain:
    """A chain as a file has it, and then as it is."""

    def __init__(self, arrays: Arrays, training: TrainingData, model: Model) -> None:
        self.arrays: Arrays | None = arrays
        self.training, self.model = training, model
        self.awake: ChainLike | None = None

    def __getattr__(self, name: str) -> Any:
        """Wake the chain, and ask it."""
        if name.startswith("__"):  # as copy and others ask of any object
            raise AttributeError(name)
        if self.awake is None:
            assert self.arrays is not None
            self.awake = unpack_chain(self.arrays, self.training, self.model)
            self.arrays = None  # it is out of date with the next sweep
        return getattr(self.awake, name)
