"""Checkpoints: a folder from which a run goes on to the identical draws.

``run.json`` says what is run (format, version, parameters, a hash of the data, the model that was
chosen, by what it was made); ``chain-k.npz`` has the state of a chain, its random numbers and its
draws, and says of which run it is; ``course.json`` has the looks that were taken at the answer.
Every file appears whole or not at all, and nothing is pickled. ``lock.json`` is there while a run
goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from sticktree.data.training import BY_WORKERS, TrainingData
from sticktree.errors import warn_caller
from sticktree.files import atomically, first_line, sweep, too_large
from sticktree.inference.course import Course, Look
from sticktree.inference.packing import pack_chain, pack_draws, unpack_chain, unpack_draws
from sticktree.inference.parameters import PARAMETERS, draws_depend_on
from sticktree.inference.runner import Run
from sticktree.io.annotations import check_parts
from sticktree.io.archive import Members, TooLargeError
from sticktree.io.laws import Arrays, sizes_of
from sticktree.io.lock import locked
from sticktree.io.outlines import check_draws
from sticktree.io.sound_chains import check_chains
from sticktree.io.sound_draws import check_packed
from sticktree.model import Model
from sticktree.npy import read_array
from sticktree.version import __version__

FORMAT, VERSION = "sticktree.checkpoint", 2
RUN, COURSE = "run.json", "course.json"
MOST_TEXT = 1 << 24  # bytes of a description
MADE_BY = "made_by"  # what a run was made by, one version after the other
AUTO = repr("auto")
ONCE_AUTO = {"precision_prior": "(1.0, 0.01)", "scale_prior": "(1.0, 10.0)"}
OF_RUN = "run"  # the array of a chain's file that says of which run it is, and which chain


class ProvenanceWarning(UserWarning):
    """Draws of one run are made by several versions."""


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

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have the folder for oneself, and remove what was left half-written.

        Warn if the run in it was made by other versions so far, and take note of these.
        """
        with locked(self.folder):
            sweep(self.folder)
            if self.exists():
                self._go_on()
            yield

    def exists(self) -> bool:
        """Return whether the folder holds this run; raise if it holds another."""
        path = self.folder / RUN
        if not path.exists():
            return False
        found = self._description()
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
        found = found | {"parameters": self._as_now(found.get("parameters"))}
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

    def _description(self) -> dict[str, Any]:
        """Return what ``run.json`` says."""
        path = self.folder / RUN
        found = _json(path)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError(f"checkpoint: {path} is damaged or not from sticktree")
        return found

    def _as_now(self, found: Any) -> Any:
        """Return parameters of a run with what "auto" was before there was the word."""
        mine = self.header["parameters"]
        if not isinstance(found, dict) or not isinstance(mine, dict):
            return found
        same = {name for name, text in ONCE_AUTO.items() if found.get(name) == text}
        return found | {name: mine[name] for name in same if mine.get(name) == AUTO}

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
            path.unlink(missing_ok=True)  # of another run
        said = {"chosen": chosen, "in_haste": in_haste, MADE_BY: [versions()]}
        self._write(RUN, self.header | said)

    def in_haste(self) -> bool:
        """Return whether the model was chosen before the comparison was over."""
        return self._description().get("in_haste") is True

    def chosen(self) -> str | None:
        """Return the name of the model that was chosen; older runs have not kept it."""
        name = self._description().get("chosen")
        return name if isinstance(name, str) else None

    def _go_on(self) -> None:
        found = self._description()
        before = found.get(MADE_BY)
        if not isinstance(before, list) or not before or before[-1] == versions():
            return
        self._write(RUN, found | {MADE_BY: [*before, versions()]})
        warn_caller(
            f"the run in {self.folder} was made by {_spoken(before[-1])} and goes on with "
            f"{_spoken(versions())}: its draws will not be those of one version",
            ProvenanceWarning,
        )

    def save_course(self, course: Course) -> None:
        """Write the looks that were taken at the answer."""
        self._write(COURSE, [asdict(look) for look in course.looks])

    def load_course(self) -> Course:
        """Read the looks that were taken at the answer; there may be none yet."""
        path = self.folder / COURSE
        if not path.exists():
            return Course()
        try:
            course = Course(tuple(Look.of(look) for look in _json(path)))
            for look in course.looks:
                check_parts(Look, vars(look))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"checkpoint: {path} is damaged: {error!r}") from None
        return course

    def _write(self, name: str, content: Any) -> None:
        with atomically(self.folder / name) as path:
            path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def save(self, k: int, run: Run) -> None:
        """Write chain k with its draws."""
        arrays = pack_chain(run.chain) | pack_draws(run.draws)
        arrays["n_sweeps"] = np.array(run.n_sweeps)
        arrays[OF_RUN] = np.array(self._name(k))
        with atomically(self.folder / f"chain-{k}.npz") as path, path.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    def _name(self, k: int) -> str:
        """Return what says that a file is chain k of this run."""
        text = json.dumps([self.header, self.chosen()], sort_keys=True)
        return f"{hashlib.sha256(text.encode()).hexdigest()}/{k}"

    def load(self, k: int, model: Model) -> Run | None:
        """Read chain k, or return None if it was never saved."""
        path = self.folder / f"chain-{k}.npz"
        if not path.exists():
            return None
        try:
            arrays = _read_arrays(path)
            named = MADE_BY in self._description()  # chains of older runs do not say whose they are
            if (named or OF_RUN in arrays) and str(arrays.get(OF_RUN)) != self._name(k):
                raise _StrangerError(
                    f"checkpoint: {path} is not chain {k} of the run in {self.folder}: "
                    "remove it, or choose another folder"
                )
            return self._run(arrays, model)
        except (_StrangerError, ImportError, MemoryError):
            raise
        except TooLargeError as error:
            raise too_large(f"checkpoint: {path}", error.limit) from None
        except Exception as error:  # damage shows in as many ways as there are bytes
            raise ValueError(f"checkpoint: {path} is damaged: {first_line(error)}") from None

    def _run(self, arrays: Arrays, model: Model) -> Run:
        """Return a chain with its draws, once they are known to be that."""
        training, arrays = self.training, dict(arrays)
        sizes = sizes_of(model, training.data, training.n_data, training.parallel)
        check_draws(check_packed([arrays]), model, sizes)
        draws, n_sweeps = unpack_draws(arrays), int(arrays["n_sweeps"])
        check_chains([arrays], model, sizes)
        if n_sweeps < 0:
            raise ValueError(f"a chain has {n_sweeps} sweeps")
        return Run(unpack_chain(arrays, training, model), draws, n_sweeps)


class _StrangerError(ValueError):
    """A chain of another run."""


def _read_arrays(path: Path) -> Arrays:
    """Return the arrays of an npz file, none of which is larger than the bytes that are there."""
    with path.open("rb") as opened, zipfile.ZipFile(opened) as file:
        members = Members(file, os.fstat(opened.fileno()).st_size)
        return {name.removesuffix(".npy"): read_array(members.read(name)) for name in members.names}


def _json(path: Path) -> Any:
    """Return the content of a JSON file; None, if it is none."""
    try:
        if path.stat().st_size > MOST_TEXT:
            return None
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # neither JSON nor text
        return None


def versions() -> dict[str, str]:
    """Return what draws depend on besides data, parameters and seed."""
    return {"sticktree": __version__} | {
        name: metadata.version(name) for name in ("numpy", "numba")
    }


def _spoken(made_by: Any) -> str:
    if not isinstance(made_by, dict):
        return "something else"
    return ", ".join(f"{name} {version}" for name, version in made_by.items())


def _is_of_cluster(data: Any) -> bool:
    """Return whether rows were hashed by the workers that held them."""
    return str(data).startswith(BY_WORKERS)
