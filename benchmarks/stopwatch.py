"""What a person waits for, step by step, from ``pip install`` to the page.

``python -m benchmarks.stopwatch`` installs this checkout into an empty environment, fits iris in a
terminal as a newcomer would, with nothing compiled, and opens the page in a browser. Seconds are
those of the clock, beside those of the processors: run it on a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sklearn.datasets import load_iris

ROOT = Path(__file__).resolve().parents[1]
HEADER = f"{'step':<58}{'waited':>9}{'processor':>11}{'first line':>12}"


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="to make the environment with")
    options = parser.parse_args()
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for line in steps(Path(folder), options.python):
            print(line, flush=True)


def steps(folder: Path, python: str) -> Iterator[str]:
    """Yield a line for each step, after it is done."""
    write_table(folder / "iris.csv")
    place = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    made: list[str | Path] = [python, "-m", "venv", folder / "venv"]
    yield timed("python -m venv", made, folder)
    install: list[str | Path] = [
        place / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        f"{ROOT}[plot,frames]",
    ]
    yield timed('pip install ".[plot,frames]"', install, folder)
    command = str(place / "sticktree")
    fit = "fit iris.csv --label species --id plant --seed 1 -o"
    for name, words in (
        ("sticktree --version", "--version"),
        ("the first fit, which compiles", f"{fit} run"),
        ("the same again, compiled", f"{fit} again"),
        ("a first look: --quick", f"{fit} look --quick"),
        ("sticktree summary", "summary run"),
        ("sticktree report", "report run -o page.html"),
        ("sticktree plot: a dendrogram", "plot run --kind dendrogram -o tree.png"),
        ("sticktree predict, 150 rows", "predict run iris.csv -o predicted.csv"),
        ("sticktree evaluate", "evaluate run"),
    ):
        yield timed(name, [command, *words.split()], folder)
    yield opened(folder / "page.html")


def write_table(path: Path) -> None:
    """Write iris as a person would have it: names of rows and classes beside the numbers."""
    iris = load_iris()
    lines = ["plant,species,sepal length,sepal width,petal length,petal width"]
    for k, (row, kind) in enumerate(zip(iris.data, iris.target, strict=True)):
        lines.append(f"flower {k + 1},{iris.target_names[kind]},{','.join(map(str, row))}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def timed(name: str, words: Sequence[str | Path], folder: Path) -> str:
    """Run a command in a folder; return how long it took, and when its first line came."""
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    alone.pop("NUMBA_CACHE_DIR", None)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(
        [str(word) for word in words],
        cwd=folder,
        env=alone,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    first, lines = None, []
    for line in process.stdout:
        first = time.monotonic() - began if first is None else first
        lines.append(line)
    if process.wait():
        raise SystemExit(f"{name} failed:\n{''.join(lines[-20:])}")
    waited = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = "" if first is None else f"{first:.1f} s"
    return f"{name:<58}{waited:>7.1f} s{spent:>9.1f} s{said:>12}"


def opened(page: Path) -> str:
    """Open a page in a browser; return when its script was done and it could be used."""
    size = page.stat().st_size / 1e6
    name = f"the page ({size:.2f} MB), until it can be used"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return f"{name:<58}{'–':>9}  playwright is not installed"
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 1300, "height": 1000})
        view.goto(page.as_uri())
        view.wait_for_selector("html[data-ready]", state="attached")
        ready = float(view.evaluate("document.documentElement.dataset.ready")) / 1000
        browser.close()
    return f"{name:<58}{ready:>7.2f} s"


if __name__ == "__main__":
    main()
