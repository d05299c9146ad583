"""Text in pieces is the text."""

import csv
import errno
import io
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sticktree import Tree, files
from sticktree.files import as_it_was, csv_pieces, shown_as_text, write_pieces


@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 8])
def test_csv_in_pieces_is_the_table(monkeypatch, n_rows):
    monkeypatch.setattr(files, "LINES", 4)
    columns = {"row": range(n_rows), "name": [f'a "{k}",\nb' for k in range(n_rows)]}
    pieces = list(csv_pieces(columns))
    assert len(pieces) == max(1, -(-n_rows // 4))
    read = list(csv.reader(io.StringIO("".join(pieces), newline="")))
    assert read == [["row", "name"], *[[str(k), f'a "{k}",\nb'] for k in range(n_rows)]]


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match=r"columns must have the same length, got .*'b': 3"):
        list(csv_pieces({"a": [1, 2], "b": [1, 2, 3]}))


def test_newick_file_is_the_text(tmp_path):
    tree = Tree.from_paths([(1, 1), (1, 2), (2, 1)]).annotated(names=["ape", "sea cow", "bée"])
    path = tmp_path / "tree.nwk"
    tree.write_newick(path, lengths=False)
    assert path.read_text(encoding="utf-8") == tree.to_newick(lengths=False) + "\n"


def test_failure_leaves_the_former_file(tmp_path):
    path = tmp_path / "tree.nwk"
    path.write_text("former")

    def pieces():
        yield "new"
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="full"):
        write_pieces(path, pieces())
    assert path.read_text() == "former"
    assert list(tmp_path.iterdir()) == [path]


# ---- power cuts ----------------------------------------------------------------------------------


def test_all_is_on_the_disk_before_the_name_is_and_then_the_name(tmp_path, monkeypatch):
    done = []
    flush, rename = os.fsync, Path.replace

    def fsync(handle):
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        done.append(kind)
        flush(handle)

    def replace(self, target):
        done.append("rename")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    write_pieces(tmp_path / "it.txt", ["text"])
    assert done == ["file", "rename", "folder"]


def test_file_system_that_cannot_flush_is_no_error(tmp_path, monkeypatch):
    def cannot(handle):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", cannot)
    write_pieces(tmp_path / "it.txt", ["text"])
    assert (tmp_path / "it.txt").read_text() == "text"


@pytest.mark.parametrize("named", [True, False])
def test_errors_of_the_disk_name_the_file_and_not_the_temporary_one(tmp_path, named):
    path = tmp_path / "it.txt"
    with pytest.raises(OSError, match="No space left") as caught, files.atomically(path) as other:
        raise OSError(errno.ENOSPC, "No space left", *([str(other)] if named else []))
    assert caught.value.filename == str(path)
    with pytest.raises(OSError, match="none") as caught, files.atomically(tmp_path / "none" / "x"):
        pass
    assert "none" in caught.value.filename
    assert not list(tmp_path.iterdir())


def test_folder_that_is_gone_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "gone" / "it.npz"
    with pytest.raises(FileNotFoundError) as caught, files.atomically(path):
        pass
    assert caught.value.filename == str(path)


def test_files_that_belong_together_appear_all_or_none(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("old")
    with pytest.raises(OSError, match="No space left") as caught:
        write_two(tmp_path, fails=True)
    assert caught.value.filename == str(tmp_path / "b.txt")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a.txt": "old",
        "b.txt": "old",
    }
    write_two(tmp_path, fails=False)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a.txt": "new",
        "b.txt": "new",
    }
    with pytest.raises(FileNotFoundError) as caught:
        write_two(tmp_path / "gone", fails=False)
    assert caught.value.filename == str(tmp_path / "gone")


def write_two(folder, *, fails):
    with files.together(folder) as stage:
        write_pieces(stage / "a.txt", ["new"])
        if fails:
            raise OSError(errno.ENOSPC, "No space left", str(stage / "b.txt"))
        write_pieces(stage / "b.txt", ["new"])


def test_what_was_left_half_written_is_swept(tmp_path):
    for name in (".sticktree-it-abc.csv", "it.csv", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / ".sticktree-abc").mkdir()
    (tmp_path / ".sticktree-abc" / "it.csv").touch()
    files.sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"it.csv", ".hidden"}


# ---- formulas ------------------------------------------------------------------------------------


@given(st.text(alphabet="=+-@'\t\ra1. "))
def test_text_comes_back_and_is_no_formula(text):
    shown = shown_as_text(text)
    assert as_it_was(shown) == text
    if shown.startswith(("=", "+", "-", "@", "\t", "\r")):
        float(shown)  # a number


def test_numbers_stay_as_they_are():
    table = "".join(csv_pieces({"=x": [-1.5, "-2", "+3e4", None, "-a"]}))
    assert table == "'=x\n-1.5\n-2\n+3e4\n\n'-a\n".replace("\n\n", '\n""\n')
    assert "".join(csv_pieces({"=x": ["-a"]}, safe=False)) == "=x\n-a\n"
