"""Runs as named arrays, for files: draws end to end, and a chain as it stands.

A file takes arrays without pickling; checkpoints and saved estimators both keep runs in this form.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine import engine_of
from sticktree.model import Model
from sticktree.posterior.draws import Draw

if TYPE_CHECKING:
    from sticktree.engine.interface import ChainLike

__all__ = ["Arrays", "pack_chain", "pack_draws", "resting", "unpack_chain", "unpack_draws"]

Arrays = dict[str, npt.NDArray[Any]]

VALUES, SHAPES = "draw_values_", "draw_shapes_"  # before the name of a parameter
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
    return parameters | {
        "draw_sizes": np.array([draw.parent.size for draw in draws]),
        "draw_leaf": np.stack([draw.leaf for draw in draws]),
        "draw_parent": np.concatenate([draw.parent for draw in draws]),
        "draw_level": np.concatenate([draw.level for draw in draws]),
        "draw_traced": np.array(draws[0].traced, dtype=np.str_),
        "draw_scalars": np.array(
            [[draw.concentration, draw.discount, draw.log_joint] for draw in draws]
        ),
    }


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
    draws = []
    for k, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        small = np.min_scalar_type(int(size))
        part = slice(int(end - size), int(end))
        level = arrays["draw_level"][part]
        concentration, discount, log_joint = arrays["draw_scalars"][k].tolist()
        draws.append(
            Draw(
                leaf=arrays["draw_leaf"][k].astype(small),
                parent=arrays["draw_parent"][part].astype(small),
                level=level.astype(np.min_scalar_type(int(level.max()))),
                parameters={name: parts[k] for name, parts in parameters.items()},
                traced=traced,
                concentration=concentration,
                discount=discount,
                log_joint=log_joint,
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
    if isinstance(chain, _RestingChain) and chain.arrays is not None:
        return chain.arrays
    arrays = {f"{CHAIN}{name}": array for name, array in chain.snapshot().items()}
    arrays["generator"] = np.array(json.dumps(chain.rng.bit_generator.state))
    return arrays


def unpack_chain(arrays: Arrays, data: FloatArray, model: Model) -> ChainLike:
    """Return a chain that goes on where it was packed; ``arrays`` may hold more."""
    rng = np.random.default_rng()
    rng.bit_generator.state = json.loads(str(arrays["generator"]))
    snapshot = {
        name.removeprefix(CHAIN): array for name, array in arrays.items() if name.startswith(CHAIN)
    }
    return engine_of(model).chain.restored(data, model, rng, snapshot)


def resting(arrays: Arrays, data: FloatArray, model: Model) -> ChainLike:
    """Return a chain that is unpacked when it is first asked for anything but its model.

    Most who read a file never go on with its chains, and to wake one loads kernels.
    """
    return cast("ChainLike", _RestingChain(arrays, data, model))


class _RestingChain:
    def __init__(self, arrays: Arrays, data: FloatArray, model: Model) -> None:
        self.arrays: Arrays | None = arrays
        self.data, self.model = data, model
        self.awake: ChainLike | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # as copy and others ask of any object
            raise AttributeError(name)
        if self.awake is None:
            assert self.arrays is not None
            self.awake = unpack_chain(self.arrays, self.data, self.model)
            self.arrays = None  # it is out of date with the next sweep
        return getattr(self.awake, name)
