"""One cluster for most of the tests; where Dask is not installed, all of them are skipped."""

import pytest

REASON = "dask and distributed are not installed"


@pytest.fixture(scope="session")
def cluster():
    """A client of two worker processes, which is not the current one."""
    pytest.importorskip("distributed", reason=REASON)
    from tests.support.cluster import started

    with started() as client:
        yield client


@pytest.fixture
def client(cluster):
    """The same as the current client."""
    with cluster.as_current():
        yield cluster


@pytest.fixture(scope="session")
def expected():
    """What threads give, by whether there are gaps."""
    from tests.support.cluster import in_threads, table

    return {gaps: in_threads(table(gaps=gaps)) for gaps in (False, True)}
