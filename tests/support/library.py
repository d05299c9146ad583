"""A library of two kernels with our switch, to compile in a moment."""

import json
import shutil
from pathlib import Path

import sticktree.jit

KERNELS = """
from sticktree.jit import jit

@jit
def twice(x):
    return 2 * x

@jit
def four_times(x):
    return twice(twice(x))
"""
LIST = {
    "tasks": ["double", "stale"],
    "records": {},
    "entries": [
        {"kernel": "sticktree.rooms:twice", "arguments": ["int64"], "size": 900, "needed": [0]},
        {"kernel": "sticktree.rooms:twice", "arguments": ["<f8 1 C"], "size": 9, "needed": [0]},
        {"kernel": "sticktree.rooms:four_times", "arguments": ["int64"], "size": 9, "needed": [0]},
        {"kernel": "sticktree.rooms:gone", "arguments": ["int64"], "size": 9, "needed": [1]},
        {"kernel": "sticktree.gone:twice", "arguments": ["int64"], "size": 9, "needed": [1]},
        {"kernel": "sticktree.rooms:twice", "arguments": ["No-1"], "size": 9, "needed": [1]},
    ],
}


def make_library(folder):
    """Write the library into a folder, and return the folder."""
    place = folder / "sticktree"
    switch = Path(sticktree.jit.__file__).parent
    shutil.copytree(switch, place / "jit", ignore=lambda *_: ["__pycache__", "shipped"])
    (place / "__init__.py").touch()
    (place / "rooms.py").write_text(KERNELS, encoding="utf-8")
    (place / "jit" / "entries.json").write_text(json.dumps(LIST), encoding="utf-8")
    return folder
