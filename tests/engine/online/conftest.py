"""The same rows as for the bulk engine."""

from tests.engine.bulk.conftest import many_parts, rows_of  # noqa: F401
