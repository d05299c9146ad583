"""Checkpoints: a folder from which a run goes on to the identical draws.

``run.json`` says what is run (format, version, parameters, a hash of the data, the model that was
chosen); ``chain-k.npz`` has the state of a chain, its random numbers and its draws; ``course.json``
has the looks that were taken at the answer. Every file appears whole or not at all, and nothing is
pickled.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sticktree.data.training import BY_WORKERS, TrainingData
from sticktree.files import atomically
from sticktree.inference.course import Course, Look
from sticktree.inference.packing import pack_chain, pack_draws, unpack_chain, unpack_draws
from sticktree.inference.parameters import PARAMETERS, draws_depend_on
from sticktree.inference.runner import Run
from sticktree.model import Model

FORMAT, VERSION = "sticktree.checkpoint", 2
COURSE = "course.json"


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
        if isinstance(found.get("parameters"), dict):
            found["parameters"] = self._unknown_then() | found["parameters"]
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
                what = self._others(found.get(key)) if key == "parameters" else ""
                raise ValueError(
                    f"checkpoint: {self.folder} holds a run with other {key}{what}; choose another "
                    "folder"
                )
        return True

    def _unknown_then(self) -> dict[str, str]:
        """Return the defaults of parameters: an older run had none of those that came later."""
        usual = {name: parameter.default for name, parameter in PARAMETERS.items()}
        asked = self.header["parameters"]
        return {k: text for k, text in draws_depend_on(usual).items() if k in asked}

    def _others(self, found: Any) -> str:
        """Return the parameters that a run was begun with, as far as they differ."""
        mine = self.header["parameters"]
        if not isinstance(found, dict) or not isinstance(mine, dict):
            return ""
        said = [f"{name}={found[name]}" for name in found if found[name] != mine.get(name)]
        said += [f"a number as {name}" for name in mine if name not in found]
        return f" ({', '.join(said)})"

    def begin(self, chosen: str | None = None, *, in_haste: bool = False) -> None:
        """Write what is run, and the name of the model that was chosen, perhaps in haste."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in (self.folder / COURSE, *self.folder.glob("chain-*.npz")):
            path.unlink(missing_ok=True)
        self._write("run.json", self.header | {"chosen": chosen, "in_haste": in_haste})

    def in_haste(self) -> bool:
        """Return whether the model was chosen before the comparison was over."""
        found = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
        return found.get("in_haste") is True

    def chosen(self) -> str | None:
        """Return the name of the model that was chosen; older runs have not kept it."""
        found = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
        name = found.get("chosen")
        return name if isinstance(name, str) else None

    def save_course(self, course: Course) -> None:
        """Write the looks that were taken at the answer."""
        self._write(COURSE, [asdict(look) for look in course.looks])

    def load_course(self) -> Course:
        """Read the looks that were taken at the answer; there may be none yet."""
        path = self.folder / COURSE
        if not path.exists():
            return Course()
        try:
            looks = json.loads(path.read_text(encoding="utf-8"))
            return Course(tuple(Look.of(look) for look in looks))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"checkpoint: {path} is damaged: {error!r}") from None

    def _write(self, name: str, content: Any) -> None:
        with atomically(self.folder / name) as path:
            path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

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
