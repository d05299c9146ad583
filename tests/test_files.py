"""Text in pieces is the text."""

import csv
import io

import pytest

from sticktree import Tree, files
from sticktree.files import csv_pieces, write_pieces


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
