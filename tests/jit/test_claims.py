"""Claims: one process has a thing, others wait or go on, and a process that ended has none."""

import subprocess
import sys

import pytest

from sticktree.jit import claims
from sticktree.jit.claims import claimed

pytest.importorskip("fcntl", reason="the system has no locks of this kind")
HOLDER = """
import sys
from pathlib import Path
from sticktree.jit.claims import claimed
with claimed(Path(sys.argv[1]), "one", 0.0) as mine:
    print(mine, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "new" / "claims"


@pytest.fixture
def holder(file):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "True\n"
        yield process
        process.kill()


def is_free(file, what, patience=0.0):
    with claimed(file, what, patience) as mine:
        return mine


def test_what_another_process_has_is_not_to_be_had_and_all_else_is(file, holder):
    assert not is_free(file, "one")
    assert not is_free(file, "one", patience=0.3)
    assert is_free(file, "other")
    holder.communicate("")
    assert is_free(file, "one")


def test_a_claim_ends_with_its_process_however_that_ends(file, holder):
    holder.kill()
    assert is_free(file, "one", patience=60.0)


def test_who_has_patience_gets_it_when_the_other_is_done(file, holder, monkeypatch):
    monkeypatch.setattr(claims.time, "sleep", lambda _: holder.communicate(""))
    assert is_free(file, "one", patience=60.0)


def test_where_nothing_can_be_locked_everything_may_be_claimed(file, holder, monkeypatch):
    def none(*_):
        raise OSError("no locks available")

    assert is_free(file / "below a file", "one")
    monkeypatch.setattr(claims.fcntl, "lockf", none)
    assert is_free(file, "one")
    monkeypatch.setattr(claims, "fcntl", None)
    assert is_free(file, "one")
