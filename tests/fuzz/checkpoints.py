"""Checkpoints with something wrong in them: the run goes on, or one clear error."""

import io
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np

from sticktree import DFPMixture
from tests.fuzz.mutations import (
    members_of,
    npy,
    pick,
    wrong_array,
    wrong_bytes,
    wrong_json,
    wrong_npy,
    wrong_zip,
    zipped,
)
from tests.support.saved import rows

QUICK = {"n_chains": 2, "n_warmup": 4, "random_state": 0, "n_jobs": 1, "progress": False}


def corpus():
    """Return the files of runs of several kinds, with parameters, rows and groups of these."""
    gaps = rows()
    gaps[::5, 0] = np.nan
    kinds = {
        "shared": ({"covariance_type": "full"}, gaps),
        "own": ({"leaf_noise": "own", "covariance_type": "full"}, gaps),
        "mixed": ({"columns": ["gaussian", "poisson"]}, np.abs(np.rint(rows()))),
        "many": ({"covariance_type": "full", "algorithm": "parallel"}, rows(60)),
        "parents": ({"covariance_type": "diag", "leaf_noise": "shared"}, rows()),
        "parents own": ({"covariance_type": "full", "leaf_noise": "own"}, rows()),
        "rounds": ({"covariance_type": "diag", "n_draws": "auto"}, rows(12)),
    }
    groups = np.array(list("abcd"))[np.arange(24) % 4]
    parents = {"groups": groups, "parents": np.where(groups < "c", "no", "yes")}
    found = {}
    for name, (options, x) in kinds.items():
        options, known = {"n_draws": 4} | options, parents if name.startswith("parents") else {}
        with tempfile.TemporaryDirectory() as folder:
            _fitted(DFPMixture(3, checkpoint=folder, **QUICK, **options), x, known)
            files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        if options["n_draws"] == 4:
            options["n_draws"] = 6
        found[name] = files, options, x, known
    return found


def _fitted(mixture, x, known):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mixture.fit(x, **known)


def try_one(rng, base, folder):
    """Go on with a run whose files are wrong; return how that ended."""
    files, options, x, known = base
    files, name = dict(files), pick(rng, ["chain-0.npz"] * 5 + list(files))
    files[name] = _wrong(rng, name, files[name])
    for name, content in files.items():
        (folder / name).write_bytes(content)
    mixture = DFPMixture(3, checkpoint=folder, **QUICK, **options)
    try:
        _fitted(mixture, x, known)
    except ValueError as error:
        if str(folder) not in str(error) and "checkpoint" not in str(error):
            return f"went on, then: {error}"
        return "refused" if "\n" not in str(error) else pick(rng, ())
    mixture.score_samples(x)
    return "went on"


def _wrong(rng, name, content):
    if name.endswith(".json"):
        if rng.random() < 0.4:
            return wrong_bytes(rng, content)
        return json.dumps(wrong_json(rng, json.loads(content), int(rng.integers(1, 4)))).encode()
    way = pick(rng, ("array",) * 6 + ("npy", "zip"))
    if way == "zip":
        return wrong_zip(rng, content)
    members = members_of(content)
    chosen = pick(rng, list(members))
    if way == "npy":
        return zipped(members | {chosen: wrong_npy(rng, members[chosen])})
    array = np.lib.format.read_array(io.BytesIO(members[chosen]), allow_pickle=False)
    return zipped(members | {chosen: npy(wrong_array(rng, array))})
