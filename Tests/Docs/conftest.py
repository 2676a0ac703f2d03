import pytest

from server import Server


@pytest.fixture(scope="session")
def url():
    """A server that is asked what it knows."""
    with Server() as server:
        yield server.url
