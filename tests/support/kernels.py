"""Write down which kernels fits and answers call: ``python -m tests.support.kernels``.

The list is `sticktree/jit/entries.json`. Short fits of every kind are run, and all calls of kernels
from Python are recorded with the types of their arguments.
"""

import functools
import sys
import warnings
from dataclasses import replace
from itertools import product

import numpy as np

import sticktree.jit
from sticktree.jit.entries import Entries, Entry, describe, entries, write

SHORT = {"n_chains": 2, "n_warmup": 3, "n_draws": 4, "random_state": 0, "progress": False}
AUTO = {"random_state": 0, "progress": False}


class Recorder:
    """In place of ``@jit``: notes who calls what."""

    def __init__(self):
        self.task = ""
        self.calls = {}  # (kernel, arguments in words) → (arguments, tasks)
        self.records = {}
        self.skipped = set()
        self.jit = sticktree.jit.jit

    def __call__(self, function):
        return Recorded(function, self)

    def note(self, function, arguments):
        kernel = f"{function.__module__}:{function.__qualname__}"
        try:
            described = [describe(argument, self.records) for argument in arguments]
        except TypeError as error:
            self.skipped.add(f"{kernel}: {error}")
            return
        key = kernel, repr(described)
        self.calls.setdefault(key, (described, set()))[1].add(self.task)


class Recorded:
    """A kernel whose calls are noted."""

    def __init__(self, function, recorder):
        self.function, self.recorder = function, recorder
        self.kernel = recorder.jit(function)
        functools.update_wrapper(self, function)

    def __call__(self, *arguments):
        self.recorder.note(self.function, arguments)
        return self.kernel(*arguments)

    def __getattr__(self, name):
        return getattr(self.kernel, name)


def rows(n_rows=40, dimension=2, gaps=False):
    data = np.random.default_rng(0).normal(size=(n_rows, dimension))
    data[::2] += 8.0
    if gaps:
        data[::5, 0] = np.nan
    return data


def ask(mixture, data):
    """Ask for all answers about rows."""
    mixture.predict(data)
    mixture.score_samples(data)
    mixture.transform(data)
    mixture.impute(data)
    mixture.impute(data, n_draws=2)
    mixture.sample(3, random_state=0)


def look(mixture):
    """Ask for all that is said of the rows of the fit."""
    from sticktree.posterior.walk import Walk
    from sticktree.present.findings import Findings

    _ = Findings(mixture.fit_).by_level
    mixture.cluster(n_clusters=2)
    mixture.cluster(method="loss")
    mixture.cluster(method="loss", nested=True)
    Walk.of_labels([[row >> bit & 1 for row in range(64)] for bit in range(6)])  # as of many rows
    mixture.coclustering()
    mixture.meeting_times()
    if mixture.algorithm_ == "gibbs":
        mixture.loo()


def record(recorder):
    """Run short fits of every kind."""
    from sticktree import DFPMixture

    for noise, gaps in product(("shared", "own"), (False, True)):
        data, of = rows(gaps=gaps), f"{noise}{' gaps' if gaps else ''}"
        recorder.task = f"choose {of}"
        DFPMixture(leaf_noise=noise, depth=3, **AUTO).fit(data)
        for algorithm in ("gibbs", "parallel"):
            recorder.task = f"fit {of} {algorithm}"
            for form in ("full", "diag"):
                settings = {"covariance_type": form, "leaf_noise": noise, "discount": None}
                mixture = DFPMixture(algorithm=algorithm, **settings, **SHORT).fit(data)
            recorder.task = f"answer {of}"
            ask(mixture, data)
            recorder.task = f"fit {of} {algorithm}"
            DFPMixture(algorithm=algorithm, **settings, **AUTO).fit(data)
            recorder.task = "look"
            look(mixture)
        recorder.task = f"groups {of}"
        settings = {"covariance_type": "diag", "leaf_noise": noise, "discount": None}
        who = ["a", "b"] * (len(data) // 2)
        grouped = DFPMixture(**settings, **SHORT).fit(data, groups=who)
        grouped.score_samples(data, groups=who)
        grouped.loo()
        recorder.task = f"groups {of} parallel"
        for form in ("full", "diag"):
            settings |= {"covariance_type": form, "algorithm": "parallel"}
            DFPMixture(**settings, **SHORT).fit(data, groups=who).score_samples(data, groups=who)
        recorder.task = f"stream {of}"
        mixture.partial_fit(data)
        mixture.partial_fit(data)
    recorder.task = "draw"
    draw()


def draw():
    """Draw trees from the prior."""
    from sticktree.processes import NestedRestaurant, RecursiveSticks

    rng = np.random.default_rng(0)
    NestedRestaurant(1.0, depth=3).sample(20, rng)
    RecursiveSticks(1.0, depth=3).sample_paths(20, rng)


def found_by(recorder):
    """Return entries; those known before keep their size, which is not quite the same each time."""
    known = {(e.module, e.name, repr(e.arguments)): e.size for e in entries().known}
    found = []
    for (kernel, words), (arguments, tasks) in recorder.calls.items():
        module, name = kernel.split(":")
        size = known.get((module, name, words), 0)
        entry = Entry(module, name, arguments, size, frozenset(tasks))
        found.append(entry if size else replace(entry, size=size_of(entry, recorder.records)))
    return Entries(found, recorder.records)


def size_of(entry, records):
    """Return the size of the code in the cache, in kB."""
    kernel = entry.kernel.kernel
    code = kernel._cache.code(entry.signature(records), kernel.targetctx)
    return 0 if code is None else max(1, round(len(code) / 1000))


def main():
    warnings.simplefilter("ignore")
    recorder = Recorder()
    sticktree.jit.jit = recorder
    record(recorder)
    for line in sorted(recorder.skipped):
        print(line, file=sys.stderr)
    write(found_by(recorder))


if __name__ == "__main__":
    main()
