"""Compiled kernels that come with a wheel, for a generic processor.

A wheel for one system and one minor version of Python may have a folder with the code of all
kernels, made by ``make wheel``. It is used if it was made of these very sources, by this release of
numba, and if this processor has what the generic one has; if anything differs, kernels are compiled
as if there were no such folder.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba import config
from numba.core.registry import cpu_target

from sticktree.jit.sources import PACKAGE

FOLDER = Path(__file__).with_name("shipped")
MANIFEST = "manifest.json"
GENERIC = {
    "x86_64": (
        "x86-64-v3",
        "avx avx2 bmi bmi2 cmov crc32 cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 "
        "sse3 sse4.1 sse4.2 ssse3 xsave",
    ),
    "aarch64": ("generic", "fp-armv8 neon"),
}
"""The processor that code is made for, and its features, by the machine's architecture."""


@dataclass(frozen=True)
class Shipped:
    """The folder of compiled kernels, and the processor they were made for."""

    folder: Path
    processor: tuple[str, ...]

    def place(self, module: str) -> str:
        """Return the folder that has the kernels of a module."""
        return str(self.folder / module)


@functools.cache
def shipped() -> Shipped | None:
    """Return the compiled kernels that came with the library and that can be used, or None."""
    try:
        manifest = json.loads((FOLDER / MANIFEST).read_text(encoding="utf-8"))
        if usable(manifest):
            return Shipped(FOLDER, tuple(manifest["processor"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass  # there is none, or it is damaged
    return None


def usable(manifest: dict[str, Any]) -> bool:
    """Return whether code can be used that was made as a manifest says."""
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return False  # somebody wants code for a processor of their choice
    if any(manifest[name] != value for name, value in circumstances().items()):
        return False
    has = set(cpu_target.target_context.codegen().magic_tuple()[2].split(","))
    return has >= {f"+{feature}" for feature in manifest["features"]}


def circumstances() -> dict[str, str]:
    """Return all that code depends on, but the processor."""
    return {
        "system": sys.platform,
        "machine": machine(),
        "python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "sources": all_sources(),
    }


def machine() -> str:
    """Return the architecture by one name, which systems do not agree on."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def all_sources() -> str:
    """Return a digest of all sources of the library."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
