"""Modules, functions and tests that pages name exist."""

import pkgutil
import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PAGES = [TOP / "README.md", TOP / "CHANGELOG.md", *sorted((TOP / "docs").rglob("*.md"))]
GROUPS = {"sticktree.commands"}  # of entry points
PAGE = (TOP / "docs" / "mathematics.md").read_text(encoding="utf-8")
PARAGRAPHS = re.findall(r"^\*Code:\*.*?(?=\n\n|\Z)", PAGE, re.DOTALL | re.MULTILINE)
ROWS = re.findall(r"^\|.*`tests/.*$", (TOP / "docs" / "statisticians.md").read_text("utf-8"), re.M)


def exists(path):
    return path.with_suffix(".py").is_file() or path.is_dir()


def check_tests(text):
    """Check that the tests exist; a name without folder is in that of the one before."""
    file = None
    for name in re.findall(r"`((?:tests/|test_|::)[\w./:]*)`", text):
        path, _, function = name.partition("::")
        if path:
            file = TOP / path if path.startswith("tests/") else file.parent / path
        assert file.exists(), name
        assert f"def {function}" in file.read_text(encoding="utf-8") if function else True, name


def test_pages_name_code_and_tests():
    assert len(PARAGRAPHS) > 15
    assert len(ROWS) > 9


@pytest.mark.parametrize("paragraph", PARAGRAPHS, ids=lambda text: text.split("`")[1])
def test_modules_and_tests_that_are_named_exist(paragraph):
    code, tests = paragraph.split("*Tests:*")
    room = None
    for name in re.findall(r"`([\w.]+)`", code):
        if name.startswith("sticktree"):
            room = (TOP / "src" / name.replace(".", "/")).parent
        assert exists(room / name.rpartition(".")[2]), name
    check_tests(tests)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_tests_of_each_check_exist(row):
    check_tests(row)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_names_in_the_library_can_be_imported(page):
    text = page.read_text(encoding="utf-8")
    for name in set(re.findall(r"`~?(sticktree(?:\.[A-Za-z_]\w*)+)", text)) - GROUPS:
        pkgutil.resolve_name(name)


def test_the_page_on_installation_has_every_extra():
    import tomllib

    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (TOP / "docs" / "install.md").read_text(encoding="utf-8")
    for extra in project["optional-dependencies"]:
        assert f"| `{extra}` |" in page, extra
