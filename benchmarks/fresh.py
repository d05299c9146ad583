"""Measuring in a fresh process, which has loaded and compiled nothing."""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.folder import ROOT


def in_fresh_process(module: str, function: str, *arguments: object, **environment: str) -> float:
    """Return what a function of a module gives when a new process calls it."""
    call = ", ".join(map(repr, arguments))
    program = f"from {module} import {function}; print({function}({call}))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{module}.{function} failed in a fresh process:\n{done.stderr}")
    return float(done.stdout)
