"""Checkpoints: a folder from which a run goes on to the identical draws.

``run.json`` says what is run (format, version, parameters, a hash of the data); ``chain-k.npz`` has
the state of a chain, its random numbers and its draws. Every file appears whole or not at all, and
nothing is pickled.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from sticktree.data.training import BY_WORKERS, TrainingData
from sticktree.files import atomically
from sticktree.inference.packing import pack_chain, pack_draws, unpack_chain, unpack_draws
from sticktree.inference.runner import Run
from sticktree.model import Model

FORMAT, VERSION = "sticktree.checkpoint", 2


class Checkpoint:
    """A folder with a run.

    Parameters
    ----------
    folder : path
        Where the files are; made if it is not there.
    training : TrainingData
        The rows of the run.
    parameters : dict
        What must be the same for a run to go on.
    """

    def __init__(
        self, folder: str | os.PathLike[str], training: TrainingData, parameters: dict[str, Any]
    ) -> None:
        self.folder = Path(folder)
        self.training = training
        self.header = {
            "format": FORMAT,
            "version": VERSION,
            "data": training.digest,
            "shape": [training.n_data, training.data.shape[1]],
            "parameters": json.loads(json.dumps(parameters, default=repr)),
        }

    def exists(self) -> bool:
        """Return whether the folder holds this run; raise if it holds another."""
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
        if _is_of_cluster(found.get("data")) != _is_of_cluster(self.header["data"]):
            there = "elsewhere" if _is_of_cluster(self.header["data"]) else "on a Dask cluster"
            raise ValueError(
                f"checkpoint: {self.folder} holds a run with rows {there}; go on with them there, "
                "or choose another folder"
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
        arrays = pack_chain(run.chain) | pack_draws(run.draws)
        arrays["n_sweeps"] = np.array(run.n_sweeps)
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
            chain = unpack_chain(arrays, self.training, model)
            return Run(chain, unpack_draws(arrays), int(arrays["n_sweeps"]))
        except Exception as error:  # damage shows in as many ways as there are bytes
            raise ValueError(f"checkpoint: {path} is damaged: {error}") from None


def _is_of_cluster(data: Any) -> bool:
    """Return whether rows were hashed by the workers that held them."""
    return str(data).startswith(BY_WORKERS)
