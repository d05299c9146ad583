"""Install a wheel into an empty environment, and see that its compiled kernels serve.

    python packaging/check_wheel.py dist/sticktree-…-cp311-none-….whl [--site FOLDER]

A first fit and predict must compile nothing; with a damaged file, another processor or changed
sources they must compile, and answer the same. ``--site`` takes dependencies from a folder of
packages that are installed already, in place of an index.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROGRAM = """
import json, sys, time
import numpy as np
from numba.core.dispatcher import Dispatcher
began = time.perf_counter()
from sticktree import DFPMixture
rng = np.random.default_rng(0)
x = rng.normal(size=(40, 2)) + 8 * rng.integers(2, size=(40, 1))
mixture = DFPMixture(covariance_type="full", leaf_noise=sys.argv[1], n_chains=2, n_warmup=20,
                     n_draws=20, random_state=0, progress=False).fit(x)
labels = mixture.predict(x).tolist()
seconds = time.perf_counter() - began
compiled = set()
for name, module in list(sys.modules.items()):
    if name.startswith("sticktree"):
        for thing in vars(module).values():
            if isinstance(thing, Dispatcher) and thing.stats.cache_misses:
                compiled.add(f"{thing.py_func.__module__}.{thing.__name__}")
digest = [float(np.sum(mixture.score_samples(x))), labels]
print(json.dumps({"seconds": seconds, "compiled": sorted(compiled), "answer": digest}))
"""


def environment(folder: Path, wheel: Path, site: Path | None) -> Path:
    """Make an environment with the wheel; return its Python."""
    venv.create(folder, with_pip=site is None)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if site is None:
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    else:
        place = packages(python)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        subprocess.run([*pip, "--target", str(place), str(wheel)], check=True)
        (place / "others.pth").write_text(str(site), encoding="utf-8")
    return python


def packages(python: Path) -> Path:
    """Return the folder of packages of an environment."""
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", ask], capture_output=True, check=True, text=True)
    return Path(found.stdout.strip())


def answer(python: Path, noise: str, cache: Path, **variables: str) -> dict[str, object]:
    """Fit and predict in a new process with an empty cache of its own."""
    hidden = ("NUMBA_", "PYTHON")
    rest = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", PROGRAM, noise],
        stdout=subprocess.PIPE,
        check=True,
        env={
            **rest,
            "NUMBA_CACHE_DIR": str(cache),
            "STICKTREE_COMPILERS": "0",
            **variables,
        },
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main() -> None:
    """Check."""
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--site", type=Path, metavar="FOLDER")
    parser.add_argument("--noise", nargs="*", default=["shared", "own"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        python = environment(work / "environment", options.wheel, options.site)
        shipped = packages(python) / "sticktree" / "jit" / "shipped"
        answers = {}
        for noise in options.noise:
            answer(python, noise, work / "first")  # which also writes bytecode of all packages
            found = answers[noise] = answer(python, noise, work / "second")
            assert not found["compiled"], f"compiled all the same: {found['compiled']}"
            assert not list((work / "second").rglob("*.nbc"))
            print(f"{noise} noise: {found['seconds']:.1f} s, nothing compiled")
        for file in sorted(shipped.glob("*.posterior.*/*.nbc")):
            file.write_bytes(file.read_bytes()[:-7])
        found = answer(python, "shared", work / "damaged")
        assert found["compiled"], "damaged files were used"
        assert found["answer"] == answers["shared"]["answer"]
        print(f"damaged files: {len(found['compiled'])} compiled, the same answer")  # type: ignore[arg-type]
        found = answer(python, "shared", work / "generic", NUMBA_CPU_NAME="generic")
        assert found["compiled"], "kernels for another processor were used"
        assert found["answer"][1] == answers["shared"]["answer"][1]  # type: ignore[index]
        print(f"another processor: {len(found['compiled'])} compiled, the same clusters")  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
