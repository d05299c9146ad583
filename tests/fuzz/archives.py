"""Saved estimators with something wrong in them: an answer, or one clear error."""

import io
import json
import warnings

import numpy as np

import sticktree
from tests.fuzz.mutations import (
    members_of,
    npy,
    pick,
    wrong_array,
    wrong_json,
    wrong_npy,
    wrong_zip,
    zipped,
)
from tests.support.saved import CASES, fit, rows


def corpus():
    """Return files of many kinds of fits by name, with rows to ask them about."""
    found = {}
    for case in CASES:
        mixture, x, weights = CASES[case]()
        found[case] = _saved(fit(mixture, x, weights)), x, weights
    quick = {"n_chains": 1, "n_warmup": 3, "n_draws": 3, "random_state": 0, "n_jobs": 1}
    for noise, form in (("shared", "full"), ("own", "full"), ("own", "diag")):
        x = rows(60)
        x[::9, 0] = np.nan
        options = {"covariance_type": form, "leaf_noise": noise, "algorithm": "parallel"}
        found[f"many {noise} {form}"] = _saved(fit(_mixture(**options, **quick), x)), x, None
    stream = _mixture(covariance_type="full", leaf_noise="shared", **quick)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(2):
            x = np.random.default_rng(seed).standard_normal((40, 2))
            stream.partial_fit(x, n_warmup=2, n_draws=3)
    found["stream"] = _saved(stream), x, None
    return found


def _mixture(**options):
    return sticktree.DFPMixture(3, **options)


def _saved(mixture):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "it"
        sticktree.save(mixture, path)
        return path.read_bytes()


def mutated(rng, content):
    """Return a file with something wrong in it."""
    members = members_of(content)
    way = pick(rng, ("array",) * 6 + ("json",) * 5 + ("npy", "zip", "zip"))
    if way == "zip":
        return wrong_zip(rng, content)
    if way == "json":
        document = json.loads(members["document.json"])
        members["document.json"] = json.dumps(
            wrong_json(rng, document, int(rng.integers(1, 3)))
        ).encode()
        return zipped(members)
    name = pick(rng, [name for name in members if name.endswith(".npy")])
    if way == "npy":
        return zipped(members | {name: wrong_npy(rng, members[name])})
    for _ in range(int(rng.integers(1, 3))):
        array = np.lib.format.read_array(io.BytesIO(members[name]), allow_pickle=False)
        members[name] = npy(wrong_array(rng, array))
    return zipped(members)


def try_one(rng, base, folder):
    """Read a file that is wrong, and ask it everything; return how far it came."""
    content, x, weights = base
    path = folder / "it.sticktree"
    path.write_bytes(mutated(rng, content))
    try:
        mixture = sticktree.load(path)
    except ValueError as error:
        if str(path) not in str(error) or "\n" in str(error):
            raise AssertionError(f"not one clear line: {error!r}") from error
        return "refused"
    try:
        ask(mixture, x, weights, folder)
    except ValueError as error:
        return f"answered, then: {str(error).splitlines()[0][:80]}"
    return "answered"


def ask(mixture, x, weights, folder):
    """Ask an estimator all that reaches kernels."""
    mixture.predict_proba(x)
    mixture.score_samples(x)
    mixture.predict_proba(x, level=1)
    mixture.sample(3, random_state=0)
    mixture.impute(x)
    mixture.cluster(n_clusters=2)
    str(mixture.tree_)
    str(mixture.diagnosis_.advice())
    mixture.coclustering()
    sticktree.save(mixture, folder / "again.sticktree")
    if mixture.fit_.stream is None:
        fit(mixture.set_params(warm_start=True, n_draws=2, n_jobs=1, progress=False), x, weights)
    else:
        mixture.partial_fit(x, n_warmup=1, n_draws=2)
    mixture.score_samples(x)
