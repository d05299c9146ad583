"""What the tests of the bulk engine share."""

import pytest

from tests.support import bulk


@pytest.fixture(scope="session")
def many_parts():
    """Return a function that makes rows in several partitions."""
    return bulk.many_parts


@pytest.fixture(scope="session")
def rows_of():
    """Return a function that makes rows in memory."""
    return bulk.rows_of
