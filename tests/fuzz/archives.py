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

QUICK = {"n_chains": 1, "n_warmup": 3, "n_draws": 3, "random_state": 0, "n_jobs": 1}


def corpus():
    """Return files of many kinds of fits by name, with rows and how to fit to them again."""
    found = {}
    for case in CASES:
        mixture, x, weights = CASES[case]()
        found[case] = _saved(fit(mixture, x, weights)), x, {"sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (mixture, x, options) in _others().items():
            found[name] = _saved(mixture.fit(x, **options)), x, options
        stream = _mixture("shared", "full")
        for seed in range(2):
            x = np.random.default_rng(seed).standard_normal((40, 2))
            stream.partial_fit(x, n_warmup=2, n_draws=3)
    found["stream"] = _saved(stream), x, None
    return found


def _others():
    """Return estimators of what `CASES` has not: many rows, groups and their parents, factors."""
    found = {}
    x = rows(60)
    groups = np.array(list("abcdef"))[np.arange(60) % 6]
    parents = {"groups": groups, "parents": np.where(np.isin(groups, list("abc")), "no", "yes")}
    x[::9, 0] = np.nan
    for noise, form in (("shared", "full"), ("own", "full"), ("own", "diag")):
        many = _mixture(noise, form, algorithm="parallel")
        found[f"many {noise} {form}"] = many, x, {}
    for noise, algorithm in (("shared", "gibbs"), ("own", "gibbs"), ("shared", "parallel")):
        mixture = _mixture(noise, "full", algorithm=algorithm)
        found[f"parents {noise} {algorithm}"] = mixture, x, parents
    found["groups"] = _mixture("own", "diag", algorithm="parallel"), x, {"groups": groups}
    found["times"] = _mixture("shared", "diag"), x, {"times": np.arange(60) % 4}
    wide = np.random.default_rng(0).standard_normal((20, 40)) + rows(20)[:, :1]
    found["factors"] = sticktree.DFPMixture(3, factors=2, **QUICK), wide, {}
    return found


def _mixture(noise, form, **options):
    return sticktree.DFPMixture(3, leaf_noise=noise, covariance_type=form, **options, **QUICK)


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
    content, x, options = base
    path = folder / "it.sticktree"
    path.write_bytes(mutated(rng, content))
    try:
        mixture = sticktree.load(path)
    except ValueError as error:
        if str(path) not in str(error) or "\n" in str(error):
            raise AssertionError(f"not one clear line: {error!r}") from error
        return "refused"
    try:
        ask(mixture, x, options, folder)
    except ValueError as error:
        return f"answered, then: {str(error).splitlines()[0][:80]}"
    return "answered"


def ask(mixture, x, options, folder):
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
    if options is None:
        mixture.partial_fit(x, n_warmup=1, n_draws=2)
    else:
        if "groups" in options:
            mixture.compare(options["groups"][0])
            if mixture.fit_.training.algorithm == "gibbs":
                mixture.groups_matter()
            str(mixture.composition_)
        mixture.set_params(warm_start=True, n_draws=2, n_jobs=1, progress=False)
        mixture.fit(x, **options)
    mixture.score_samples(x)
