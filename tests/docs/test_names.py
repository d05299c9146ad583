"""Modules and tests that the mathematics page names under its sections exist."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "mathematics.md").read_text(encoding="utf-8")
PARAGRAPHS = re.findall(r"^\*Code:\*.*?(?=\n\n|\Z)", PAGE, re.DOTALL | re.MULTILINE)


def exists(path):
    return path.with_suffix(".py").is_file() or path.is_dir()


def test_the_page_names_its_code():
    assert len(PARAGRAPHS) > 15


@pytest.mark.parametrize("paragraph", PARAGRAPHS, ids=lambda text: text.split("`")[1])
def test_modules_and_tests_that_are_named_exist(paragraph):
    code, tests = paragraph.split("*Tests:*")
    room = None
    for name in re.findall(r"`([\w.]+)`", code):
        if name.startswith("sticktree"):
            room = (TOP / "src" / name.replace(".", "/")).parent
        assert exists(room / name.rpartition(".")[2]), name
    file = None
    for name in re.findall(r"`((?:tests/|test_|::)[\w./:]*)`", tests):
        path, _, function = name.partition("::")
        if path:
            file = TOP / path if path.startswith("tests/") else file.parent / path
        assert file.exists(), name
        assert f"def {function}" in file.read_text(encoding="utf-8") if function else True, name
