"""What the tests of the engine share: its plain twin."""

import pytest

from tests.support import shared_twin as plain


@pytest.fixture(scope="session")
def twin():
    """Return the plain twin of the engine."""
    return plain
