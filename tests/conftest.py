"""Settings of all tests."""

import pytest

pytest.register_assert_rewrite("tests.support")

from tests.support import statistics  # noqa: E402


def wrapped(name):
    """Return a fixture for tests that do not import the check of that name yet."""
    return pytest.fixture(scope="session", name=name)(lambda: getattr(statistics, name))


assert_frequencies = wrapped("assert_frequencies")
assert_same_frequencies = wrapped("assert_same_frequencies")
assert_mean = wrapped("assert_mean")
assert_same_mean = wrapped("assert_same_mean")
assert_law = wrapped("assert_law")
assert_same_law = wrapped("assert_same_law")
assert_independent = wrapped("assert_independent")
