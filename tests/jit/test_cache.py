"""Files of compiled kernels: damaged, stale, and written by several processes at once."""

import os
import subprocess
import sys

import pytest

from sticktree.jit.cache import KernelFiles

KEY = (("float64",), ("x86_64", "some-cpu", "+sse"), ("a", "b"))
PROGRAM = """
import sys
from sticktree.jit.cache import KernelFiles
files = KernelFiles(sys.argv[1], "kernel-1.py3", "stamp")
for k in range(300):
    key = ((f"array{(k + int(sys.argv[2])) % 7}",), ("cpu",), ("hash",))
    files.save(key, [str(key)] * 1000)
    found = files.load(key)
    assert found == [str(key)] * 1000, found
"""


@pytest.fixture
def files(tmp_path):
    return KernelFiles(str(tmp_path), "kernel-1.py311", "stamp")


def test_what_was_saved_is_loaded_for_the_same_signature_and_processor(files):
    files.save(KEY, "code")
    assert files.load(KEY) == "code"
    for place, other in enumerate((("int64",), ("x86_64", "other-cpu", "+sse"), ("a", "c"))):
        assert files.load((*KEY[:place], other, *KEY[place + 1 :])) is None


def test_code_of_other_sources_or_another_release_of_numba_is_not_loaded(files, monkeypatch):
    import numba

    files.save(KEY, "code")
    assert KernelFiles(str(files.folder), files.name, "other stamp").load(KEY) is None
    monkeypatch.setattr(numba, "__version__", "0.1")
    assert files.load(KEY) is None


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped"])
def test_a_damaged_file_is_as_good_as_none_and_is_replaced(files, damage):
    files.save(KEY, "code" * 100)
    path = files.path(KEY)
    content = bytearray(path.read_bytes())
    content[-10] ^= 1
    path.write_bytes({"empty": b"", "cut": content[:-5], "flipped": bytes(content)}[damage])
    assert files.load(KEY) is None
    files.save(KEY, "code")
    assert files.load(KEY) == "code"


def test_several_processes_that_write_at_once_never_see_each_others_code(tmp_path):
    workers = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path), str(k)]) for k in range(3)
    ]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert not list(tmp_path.glob("*.tmp"))
    assert len(list(tmp_path.glob("*.nbc"))) == 7


def test_a_kernel_whose_code_cannot_be_rebuilt_is_compiled_anew(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from sticktree.jit import jit\n\n@jit\ndef twice(x):\n    return 2 * x\n\n"
        "if __name__ == '__main__':\n"
        "    import sys\n"
        "    files = twice._cache._cache_file\n"
        "    key = twice._cache._index_key((__import__('numba').int64,), "
        "twice.targetctx.codegen())\n"
        "    if 'spoil' in sys.argv: files.save(key, 'not what numba wrote')\n"
        "    print(twice(4), sum(twice.stats.cache_hits.values()))\n",
        encoding="utf-8",
    )

    def run(*words):
        done = subprocess.run(
            [sys.executable, str(program), *words],
            capture_output=True,
            check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        )
        return done.stdout.split()

    assert run() == [b"8", b"0"]
    assert run() == [b"8", b"1"]
    assert run("spoil") == [b"8", b"0"]
    assert run() == [b"8", b"1"]
