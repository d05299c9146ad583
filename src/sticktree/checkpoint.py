"""Checkpoints: a folder from which a run goes on to the identical draws.

``run.json`` says what is run (format, version, parameters, a hash of the data); ``chain-k.npz`` has
the state of a chain, its random numbers and its draws. Every file appears whole or not at all, and
nothing is pickled.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine import engine_of
from sticktree.files import atomically
from sticktree.model import Model
from sticktree.posterior.draws import Draw
from sticktree.sampling import Run

__all__ = ["Checkpoint"]

VALUES, SHAPES = "draw_values_", "draw_shapes_"  # before the name of a parameter
FORMAT, VERSION = "sticktree.checkpoint", 2


class Checkpoint:
    """A folder with a run.

    Parameters
    ----------
    folder : path
        Where the files are; made if it is not there.
    data : float array
        The data of the run, standardised.
    parameters : dict
        What must be the same for a run to go on.
    """

    def __init__(
        self, folder: str | os.PathLike[str], data: FloatArray, parameters: dict[str, Any]
    ) -> None:
        self.folder = Path(folder)
        self.data = data
        table = np.where(np.isnan(data), np.nan, data)  # NaN has many forms, and all are the same
        self.header = {
            "format": FORMAT,
            "version": VERSION,
            "data": hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest(),
            "shape": list(data.shape),
            "parameters": json.loads(json.dumps(parameters, default=repr)),
        }

    def exists(self) -> bool:
        """Tell whether the folder holds this run; say why, if it holds another."""
        path = self.folder / "run.json"
        if not path.exists():
            return False
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:  # neither JSON nor text
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError(f"checkpoint: {path} is damaged or not from sticktree")
        if found.get("version") != VERSION:
            raise ValueError(
                f"checkpoint: {path} has format version {found.get('version')!r}; this sticktree "
                f"reads {VERSION}"
            )
        for key in ("shape", "data", "parameters"):
            if found.get(key) != self.header[key]:
                raise ValueError(
                    f"checkpoint: {self.folder} holds a run with other {key}; choose another folder"
                )
        return True

    def begin(self) -> None:
        """Write what is run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomically(self.folder / "run.json") as path:
            path.write_text(json.dumps(self.header, indent=1) + "\n", encoding="utf-8")

    def save(self, k: int, run: Run) -> None:
        """Write chain k with its draws."""
        arrays = {f"chain_{name}": array for name, array in run.chain.snapshot().items()}
        arrays |= _pack(run.draws)
        arrays["n_sweeps"] = np.array(run.n_sweeps)
        arrays["generator"] = np.array(json.dumps(run.chain.rng.bit_generator.state))
        with atomically(self.folder / f"chain-{k}.npz") as path, path.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    def load(self, k: int, model: Model) -> Run | None:
        """Read chain k, or return None if it was never saved."""
        path = self.folder / f"chain-{k}.npz"
        if not path.exists():
            return None
        try:
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            rng = np.random.default_rng()
            rng.bit_generator.state = json.loads(str(arrays["generator"]))
            prefix = "chain_"
            snapshot = {
                name.removeprefix(prefix): array
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            chain = engine_of(model).chain.restored(self.data, model, rng, snapshot)
            return Run(chain, _unpack(arrays), int(arrays["n_sweeps"]))
        except Exception as error:  # damage shows in as many ways as there are bytes
            raise ValueError(f"checkpoint: {path} is damaged: {error}") from None


def _pack(draws: list[Draw]) -> dict[str, np.ndarray]:
    """Put draws end to end: trees differ in size, and so may parameters."""
    if not draws:
        return {"draw_sizes": np.empty(0, dtype=np.int64)}
    parameters = {}
    for name in draws[0].parameters:
        values = [draw.parameters[name] for draw in draws]
        parameters[f"{VALUES}{name}"] = np.concatenate([value.ravel() for value in values])
        parameters[f"{SHAPES}{name}"] = np.array([value.shape for value in values], dtype=np.int64)
    return parameters | {
        "draw_sizes": np.array([draw.parent.size for draw in draws]),
        "draw_leaf": np.stack([draw.leaf.astype(np.uint32) for draw in draws]),
        "draw_parent": np.concatenate([draw.parent.astype(np.uint32) for draw in draws]),
        "draw_level": np.concatenate([draw.level.astype(np.uint32) for draw in draws]),
        "draw_traced": np.array(draws[0].traced, dtype=np.str_),
        "draw_scalars": np.array(
            [[draw.concentration, draw.discount, draw.log_joint] for draw in draws]
        ),
    }


def _unpack(arrays: dict[str, np.ndarray]) -> list[Draw]:
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


def _parts(values: np.ndarray, shapes: np.ndarray) -> list[np.ndarray]:
    """Cut values into one array for each draw."""
    sizes = shapes.prod(axis=1, dtype=np.int64)
    parts = np.split(values, np.cumsum(sizes)[:-1])
    # Copies: a part alone would keep the values of all draws in memory.
    return [part.reshape(shape).copy() for part, shape in zip(parts, shapes, strict=True)]
