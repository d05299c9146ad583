"""The code on pages is run as doctests."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let fits on pages be short: whether their chains agree depends on the last bit of a sum."""
    for item in items:
        if item.path.is_relative_to(HERE):
            ignored = "ignore::sticktree.posterior.draws.ConvergenceWarning"
            item.add_marker(pytest.mark.filterwarnings(ignored))
