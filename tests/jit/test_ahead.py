"""Compiling ahead: in processes, alone, once."""

import os
import queue
import subprocess
import sys

import pytest

from sticktree.jit import ahead
from tests.support.library import make_library

PROGRAM = """
import sys
from sticktree.jit import ahead
told = []
n = ahead.compile_ahead(sys.argv[1:], lambda *words: told.append(words))
from sticktree.rooms import twice, four_times
here = sum(sum(kernel.stats.cache_misses.values()) for kernel in (twice, four_times))
import gc; gc.collect()  # a pipe left open would be an error now
print(n, here, len(told), twice(3), four_times(3))
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in (twice, four_times)))
"""


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path)


def run(library, *tasks, program=PROGRAM, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *tasks],
        capture_output=True,
        env={
            **os.environ,
            "PYTHONPATH": str(library),
            "NUMBA_CACHE_DIR": str(library / "cache"),
            "STICKTREE_COMPILERS": "2",
            **environment,
        },
    )
    assert not done.returncode, done.stderr.decode()
    assert b"ResourceWarning" not in done.stderr
    return list(map(int, done.stdout.split()))


def test_processes_compile_what_is_missing_and_only_that(library):
    # three kernels in processes, none here, told of each and of the first in advance
    assert run(library, "double") == [3, 0, 4, 6, 12, 0]
    assert run(library, "double") == [0, 0, 0, 6, 12, 0]
    (mark,) = library.glob("cache/*/compiled-*")
    code = sorted(library.glob("cache/*/*.nbc"))
    assert len(code) == 3
    mark.unlink()
    assert run(library, "double") == [0, 0, 0, 6, 12, 0]
    mark.unlink()
    code[0].write_bytes(b"damaged")
    assert run(library, "double") == [1, 0, 2, 6, 12, 0]


def test_processes_do_not_import_what_lies_in_the_present_folder(tmp_path, monkeypatch):
    (tmp_path / "numba.py").write_text("open('imported', 'w')")
    monkeypatch.chdir(tmp_path)
    answers = queue.Queue()
    worker = ahead._start(0, answers)
    try:
        assert answers.get(timeout=60) == (0, "ready")
    finally:
        worker.kill()
        worker.stdin.close()
        worker.wait()
    assert not (tmp_path / "imported").exists()


def test_one_process_compiles_alone(library):
    assert run(library, "double", STICKTREE_COMPILERS="0") == [3, 3, 4, 6, 12, 3]
    assert run(library, "double") == [0, 0, 0, 6, 12, 0]


def test_processes_that_cannot_be_started_leave_it_to_this_one(library):
    nowhere = PROGRAM.replace("import sys\n", "import sys\nsys.executable = '/no/python'\n", 1)
    assert run(library, "double", program=nowhere)[:2] == [3, 3]


def test_processes_that_die_leave_it_to_this_one(library):
    bad = PROGRAM.replace("told = []", "told = []\nahead.WORKER = '-c', '1/0'")
    assert run(library, "double", program=bad)[:2] == [3, 3]


def test_without_a_folder_for_the_cache_this_process_compiles(library):
    (library / "blocked").touch()
    program = (
        "from sticktree.jit.cache import Impl, Nowhere\nImpl._locator_classes = [Nowhere]\n"
        + PROGRAM
    )
    assert run(library, "double", program=program) == [3, 3, 4, 6, 12, 3]


def test_lines_of_the_list_that_no_longer_hold_are_passed_over(library):
    assert run(library, "stale", "unheard of") == [0, 0, 0, 6, 12, 2]


def test_nothing_is_compiled_where_compilation_is_switched_off(library):
    program = PROGRAM.partition("from sticktree.rooms")[0] + "print(n)"
    assert run(library, "double", program=program, NUMBA_DISABLE_JIT="1") == [0]


def test_a_script_without_a_guard_of_its_main_module_is_run_once(library):
    script = library / "script.py"
    script.write_text(PROGRAM + "print(7)", encoding="utf-8")
    source = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    assert run(library, "double", program=source) == [3, 0, 4, 6, 12, 0, 7]


HOLDER = """
import sys, time
from pathlib import Path
from sticktree.jit import ahead
from sticktree.jit.entries import entries
entry = entries().needed(["double"])[1]  # which no other calls
signature = entry.signature({})
with ahead._claimed(entry.kernel, signature, 0.0) as mine:
    print(mine, flush=True)
    cache = ahead._folder().parent
    while len(list(cache.glob("*/*.nbc"))) < 2:  # until the other has compiled the rest
        time.sleep(0.05)
    if "never" in sys.argv:
        sys.stdin.read()
    entry.kernel.compile(signature)
"""


@pytest.fixture
def holder(library, request):
    """Start a program that is about one of the kernels."""
    pytest.importorskip("fcntl", reason="the system has no locks of this kind")
    environment = {"PYTHONPATH": str(library), "NUMBA_CACHE_DIR": str(library / "cache")}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, request.param],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | environment,
    ) as process:
        assert process.stdout.readline() == b"True\n"
        yield process
        process.kill()


@pytest.mark.parametrize("holder", ["after the rest"], indirect=True)
@pytest.mark.parametrize(("compilers", "here"), [("0", 2), ("2", 0)])
def test_what_another_program_compiles_comes_last_and_is_not_compiled_again(
    library, holder, compilers, here
):
    assert run(library, "double", STICKTREE_COMPILERS=compilers) == [3, here, 4, 6, 12, here]
    holder.wait(60)
    assert len(list(library.glob("cache/*/*.nbc"))) == 3


@pytest.mark.parametrize("holder", ["never"], indirect=True)
@pytest.mark.parametrize("compilers", ["0", "2"])
def test_another_program_that_is_stopped_is_not_waited_for_without_end(library, holder, compilers):
    impatient = PROGRAM.replace("told = []", "told = []\nahead.PATIENCE = 0.5")
    found = run(library, "double", program=impatient, STICKTREE_COMPILERS=compilers)
    assert (found[0], found[2]) == (3, 4)
    assert holder.poll() is None
    assert len(list(library.glob("cache/*/*.nbc"))) == 3
