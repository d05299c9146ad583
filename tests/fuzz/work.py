"""Cases in a process of their own: a crash, a hang or a flood of memory is a finding, not the end.

The process writes the number of each case before it begins. If it dies or is silent for too long,
that case has failed, and a new process goes on with the next.
"""

import argparse
import collections
import faulthandler
import importlib
import json
import pickle
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

AREAS = ("archives", "checkpoints", "folders", "tables", "estimators")
SECONDS = 600  # of one case, on a machine that may be busy, and may have kernels to compile
MEMORY = 3 * 10**9  # bytes, above which a process ends
ROOT = Path(__file__).parents[2]


def run(area, cases, seed=0, only=None):
    """Run cases of an area; return how they ended, and what failed."""
    ends, failures = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.pickle"
        corpus.write_bytes(pickle.dumps(_area(area).corpus()))
        first, last = (0, cases) if only is None else (only, only + 1)
        while first < last:
            first = _until_it_ends(area, seed, first, last, corpus, ends, failures)
    return ends, failures


def _until_it_ends(area, seed, first, last, corpus, ends, failures):
    words = [sys.executable, "-m", "tests.fuzz.work", area, str(corpus)]
    words += ["--seed", str(seed), "--first", str(first), "--last", str(last)]
    at, text = first, []
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(
            words, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process:
            for line in process.stdout:
                said = json.loads(line)
                at = said["case"]
                if "end" in said:
                    ends[said["end"]] += 1
                    if said["failed"]:
                        failures.append((area, seed, at, said["failed"]))
        errors.seek(0)
        text = errors.read()
    if process.returncode == 0:
        return last
    ends["CRASHED"] += 1
    failures.append(
        (
            area,
            seed,
            at,
            f"exit code {process.returncode}\n{text.partition('Extension modules')[0][-3000:]}",
        )
    )
    return at + 1


def _area(name):
    return importlib.import_module(f"tests.fuzz.{name}")


def _limit_memory():
    try:
        import resource
    except ImportError:  # not on every system
        return
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))


def main():
    """Be the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("area")
    parser.add_argument("corpus", type=Path)
    for name in ("seed", "first", "last"):
        parser.add_argument(f"--{name}", type=int)
    options = parser.parse_args()
    area = _area(options.area)
    bases = pickle.loads(options.corpus.read_bytes())
    names = sorted(bases)
    warnings.simplefilter("ignore")
    faulthandler.enable()
    _limit_memory()
    for case in range(options.first, options.last):
        print(json.dumps({"case": case}), flush=True)
        rng = np.random.default_rng([options.seed, case])
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        began, failed = time.monotonic(), None
        with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
            try:
                end = area.try_one(rng, bases[names[case % len(names)]], Path(folder))
            except BaseException:
                end, failed = "FAILED", traceback.format_exc()[-3000:]
        faulthandler.cancel_dump_traceback_later()
        said = {"case": case, "end": end.partition(":")[0], "failed": failed}
        print(json.dumps(said | {"seconds": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main()
