"""Compiled kernels that come with a wheel: used where they fit, and nowhere else."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from numba import config

from sticktree.jit import shipped
from sticktree.jit.shipped import circumstances, usable
from tests.support.library import make_library

PROGRAM = """
from sticktree.rooms import four_times
print(four_times(3), sum(four_times.stats.cache_hits.values()))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Make a library with compiled kernels in it."""
    place = make_library(tmp_path_factory.mktemp("built"))
    file = place / "sticktree" / "jit" / "entries.json"
    known = json.loads(file.read_text("utf-8"))
    known["entries"] = known["entries"][:3]
    file.write_text(json.dumps(known), encoding="utf-8")
    program = "from sticktree.jit.ship import generic; import json; print(json.dumps(generic()))"
    processor = json.loads(run(place, "-c", program))
    run(place, "-m", "sticktree.jit.ship", NUMBA_CACHE_DIR=str(place / "build"), **processor)
    shutil.rmtree(place / "build")
    return place


@pytest.fixture
def wheel(built, tmp_path):
    """Return a copy of the library that may be changed."""
    return shutil.copytree(built, tmp_path / "copy")


def run(place, *words, **environment):
    rest = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        env={
            **rest,
            "PYTHONPATH": str(place),
            "NUMBA_CACHE_DIR": str(place / "cache"),
            "STICKTREE_COMPILERS": "0",
            **environment,
        },
    )
    assert not done.returncode, done.stderr.decode()
    return done.stdout.decode()


def answer(place, **environment):
    """Return what the kernel gives, and whether it was not compiled."""
    return tuple(map(int, run(place, "-c", PROGRAM, **environment).split()))


def test_what_was_shipped_is_used_and_nothing_is_written(wheel):
    assert answer(wheel) == (12, 1)
    assert not list(wheel.glob("cache/*/*.nbc"))


def test_what_was_shipped_is_used_where_nothing_can_be_written(wheel):
    program = (
        "from sticktree.jit.cache import Impl, Nowhere\nImpl._locator_classes = [Nowhere]\n"
        + PROGRAM
    )
    assert run(wheel, "-c", program).split() == ["12", "1"]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"numba": "0.1"},
        {"llvmlite": "0.1"},
        {"python": "cpython-27"},
        {"system": "plan9"},
        {"machine": "vax"},
        {"sources": "others"},
        {"features": ["avx2", "feature-of-next-year"]},
    ],
    ids=lambda values: next(iter(values), "none"),
)
def test_what_was_shipped_for_other_circumstances_is_not_used(values):
    assert usable({**circumstances(), "features": []} | values) == (not values)


def test_code_for_a_processor_of_the_users_choice_is_not_used(monkeypatch):
    monkeypatch.setattr(config, "CPU_NAME", "generic")
    assert not usable({**circumstances(), "features": []})


def test_changed_sources_are_compiled(wheel):
    rooms = wheel / "sticktree" / "rooms.py"
    rooms.write_text(rooms.read_text("utf-8").replace("2 * x", "3 * x"), encoding="utf-8")
    assert answer(wheel) == (27, 0)


def test_damaged_files_are_compiled(wheel):
    for file in wheel.glob("sticktree/jit/shipped/*/*.nbc"):
        file.write_bytes(file.read_bytes()[:-1])
    assert answer(wheel) == (12, 0)


def test_a_damaged_manifest_is_as_good_as_none(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    for content in ("", "{", "[]", "{}"):
        (tmp_path / shipped.MANIFEST).write_text(content, encoding="utf-8")
        assert shipped.shipped.__wrapped__() is None
