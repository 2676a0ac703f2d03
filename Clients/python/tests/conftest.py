import pytest


@pytest.fixture
def client(braid_server):
    """A client that waits for at most 10 ms before a retry."""
    client = braid_server.client.with_token(braid_server.token)
    client.delay = lambda tries, retry_after=None, first=0: 0.01
    return client


@pytest.fixture
def party(client, braid_session):
    """The test's own session, used with `client`."""
    return client.session(braid_session.id)
