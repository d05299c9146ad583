"""What the pages say can be done: commands that parse, an API that is complete."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from sticktree.cli import build_parser

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("*/*.md"))]
PUBLIC = [
    "sticktree",
    "sticktree.anndata",
    "sticktree.datasets",
    "sticktree.metrics",
    "sticktree.peers",
    "sticktree.plotting",
    "sticktree.posterior",
    "sticktree.processes",
    "sticktree.report",
]
NOT_OBJECTS = {"NULL", "__version__"}  # told in words


def commands(text: str) -> list[list[str]]:
    """Return the words of every ``$ … sticktree …`` line, and of every `sticktree …` in a text."""
    lines = re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE)
    lines += re.findall(r"`(sticktree [a-z]+ [^`…]+)`", text)
    parts = [part.strip() for line in lines for part in line.split(" | ")]
    return [shlex.split(part, comments=True) for part in parts if part.startswith("sticktree ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_pages_are_understood(page: Path) -> None:
    parser = build_parser()
    for words in commands(page.read_text(encoding="utf-8")):
        try:
            parser.parse_args(words[1:])
        except SystemExit as left:
            if left.code != 0:  # as after --help
                pytest.fail(" ".join(words))


def test_commands_are_found() -> None:
    text = "$ zcat a.gz | sticktree fit - -o run  # why\n`sticktree summary run`\n$ python x.py\n"
    assert commands(text) == [
        ["sticktree", "fit", "-", "-o", "run"],
        ["sticktree", "summary", "run"],
    ]


def listed() -> set[str]:
    """Return the full names of everything on the pages of the API."""
    found = set()
    for page in (DOCS / "api").glob("*.rst"):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1]
            entry = re.fullmatch(r"   (\w+)", line)
            if module and entry:
                found.add(f"{module}.{entry[1]}")
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_page(name: str) -> None:
    wanted = {f"{name}.{one}" for one in import_module(name).__all__ if one not in NOT_OBJECTS}
    assert wanted - listed() == set()


def test_pages_name_nothing_that_is_not_there() -> None:
    for full in listed():
        module, _, one = full.rpartition(".")
        assert hasattr(import_module(module), one), full
