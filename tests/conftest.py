"""Settings of all tests."""

import pytest

pytest.register_assert_rewrite("tests.support")
