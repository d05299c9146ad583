"""The command that the package adds to the terminal."""

import re
from importlib.metadata import entry_points

import pytest

from sticktree.cli import main
from sticktree_paper.command import REPRODUCE
from sticktree_paper.parts import PARTS


def test_the_command_is_found_by_its_entry_point():
    (entry,) = entry_points(group="sticktree.commands", name="reproduce")
    assert entry.load() is REPRODUCE


def test_the_help_names_every_part(capsys):
    with pytest.raises(SystemExit) as left:
        main(["reproduce", "--help"])
    assert left.value.code == 0
    out = capsys.readouterr().out
    assert "usage: sticktree reproduce" in out
    listed = re.findall(r"^    ([a-z0-9, ]+?)  ", out, re.MULTILINE)
    assert set(PARTS) <= {part for names in listed for part in names.split(", ")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tabel1"], "parts must be any of table1, convergence, glass, .* got 'tabel1'"),
        (["table1", "--sets", "irish"], "sets must be any of r15, .* got 'irish'"),
        (["table1", "--splits", "0"], "n_splits must be an integer of at least 1, got 0"),
        (["clusters", "--sets", "irish"], "sets must be any of .*iris, wine, .* got 'irish'"),
        (["clusters", "--seeds", "0"], "n_seeds must be an integer of at least 1, got 0"),
        (["fig1", "--sets", "iris"], "sets must be any of none, which is all .* got 'iris'"),
        (["table1", "--jobs", "0"], "n_jobs must be an integer of at least 1, got 0"),
        (["fig1", "--data", "nowhere"], "--data must be a folder, got nowhere"),
    ],
)
def test_wrong_options_are_refused_before_any_work(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *words]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not list(tmp_path.iterdir())
