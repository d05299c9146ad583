"""Where output came from: versions, platform, packages, the command and its parameters."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from sticktree.version import __version__

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas")
DRAWS_DEPEND_ON = ("sticktree", "numpy", "numba")


def environment() -> dict[str, Any]:
    """Return what runs were made with: this version, the platform and the packages."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "sticktree": __version__,
        "platform": {
            "system": f"{platform.system()} {platform.release()}",
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "packages": packages,
    }


def versions_in(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the versions that draws depend on, as a record has them."""
    packages = environment.get("packages")
    found = {"sticktree": environment.get("sticktree")}
    found |= packages if isinstance(packages, dict) else {}
    return {name: found.get(name) for name in DRAWS_DEPEND_ON}


def made_by(before: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return what the draws of a run are made by, one version after the other; warn of several.

    ``before`` is what made those that are there, nothing if the run is new.
    """
    now = versions_in(environment())
    if not before or before[-1] == now:
        return list(before) or [now]
    was, new = (", ".join(f"{k} {v}" for k, v in part.items()) for part in (before[-1], now))
    print(
        f"warning: the run was made by {was} and goes on with {new}: its draws will not be "
        "those of one version",
        file=sys.stderr,
    )
    return [*before, now]


def provenance(command: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what it takes to make the same output again."""
    return {
        "sticktree": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "command": command,
        "parameters": parameters,
    }
